package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/mailbox"
)

// ToAll is the addressee that stands for every unfinished unit of a batch.
const ToAll = "all"

// SendRequest is a message as its author gave it.
type SendRequest struct {
	Role      mailbox.Role // from where the process stands
	Batch     lanes.BatchID
	To        string // a task, a lane ("lane-2" or "2"), or ToAll
	Type      mailbox.Type
	Text      string
	RequestID string
}

// Sent is the answer to a message.
type Sent struct {
	Result  string          `json:"result"` // sent, repeated, answered or aborted
	Type    mailbox.Type    `json:"type"`
	Batch   lanes.BatchID   `json:"batch"`
	Message lanes.MessageID `json:"message,omitempty"` // when it went to one unit
	Units   []SentUnit      `json:"units"`
}

// SentUnit is one unit that a message went to, as it stands after that.
type SentUnit struct {
	Task     lanes.TaskID    `json:"task"`
	Lane     lanes.Number    `json:"lane,omitempty"`
	State    lanes.TaskState `json:"state"`
	Message  lanes.MessageID `json:"message,omitempty"`
	Repeated bool            `json:"repeated,omitempty"` // the same text waits already
	Delivery Way             `json:"delivery,omitempty"`
	Worker   string          `json:"worker"` // none or alive
	Holds    []HoldAnswer    `json:"holds"`  // its unresolved holds; of an abort, those that it cancelled
}

// HoldAnswer is a hold, and how long its deadline is away.
type HoldAnswer struct {
	HoldView
	SecondsLeft int64 `json:"seconds_left"` // 0 once the deadline has passed
}

// Send carries out a message to a unit: it works the same with and without an engine, and with and without a worker. An
// abort goes through the owner of the repository; everything else is one transaction, or none at all.
func (e *Engine) Send(ctx context.Context, q SendRequest) (Sent, error) {
	if no := mailbox.CheckSending(mailbox.Sending{Role: q.Role, Type: q.Type, All: q.To == ToAll, Text: q.Text}); no != nil {
		return Sent{}, fromRefusal(no)
	}
	rule, _ := mailbox.RuleOf(q.Type)
	switch {
	case rule.Ends:
		return e.sendAbort(ctx, q)
	case rule.Mail:
		return e.sendMail(ctx, q, rule)
	}
	return e.answerQuery(ctx, q)
}

// answerQuery answers from the store. Nothing is written.
func (e *Engine) answerQuery(ctx context.Context, q SendRequest) (Sent, error) {
	out := Sent{Result: "answered", Type: q.Type, Units: []SentUnit{}}
	err := e.Store.View(ctx, func(r Reader) error {
		b, to, err := addressees(ctx, r, q)
		if err != nil {
			return err
		}
		out.Batch = b.ID
		for _, t := range to {
			u, err := e.sentUnit(ctx, r, t)
			if err != nil {
				return err
			}
			out.Units = append(out.Units, u)
		}
		return nil
	})
	return out, err
}

// sendMail keeps a message for each addressee.
func (e *Engine) sendMail(ctx context.Context, q SendRequest, rule mailbox.Rule) (out Sent, err error) {
	owned, err := e.Lock.Held()
	if err != nil {
		return out, fmt.Errorf("look at the engine lock: %w", err)
	}
	err = e.update(ctx, func(tx Tx) error {
		done, err := once(ctx, tx, q.RequestID, &out)
		if done || err != nil {
			return err
		}
		b, to, err := addressees(ctx, tx, q)
		if err != nil {
			return err
		}
		out = Sent{Result: "repeated", Type: q.Type, Batch: b.ID, Units: []SentUnit{}}
		for _, t := range to {
			u, err := e.keepMail(ctx, tx, q, rule, b, t, owned)
			if err != nil {
				return fmt.Errorf("send to %s: %w", t.ID, err)
			}
			if !u.Repeated {
				out.Result = "sent"
			}
			out.Units = append(out.Units, u)
		}
		if len(out.Units) == 1 {
			out.Message = out.Units[0].Message
		}
		return e.remember(ctx, tx, q.RequestID, "send", out)
	})
	return out, err
}

// keepMail stores one message for one unit, and owes it a prompt. The same text that waits already is not kept twice.
func (e *Engine) keepMail(ctx context.Context, tx Tx, q SendRequest, rule mailbox.Rule, b lanes.Batch, t lanes.Task, owned bool) (SentUnit, error) {
	waiting, err := waitingMail(ctx, tx, t.Batch, t.ID)
	if err != nil {
		return SentUnit{}, err
	}
	i := slices.IndexFunc(waiting, func(m mailbox.Message) bool { return m.Type == q.Type && m.Role == q.Role && m.Text == q.Text })
	id := lanes.MessageID("")
	if i >= 0 {
		id = waiting[i].ID
	} else if id, err = e.storeMail(ctx, tx, q, rule, t); err != nil {
		return SentUnit{}, err
	}
	u, err := e.sentUnit(ctx, tx, t)
	if err != nil {
		return u, err
	}
	u.Message, u.Repeated = id, i >= 0
	u.Delivery, err = e.way(ctx, tx, b, t, owned)
	return u, err
}

func (e *Engine) storeMail(ctx context.Context, tx Tx, q SendRequest, rule mailbox.Rule, t lanes.Task) (lanes.MessageID, error) {
	m := e.message(t.Batch, t.ID, t.Lane, q.Type, q.Role)
	m.Text = q.Text
	err := errors.Join(
		tx.AddMessage(ctx, m),
		tx.AddEffect(ctx, lanes.Effect{Key: mailKey(m.ID), Batch: t.Batch, Kind: lanes.EffectMail, Task: t.ID, Lane: t.Lane, CreatedAt: m.CreatedAt}),
		e.event(ctx, tx, lanes.Event{
			Batch: t.Batch, Type: "task", Task: t.ID, Lane: t.Lane, Ref: string(m.ID), Name: "mail-sent",
			Text: fmt.Sprintf("%s sent %s: %s", q.Role, q.Type, firstLine(q.Text)),
		}),
	)
	if err != nil || !rule.Notes {
		return m.ID, err
	}
	return m.ID, e.noteHolds(ctx, tx, m)
}

// noteHolds stamps the open holds of a unit as seen. Nothing else of them moves.
func (e *Engine) noteHolds(ctx context.Context, tx Tx, m mailbox.Message) error {
	open, err := openHolds(ctx, tx, m.Batch, m.Task)
	if err != nil {
		return err
	}
	for _, h := range open {
		next, err := h.Note(m.CreatedAt)
		if err != nil {
			return err
		}
		err = errors.Join(second(tx.PutHold(ctx, next)), e.event(ctx, tx, lanes.Event{
			Batch: h.Batch, Type: "hold", Task: h.Task, Lane: h.Lane, Ref: string(h.ID), Name: "hold-noted",
			Text: fmt.Sprintf("%s has seen %s", m.Role, aboutHold(h)),
		}))
		if err != nil {
			return err
		}
	}
	return nil
}

// addressees finds who a message is for. One unit that has ended is refused; among all of them it is passed over.
func addressees(ctx context.Context, r Reader, q SendRequest) (lanes.Batch, []lanes.Task, error) {
	if q.To == ToAll {
		return everyUnit(ctx, r, q.Batch)
	}
	b, t, err := addressee(ctx, r, q.Batch, q.To)
	if err != nil {
		return b, nil, err
	}
	if no := mailbox.CheckAddressee(t); no != nil {
		return b, nil, fromRefusal(no)
	}
	return b, []lanes.Task{t}, nil
}

func everyUnit(ctx context.Context, r Reader, id lanes.BatchID) (lanes.Batch, []lanes.Task, error) {
	b, err := batchOf(ctx, r, id)
	if err != nil {
		return b, nil, err
	}
	all, err := r.Tasks(ctx, b.ID)
	all = slices.DeleteFunc(all, func(t lanes.Task) bool { return mailbox.CheckAddressee(t) != nil })
	if err == nil && len(all) == 0 {
		err = refuse(ExitRefused, string(mailbox.UnitEnded), "ferrox status "+string(b.ID), "every unit of batch %s has ended", b.ID)
	}
	return b, all, err
}

// addressee finds a unit by its task, in the newest batch that has it, or by its lane in the newest batch.
func addressee(ctx context.Context, r Reader, id lanes.BatchID, to string) (lanes.Batch, lanes.Task, error) {
	batches, err := r.Batches(ctx)
	if err != nil {
		return lanes.Batch{}, lanes.Task{}, err
	}
	if id != "" {
		b, err := batchOf(ctx, r, id)
		if err != nil {
			return b, lanes.Task{}, err
		}
		batches = []lanes.Batch{b}
	}
	for _, b := range batches {
		t, err := r.Task(ctx, b.ID, lanes.TaskID(to))
		if !errors.Is(err, ErrNotFound) {
			return b, t, err
		}
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(to, "lane-")); err == nil && len(batches) > 0 {
		return laneUnit(ctx, r, batches[0], lanes.Number(n))
	}
	return lanes.Batch{}, lanes.Task{}, fromRefusal(unknownAddressee("no batch has a task or lane %q", to))
}

// laneUnit finds the unit that a lane is bound to.
func laneUnit(ctx context.Context, r Reader, b lanes.Batch, n lanes.Number) (lanes.Batch, lanes.Task, error) {
	l, err := r.Lane(ctx, b.ID, n)
	if errors.Is(err, ErrNotFound) {
		return b, lanes.Task{}, fromRefusal(unknownAddressee("batch %s has no lane %d", b.ID, n))
	}
	if err != nil {
		return b, lanes.Task{}, err
	}
	if l.Task == "" {
		return b, lanes.Task{}, refuse(ExitRefused, string(mailbox.UnitEnded), "ferrox lanes", "lane %d has no unit: what it worked on has ended", n)
	}
	t, err := r.Task(ctx, b.ID, l.Task)
	return b, t, err
}

func unknownAddressee(format string, args ...any) *mailbox.Refusal {
	return &mailbox.Refusal{Code: mailbox.UnknownAddressee, Text: fmt.Sprintf(format, args...), Next: "ferrox status"}
}

// sentUnit shows a unit with its unresolved holds.
func (e *Engine) sentUnit(ctx context.Context, r Reader, t lanes.Task) (SentUnit, error) {
	u := SentUnit{Task: t.ID, Lane: t.Lane, State: t.State, Worker: "none", Holds: []HoldAnswer{}}
	holds, err := r.Holds(ctx, HoldFilter{Batch: t.Batch, Task: t.ID, Unresolved: true})
	if err != nil {
		return u, err
	}
	for _, h := range holds {
		u.Holds = append(u.Holds, e.answerHold(h))
	}
	alive, err := e.liveRun(ctx, r, t)
	if alive {
		u.Worker = "alive"
	}
	return u, err
}

func (e *Engine) answerHold(h hold.Record) HoldAnswer {
	now := e.Clock.Now()
	return HoldAnswer{HoldView: viewHold(h, now), SecondsLeft: int64(max(0, h.Deadline.Sub(now)).Seconds())}
}
