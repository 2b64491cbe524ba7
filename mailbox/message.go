package mailbox

import (
	"time"

	"ferrox/lanes"
)

// Type says what a message is for, and so what it can do.
type Type string

// The types of messages. Only a ruling releases a hold; only an abort fails a unit.
const (
	TypeEscalate Type = "escalate" // worker → supervisor: opens a hold
	TypeReply    Type = "reply"    // worker → supervisor: with a ruling's id it acknowledges the ruling
	TypeRuling   Type = "ruling"   // supervisor or operator → held unit: releases one hold
	TypeInfo     Type = "info"     // supervisor or operator → unit: stamps a time, moves nothing
	TypeQuery    Type = "query"    // supervisor or operator → unit: answered from the store
	TypeSteer    Type = "steer"    // supervisor or operator → unit: ordinary mail, never a release
	TypeAbort    Type = "abort"    // supervisor or operator → unit: cancels its holds and fails it
)

// Role is who somebody is to this repository, decided by where their process stands.
type Role string

// The roles. A worker never rules; a supervisor never acts as operator.
const (
	RoleWorker     Role = "worker"
	RoleSupervisor Role = "supervisor"
	RoleOperator   Role = "operator"
	RoleEngine     Role = "engine"  // ferrox itself, for holds that it opens
	RoleUnknown    Role = "unknown" // ancestry could not be read: may do nothing that needs authority
)

// Verdict is what a ruling says about the question. Each one releases the hold and is delivered; none approves a gate.
type Verdict string

// The verdicts. A ruling may also carry none, when its text says it all.
const (
	VerdictNone    Verdict = ""
	VerdictApprove Verdict = "approve"
	VerdictFix     Verdict = "fix"
	VerdictReject  Verdict = "reject"
	VerdictSplit   Verdict = "split"
)

// Message is one piece of mail, as stored. The addressee is a unit (a task), never a process.
type Message struct {
	ID        lanes.MessageID
	Batch     lanes.BatchID
	Task      lanes.TaskID
	Lane      lanes.Number
	Type      Type
	Role      Role         // stamped by the issuing path
	By        string       // user name, for people; proves nothing
	ReplyTo   string       // the hold or ruling that it answers; "" for none
	Gate      string       // escalations: the gate named, "" for none
	Verdict   Verdict      // rulings
	Text      string       // any length, byte-exact
	Head      lanes.Commit // rulings bound to a commit
	Signed    bool         // a signature was verified
	Signature string       // armored, "" for none
	Nonce     string       // part of what was signed; no two rulings share one
	Principal string       // whose key it was: "operator/alice"
	Reserved  Role         // escalations: only this role may rule; "" for any
	CreatedAt time.Time
}
