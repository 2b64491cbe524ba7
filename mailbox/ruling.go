package mailbox

import (
	"fmt"
	"strings"

	"ferrox/lanes"
)

// RefusalCode says why a message was refused. Part of the outside contract.
type RefusalCode string

// The refusals of a ruling, in the order in which they are looked for.
const (
	WorkerMayNotRule  RefusalCode = "worker-may-not-rule"
	InvalidRole       RefusalCode = "invalid-role"
	MissingReplyTo    RefusalCode = "missing-reply-to"
	UnknownEscalation RefusalCode = "unknown-escalation"
	WrongUnit         RefusalCode = "wrong-unit"
	ConflictingRuling RefusalCode = "conflicting-ruling"
	NotOpen           RefusalCode = "not-open"
	EmptyInstructions RefusalCode = "empty-instructions"
	StaleHead         RefusalCode = "stale-head"
	Unsigned          RefusalCode = "unsigned"
	BadSignature      RefusalCode = "bad-signature"
	NotAWorker        RefusalCode = "not-a-worker"
	UnknownRuling     RefusalCode = "unknown-ruling"
	AmbiguousReplyTo  RefusalCode = "ambiguous-reply-to"
)

// The refusals of other messages.
const (
	WrongCommand     RefusalCode = "usage"
	NotForAll        RefusalCode = "not-for-all"
	EmptyText        RefusalCode = "empty-text"
	TooLong          RefusalCode = "too-long"
	UnknownAddressee RefusalCode = "unknown-addressee"
	UnitEnded        RefusalCode = "unit-ended"
)

// Refusal is an answer, not a fault: the message has no effect, and this is why.
type Refusal struct {
	Code RefusalCode
	Text string
	Next string // the next command to type
}

func (r *Refusal) Error() string { return r.Text }

func refuse(code RefusalCode, next, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Text: fmt.Sprintf(format, args...), Next: next}
}

// Prior is a ruling that was given before on the same hold.
type Prior struct {
	ID      lanes.MessageID
	Verdict Verdict
	Text    string
	Head    lanes.Commit
}

// Ruling is everything that validation of a ruling depends on.
type Ruling struct {
	Role    Role // stamped by the issuing path
	ReplyTo string
	Verdict Verdict
	Text    string
	Head    lanes.Commit // "" when the ruling is bound to no commit

	// What stands in the store for ReplyTo. Found is false when there is no such hold.
	Found       bool
	Open        bool
	State       string // for the message: open, released, cancelled
	Reserved    Role   // only this role may rule; "" for supervisor or operator
	Prior       *Prior // the ruling that released it
	UnitEnded   bool   // the task has landed, failed or was skipped meanwhile
	LaneHead    lanes.Commit
	NeedSigned  bool
	Signed      bool
	SignatureOK bool   // meaningful when Signed
	Fault       string // why the signature does not hold; meaningful when it does not
}

// ParseVerdict reads a verdict word.
func ParseVerdict(s string) (Verdict, error) {
	switch v := Verdict(strings.ToLower(s)); v {
	case VerdictNone, VerdictApprove, VerdictFix, VerdictReject, VerdictSplit:
		return v, nil
	default:
		return VerdictNone, fmt.Errorf("read verdict %q: it is one of approve, fix, reject, split", s)
	}
}

// MayRule answers for the role alone, before any id is looked up.
func MayRule(role Role) *Refusal {
	switch role {
	case RoleSupervisor, RoleOperator:
		return nil
	case RoleWorker:
		return refuse(WorkerMayNotRule, "", "a worker may not rule: this process stands below a worker or an engine of this repository")
	case RoleEngine, RoleUnknown:
	}
	return refuse(InvalidRole, "run it from a shell of your own, outside the lanes",
		"may not rule: who this process belongs to could not be established")
}

// Validate checks a ruling. It answers repeated when the very same ruling was accepted before, which has no second effect.
func Validate(r Ruling) (repeated bool, refusal *Refusal) {
	if no := MayRule(r.Role); no != nil {
		return false, no
	}
	switch {
	case r.ReplyTo == "":
		return false, refuse(MissingReplyTo, "ferrox holds", "a ruling names the escalation it answers")
	case !r.Found:
		return false, refuse(UnknownEscalation, "ferrox holds --all", "no escalation has the id %s", r.ReplyTo)
	case r.Reserved != "" && r.Role != r.Reserved:
		return false, refuse(InvalidRole, "ask the "+string(r.Reserved)+" to rule",
			"this hold is reserved for the %s, and this process acts as %s", r.Reserved, r.Role)
	case r.Verdict == VerdictNone && strings.TrimSpace(r.Text) == "":
		return false, refuse(EmptyInstructions, "ferrox rule --reply-to "+r.ReplyTo+" -m TEXT", "a ruling needs a verdict or a text")
	case r.Prior != nil && r.Prior.same(r):
		return true, nil
	case r.Prior != nil:
		return false, refuse(ConflictingRuling, "ferrox show "+string(r.Prior.ID),
			"ruling %s was accepted before and says something else", r.Prior.ID)
	case !r.Open:
		return false, refuse(NotOpen, "ferrox show "+r.ReplyTo, "the hold is %s", r.State)
	case r.UnitEnded:
		return false, refuse(NotOpen, "ferrox status", "its task has ended")
	case r.Head != "" && r.Head != r.LaneHead:
		return false, refuse(StaleHead, "ferrox show "+r.ReplyTo,
			"the ruling is for commit %s and the lane stands at %s", r.Head.Short(), r.LaneHead.Short())
	}
	return false, r.signature()
}

func (p Prior) same(r Ruling) bool {
	return p.Verdict == r.Verdict && p.Text == r.Text && p.Head == r.Head
}

func (r Ruling) signature() *Refusal {
	next := "ferrox rule --reply-to " + r.ReplyTo + " --sign KEY"
	switch {
	case r.Signed && !r.SignatureOK && r.Fault != "":
		return refuse(BadSignature, next, "the signature does not hold for this ruling: %s", r.Fault)
	case r.Signed && !r.SignatureOK:
		return refuse(BadSignature, next, "the signature does not hold for this ruling")
	case r.NeedSigned && !r.Signed:
		return refuse(Unsigned, next, "this batch accepts signed rulings only")
	}
	return nil
}
