package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/mailbox"
)

// MaxText bounds a message's text, in bytes. Anything up to it travels by file and arrives byte-exact.
const MaxText = 4 << 20

// Answer carries out what a worker asked of its shim. It returns after the commit: what it answers is durable.
func (e *Engine) Answer(ctx context.Context, q WorkerRequest) (WorkerAnswer, error) {
	var value any
	var text string
	var err error
	if q.Verb == "inbox" {
		value, text, err = e.workerInbox(ctx, q.Token)
	} else {
		err = e.update(ctx, func(tx Tx) error {
			run, err := runOf(ctx, tx, q.Token)
			if err != nil {
				return err
			}
			value, text, err = e.answerOnce(ctx, tx, run, q)
			return err
		})
	}
	var no *Error
	if errors.As(err, &no) {
		return refusedAnswer(no), nil
	}
	if err != nil {
		return WorkerAnswer{}, err
	}
	body, err := json.Marshal(value)
	return WorkerAnswer{Result: string(body), Text: text}, err
}

// runOf finds the run that a token belongs to. Anybody else is not a worker.
func runOf(ctx context.Context, r Reader, token string) (lanes.Run, error) {
	no := refuse(ExitRefused, string(mailbox.NotAWorker), "", "only a worker that ferrox started may do this")
	if token == "" {
		return lanes.Run{}, no
	}
	runs, err := r.Runs(ctx, RunFilter{Token: token})
	if err != nil {
		return lanes.Run{}, err
	}
	if len(runs) != 1 {
		return lanes.Run{}, no
	}
	return runs[0], nil
}

// answerOnce gives a repeated request the answer it had before, without a second effect.
func (e *Engine) answerOnce(ctx context.Context, tx Tx, run lanes.Run, q WorkerRequest) (any, string, error) {
	id := "worker/" + string(run.ID) + "/" + q.ID
	old, err := tx.Request(ctx, id)
	if err == nil {
		var was workerReply
		err = json.Unmarshal([]byte(old.Answer), &was)
		return was.Value, was.Text, err
	}
	if !errors.Is(err, ErrNotFound) {
		return nil, "", err
	}
	value, text, err := e.answer(ctx, tx, run, q)
	if err != nil || q.ID == "" {
		return value, text, err
	}
	body, err := json.Marshal(workerReply{value, text})
	if err != nil {
		return nil, "", err
	}
	now := e.Clock.Now()
	return value, text, tx.PutRequest(ctx, lanes.Request{
		ID: id, Verb: q.Verb, Batch: run.Batch, Done: true, Answer: string(body), CreatedAt: now, DoneAt: now,
	})
}

type workerReply struct {
	Value any    `json:"value"`
	Text  string `json:"text"`
}

func (e *Engine) answer(ctx context.Context, tx Tx, run lanes.Run, q WorkerRequest) (any, string, error) {
	if len(q.Text) > MaxText {
		return nil, "", refuse(ExitUsage, "too-long", "", "the text has %d bytes, and %d are the most", len(q.Text), MaxText)
	}
	switch q.Verb {
	case "escalate":
		return e.escalate(ctx, tx, run, q)
	case "ack":
		return e.acknowledge(ctx, tx, run, q.ReplyTo, q.Text)
	case "notify":
		if q.ReplyTo == "" {
			return e.note(ctx, tx, run, q.Text)
		}
		return e.acknowledge(ctx, tx, run, q.ReplyTo, q.Text)
	case "lane":
		l, err := tx.Lane(ctx, run.Batch, run.Lane)
		return l, l.Branch, err
	}
	return nil, "", refuse(ExitUsage, "usage", "ferrox --help", "a worker cannot ask for %q", q.Verb)
}

// Escalated is the answer to an escalation.
type Escalated struct {
	ID       lanes.HoldID `json:"id"`
	Repeated bool         `json:"repeated"`
	Deadline string       `json:"deadline"`
	Note     string       `json:"note"` // what it means for the worker
}

// heldNote tells a worker what its question did to its task.
const heldNote = "the task is held: it cannot finish or merge until somebody with authority has ruled; end now, or go on only with work that the answer cannot change"

// escalate opens a hold, or finds the open one that it repeats. The task is held from this transaction on.
func (e *Engine) escalate(ctx context.Context, tx Tx, run lanes.Run, q WorkerRequest) (any, string, error) {
	if err := checkEscalation(q); err != nil {
		return nil, "", err
	}
	open, err := tx.Holds(ctx, HoldFilter{Batch: run.Batch, Task: run.Task, Unresolved: true})
	if err != nil {
		return nil, "", err
	}
	for _, h := range open {
		if h.Asks(q.Gate, q.Text) {
			return e.repeatEscalation(ctx, tx, h, run, q)
		}
	}
	m := e.message(run.Batch, run.Task, run.Lane, mailbox.TypeEscalate, mailbox.RoleWorker)
	m.By, m.Gate, m.Text, m.Reserved = string(run.Task), q.Gate, q.Text, mailbox.Role(q.Reserve)
	h, err := e.openHold(ctx, tx, m, run.ID)
	if err != nil {
		return nil, "", err
	}
	return escalated(h, false), string(h.ID), e.markHoldRun(ctx, tx, run)
}

func checkEscalation(q WorkerRequest) error {
	switch {
	case strings.TrimSpace(q.Text) == "":
		return refuse(ExitUsage, "usage", "ferrox escalate -m TEXT", "an escalation needs a text")
	case strings.ContainsAny(q.Gate, " \t\r\n"):
		return refuse(ExitUsage, "usage", "ferrox escalate --gate GATE -m TEXT", "gate %q has blanks", q.Gate)
	case q.Reserve != "" && q.Reserve != string(mailbox.RoleOperator):
		return refuse(ExitUsage, "usage", "ferrox escalate --reserve operator", "a hold can be reserved for the operator only, not for %q", q.Reserve)
	}
	return nil
}

// markHoldRun keeps a run that asked a question from counting against the iteration budget.
func (e *Engine) markHoldRun(ctx context.Context, tx Tx, run lanes.Run) error {
	if run.OpenedHold {
		return nil
	}
	run.OpenedHold = true
	_, err := tx.PutRun(ctx, run)
	return err
}

func (e *Engine) repeatEscalation(ctx context.Context, tx Tx, h hold.Record, run lanes.Run, q WorkerRequest) (any, string, error) {
	next := h.Append(q.Text)
	if next.Question != h.Question {
		if _, err := tx.PutHold(ctx, next); err != nil {
			return nil, "", err
		}
	}
	err := e.event(ctx, tx, lanes.Event{
		Batch: h.Batch, Task: h.Task, Lane: h.Lane, Type: "hold", Name: "hold-repeated", Ref: string(h.ID), Text: q.Text,
	})
	return escalated(next, true), string(h.ID), errors.Join(err, e.markHoldRun(ctx, tx, run))
}

func escalated(h hold.Record, repeated bool) Escalated {
	return Escalated{ID: h.ID, Repeated: repeated, Deadline: stamp(h.Deadline), Note: heldNote}
}

func (e *Engine) message(b lanes.BatchID, t lanes.TaskID, n lanes.Number, typ mailbox.Type, role mailbox.Role) mailbox.Message {
	return mailbox.Message{
		ID: lanes.MessageID(e.NewID()), Batch: b, Task: t, Lane: n, Type: typ, Role: role, By: e.User, CreatedAt: e.Clock.Now(),
	}
}

// openHold records an escalation, its hold and the held task in one transaction.
func (e *Engine) openHold(ctx context.Context, tx Tx, m mailbox.Message, run lanes.RunID) (hold.Record, error) {
	b, err := tx.Batch(ctx, m.Batch)
	if err != nil {
		return hold.Record{}, err
	}
	t, err := tx.Task(ctx, m.Batch, m.Task)
	if err != nil {
		return hold.Record{}, err
	}
	if m.Reserved == "" {
		m.Reserved = reservedFor(b, m.Gate)
	}
	if t.State, err = t.State.Fire(lanes.Hold); err != nil {
		return hold.Record{}, refuse(ExitRefused, "not-open", "ferrox show "+string(t.ID), "%v", err)
	}
	h := hold.New(m, run, b.HoldTimeout)
	err = errors.Join(tx.AddMessage(ctx, m), second(tx.PutHold(ctx, h)), second(tx.PutTask(ctx, t)))
	if err != nil {
		return hold.Record{}, fmt.Errorf("open hold: %w", err)
	}
	return h, e.event(ctx, tx, lanes.Event{
		Batch: m.Batch, Task: m.Task, Lane: m.Lane, Type: "hold", Name: "hold-opened", Ref: string(h.ID),
		Text: aboutHold(h) + ": " + firstLine(h.Question),
	})
}

func aboutHold(h hold.Record) string {
	if h.Gate == "" {
		return "question"
	}
	return "gate " + h.Gate
}

// note keeps a worker's message that answers nothing.
func (e *Engine) note(ctx context.Context, tx Tx, run lanes.Run, text string) (any, string, error) {
	if strings.TrimSpace(text) == "" {
		return nil, "", refuse(ExitUsage, "usage", "ferrox notify TEXT", "a message needs a text")
	}
	m := e.message(run.Batch, run.Task, run.Lane, mailbox.TypeReply, mailbox.RoleWorker)
	m.By, m.Text = string(run.Task), text
	err := errors.Join(tx.AddMessage(ctx, m), e.event(ctx, tx, lanes.Event{
		Batch: run.Batch, Task: run.Task, Lane: run.Lane, Type: "task", Name: "worker-said", Ref: string(m.ID), Text: firstLine(text),
	}))
	return map[string]string{"id": string(m.ID)}, string(m.ID), err
}

// workerInbox lists what the worker has to know. A ruling that is read here is delivered, and that is durable before it is read.
func (e *Engine) workerInbox(ctx context.Context, token string) (any, string, error) {
	var all []Letter
	read := func(r Reader) (run lanes.Run, owed []hold.Record, err error) {
		if run, err = runOf(ctx, r, token); err != nil {
			return run, nil, err
		}
		if owed, err = owedTo(ctx, r, run); err == nil {
			all, err = lettersFor(ctx, r, run)
		}
		return run, owed, err
	}
	owes := false
	err := e.Store.View(ctx, func(r Reader) error {
		_, owed, err := read(r)
		owes = len(owed) > 0
		return err
	})
	if err == nil && owes {
		err = e.update(ctx, func(tx Tx) error {
			run, owed, err := read(tx)
			if err != nil {
				return err
			}
			return e.handOver(ctx, tx, run, owed)
		})
	}
	return all, fmt.Sprintf("%d letters", len(all)), err
}

func refusedAnswer(no *Error) WorkerAnswer {
	body, err := json.Marshal(ErrorView(no))
	if err != nil {
		return WorkerAnswer{Exit: ExitFailed, Text: err.Error()}
	}
	return WorkerAnswer{Exit: no.Exit, Text: no.Message, Error: string(body)}
}

// second drops a Put's new version where nobody needs it.
func second[T any](_ T, err error) error { return err }
