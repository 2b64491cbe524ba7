package hold

import (
	"time"

	"ferrox/lanes"
	"ferrox/mailbox"
)

// State is where a hold stands.
type State string

// The states of a hold.
const (
	Open      State = "open"      // nobody has ruled
	Released  State = "released"  // ruled; binds the task until the ruling is acknowledged
	Cancelled State = "cancelled" // by an abort, which failed the task
)

// Delivery is how far the ruling got into the work.
type Delivery string

// The states of a delivery.
const (
	DeliveryNone         Delivery = "none"         // there is no ruling to deliver
	DeliveryPending      Delivery = "pending"      // ruled; no worker has it yet
	DeliveryInFlight     Delivery = "in-flight"    // in the prompt of a run that was decided on
	DeliveryAcknowledged Delivery = "acknowledged" // the worker said that it has it
)

// Record is one hold, as stored.
type Record struct {
	ID             lanes.HoldID
	Batch          lanes.BatchID
	Task           lanes.TaskID
	Lane           lanes.Number
	Run            lanes.RunID // the run that asked; "" when ferrox itself opened it
	Gate           string      // "" when the question names none
	Question       string      // the escalation's text; repeats are appended
	State          State
	ReservedFor    mailbox.Role // only this role may rule; "" for supervisor or operator
	OpenedAt       time.Time
	Deadline       time.Time
	ExpiredAt      time.Time // set once, when the deadline was found passed; zero before
	Ruling         lanes.MessageID
	RulingVerdict  mailbox.Verdict
	RulingText     string
	RulingRole     mailbox.Role
	RulingBy       string
	RulingHead     lanes.Commit
	RulingSigned   bool
	RuledAt        time.Time
	Delivery       Delivery
	DeliveryRun    lanes.RunID // the run whose prompt carried the ruling last
	AcknowledgedAt time.Time   // delivery acknowledged by the worker
	NotedAt        time.Time   // last info message of a supervisor or operator
	CancelledAt    time.Time
	CancelReason   string
	Version        int64

	// Unproven says why the stored release does not count, so that the hold is open: the batch asks for signatures, and
	// the stored ruling has no good one. Found anew at every reading, never stored.
	Unproven string
}

// Unresolved reports whether the hold still binds its task: open, or ruled and not yet acknowledged.
func (r Record) Unresolved() bool {
	return r.State == Open || r.State == Released && r.Delivery != DeliveryAcknowledged
}

// ExpiredBy reports whether the deadline has passed at now, whether or not an engine has noticed.
func (r Record) ExpiredBy(now time.Time) bool {
	return r.State == Open && !now.Before(r.Deadline)
}
