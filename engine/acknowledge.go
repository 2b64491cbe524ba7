package engine

import (
	"context"
	"errors"
	"slices"
	"strings"

	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/mailbox"
)

// Acknowledged is the answer to an acknowledgement.
type Acknowledged struct {
	Ruling lanes.MessageID `json:"ruling"`
	Hold   lanes.HoldID    `json:"hold"`
}

// rulingAcknowledged is the event of a ruling that its worker said it has.
const rulingAcknowledged = "ruling-acknowledged"

// acknowledge books that the worker has a ruling. The ruling must be one of its own task's.
func (e *Engine) acknowledge(ctx context.Context, tx Tx, run lanes.Run, ruling, text string) (any, string, error) {
	if value, said, isMail, err := e.answerMail(ctx, tx, run, ruling, text); isMail || err != nil {
		return value, said, err
	}
	h, err := e.ruledHold(ctx, tx, run, ruling)
	if err != nil {
		return nil, "", err
	}
	next, err := h.Acknowledge(e.Clock.Now())
	if err != nil {
		return nil, "", refuse(ExitRefused, "not-open", "ferrox show "+string(h.ID), "%v", err)
	}
	answer := Acknowledged{Ruling: h.Ruling, Hold: h.ID}
	m := e.message(run.Batch, run.Task, run.Lane, mailbox.TypeReply, mailbox.RoleWorker)
	m.By, m.ReplyTo, m.Text = string(run.Task), string(h.Ruling), text
	if h.Delivery == hold.DeliveryAcknowledged {
		return answer, "acknowledged before", e.sayMore(ctx, tx, m)
	}
	err = errors.Join(tx.AddMessage(ctx, m), second(tx.PutHold(ctx, next)), e.event(ctx, tx, lanes.Event{
		Batch: h.Batch, Task: h.Task, Lane: h.Lane, Type: "ruling", Name: rulingAcknowledged, Ref: string(h.Ruling),
		Text: "the worker has the ruling on " + aboutHold(h),
	}))
	return answer, "acknowledged", err
}

// sayMore keeps what a worker says about a ruling that it has acknowledged before, once.
func (e *Engine) sayMore(ctx context.Context, tx Tx, m mailbox.Message) error {
	if m.Text == "" {
		return nil
	}
	said, err := tx.Messages(ctx, MessageFilter{Batch: m.Batch, Task: m.Task, Types: []mailbox.Type{mailbox.TypeReply}, ReplyTo: m.ReplyTo})
	if err != nil || slices.ContainsFunc(said, func(s mailbox.Message) bool { return s.Text == m.Text }) {
		return err
	}
	return errors.Join(tx.AddMessage(ctx, m), e.event(ctx, tx, lanes.Event{
		Batch: m.Batch, Task: m.Task, Lane: m.Lane, Type: "task", Name: "worker-said", Ref: string(m.ID), Text: firstLine(m.Text),
	}))
}

// ruledHold finds the hold of the run's own task that a ruling's id, or an unambiguous start of it, names.
func (e *Engine) ruledHold(ctx context.Context, tx Tx, run lanes.Run, ruling string) (hold.Record, error) {
	holds, err := tx.Holds(ctx, HoldFilter{Batch: run.Batch, Task: run.Task})
	if err != nil {
		return hold.Record{}, err
	}
	var found []hold.Record
	for _, h := range holds {
		if h.Ruling != "" && ruling != "" && strings.HasPrefix(string(h.Ruling), strings.ToUpper(ruling)) {
			found = append(found, h)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return hold.Record{}, refuse(ExitNotFound, string(mailbox.UnknownRuling), "echo $FERROX_RULINGS", "no ruling on this task has the id %q", ruling)
	}
	return hold.Record{}, refuse(ExitRefused, string(mailbox.AmbiguousReplyTo), "echo $FERROX_RULINGS", "%q fits %d rulings", ruling, len(found))
}
