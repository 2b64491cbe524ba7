package hold

import (
	"fmt"
	"time"

	"ferrox/lanes"
	"ferrox/mailbox"
)

// Input is what can happen to a hold.
type Input string

// The inputs of the hold's machine.
const (
	Info    Input = "info"    // a supervisor or operator has seen it
	Query   Input = "query"   // somebody asked about it
	Steer   Input = "steer"   // ordinary mail
	Rule    Input = "rule"    // a valid ruling
	Deliver Input = "deliver" // a run is about to start with the ruling in its prompt
	Ack     Input = "ack"     // the worker named the ruling's id
	Expire  Input = "expire"  // the deadline was found passed
	Cancel  Input = "cancel"  // abort: the unit fails in the same transaction
)

// Transition is one row of the table.
type Transition struct {
	Name         string // H1 … of the semantics
	From         State
	FromDelivery Delivery
	Input        Input
	To           State
	ToDelivery   Delivery
	Why          string
}

// Table holds every transition there is. What is not in it is refused. docs/states.md is printed from it.
func Table() []Transition {
	return []Transition{
		{"H2", Open, DeliveryNone, Info, Open, DeliveryNone, "stamps the time, moves nothing"},
		{"H3", Open, DeliveryNone, Query, Open, DeliveryNone, "answered from the store"},
		{"H4", Open, DeliveryNone, Steer, Open, DeliveryNone, "ordinary mail never releases"},
		{"H5", Open, DeliveryNone, Rule, Released, DeliveryPending, "a valid ruling, in time or late (H11)"},
		{"H7", Released, DeliveryPending, Deliver, Released, DeliveryInFlight, "durable before the spawn"},
		{"H9", Released, DeliveryInFlight, Deliver, Released, DeliveryInFlight, "the last run did not acknowledge: repeated"},
		{"H8", Released, DeliveryInFlight, Ack, Released, DeliveryAcknowledged, "now completion may be considered"},
		{"H8", Released, DeliveryPending, Ack, Released, DeliveryAcknowledged, "a live worker read it before any relaunch"},
		{"H8", Released, DeliveryAcknowledged, Ack, Released, DeliveryAcknowledged, "said twice, counted once"},
		{"H10", Open, DeliveryNone, Expire, Open, DeliveryNone, "parks the lane, approves nothing"},
		{"H12", Open, DeliveryNone, Cancel, Cancelled, DeliveryNone, "abort: the unit fails in the same transaction"},
		{"H12", Released, DeliveryPending, Cancel, Cancelled, DeliveryNone, "abort before the ruling reached the work"},
		{"H12", Released, DeliveryInFlight, Cancel, Cancelled, DeliveryNone, "abort before the ruling was acknowledged"},
	}
}

// RefusedError says that a hold has no such move.
type RefusedError struct {
	Hold     lanes.HoldID
	State    State
	Delivery Delivery
	Input    Input
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s hold %s: it is %s, delivery %s", e.Input, e.Hold, e.State, e.Delivery)
}

func (r Record) fire(in Input) (Record, error) {
	for _, t := range Table() {
		if t.From == r.State && t.FromDelivery == r.Delivery && t.Input == in {
			r.State, r.Delivery = t.To, t.ToDelivery
			return r, nil
		}
	}
	return r, &RefusedError{r.ID, r.State, r.Delivery, in}
}

// New opens a hold (H1): the clock starts when the worker asked, and the deadline is an instant that nothing but an
// explicit extension moves.
func New(m mailbox.Message, run lanes.RunID, timeout time.Duration) Record {
	return Record{
		ID: lanes.HoldID(m.ID), Batch: m.Batch, Task: m.Task, Lane: m.Lane, Run: run,
		Gate: m.Gate, Question: m.Text, State: Open, ReservedFor: m.Reserved,
		OpenedAt: m.CreatedAt, Deadline: m.CreatedAt.Add(timeout), Delivery: DeliveryNone,
	}
}

// Rule releases the hold. Its ruling was validated by the caller (mailbox.Validate).
func (r Record) Rule(m mailbox.Message) (Record, error) {
	next, err := r.fire(Rule)
	if err != nil {
		return r, err
	}
	next.Ruling, next.RulingVerdict, next.RulingText = m.ID, m.Verdict, m.Text
	next.RulingRole, next.RulingBy, next.RulingHead, next.RulingSigned = m.Role, m.By, m.Head, m.Signed
	next.RuledAt = m.CreatedAt
	return next, nil
}

// DeliverIn puts the ruling into the prompt of a run that is about to start.
func (r Record) DeliverIn(run lanes.RunID) (Record, error) {
	next, err := r.fire(Deliver)
	if err != nil {
		return r, err
	}
	next.DeliveryRun = run
	return next, nil
}

// Acknowledge records that the worker has the ruling. The first time counts.
func (r Record) Acknowledge(at time.Time) (Record, error) {
	next, err := r.fire(Ack)
	if err != nil {
		return r, err
	}
	if next.AcknowledgedAt.IsZero() {
		next.AcknowledgedAt = at
	}
	return next, nil
}

// Expire marks a passed deadline, once. Before the deadline it changes nothing.
func (r Record) Expire(now time.Time) (Record, bool) {
	if !r.ExpiredBy(now) || !r.ExpiredAt.IsZero() {
		return r, false
	}
	next, err := r.fire(Expire)
	if err != nil {
		return r, false
	}
	next.ExpiredAt = now
	return next, true
}

// CancelFor ends the hold because its unit was aborted. The caller fails the unit in the same transaction.
func (r Record) CancelFor(why string, at time.Time) (Record, error) {
	next, err := r.fire(Cancel)
	if err != nil {
		return r, err
	}
	next.CancelReason, next.CancelledAt = why, at
	return next, nil
}

// Note stamps that somebody with authority has seen the hold. Nothing else moves.
func (r Record) Note(at time.Time) (Record, error) {
	next, err := r.fire(Info)
	if err != nil {
		return r, err
	}
	next.NotedAt = at
	return next, nil
}

// Extend moves the deadline of an open hold. It is the only thing that does. A hold that has expired, and whose new
// deadline has passed as well, stays expired: nobody is told twice.
func (r Record) Extend(by time.Duration, now time.Time) (Record, error) {
	if r.State != Open || r.Delivery != DeliveryNone {
		return r, &RefusedError{r.ID, r.State, r.Delivery, "extend"}
	}
	r.Deadline = r.Deadline.Add(by)
	if now.Before(r.Deadline) {
		r.ExpiredAt = time.Time{}
	}
	return r, nil
}

// Asks reports whether an escalation repeats this open hold: the same gate, or without a gate the same text.
func (r Record) Asks(gate, text string) bool {
	if r.State != Open || r.Gate != gate {
		return false
	}
	return gate != "" || r.Question == text
}

// Append keeps the text of a repeated escalation.
func (r Record) Append(text string) Record {
	if text != r.Question {
		r.Question += "\n\n" + text
	}
	return r
}
