package lanes

// TaskID names a task packet, "TP-104". It is an opaque name: it never becomes a path or a git argument unescaped.
type TaskID string

// BatchID names one run of the orchestrator over a set of tasks. It is part of branch names.
type BatchID string

// Number is a lane's number inside its batch, from 1. Numbers are never reused. 0 means "no lane".
type Number int

// RunID names one run of a worker in a lane: one process tree under one shim.
type RunID string

// HoldID names a hold. It is also the id of the escalation message that opened it.
type HoldID string

// MessageID names a message: an escalation, a ruling, a reply.
type MessageID string

// Commit is a full hexadecimal git object id. Empty means unknown.
type Commit string

// Short returns the first twelve digits, for people.
func (c Commit) Short() string {
	if len(c) <= 12 {
		return string(c)
	}
	return string(c[:12])
}
