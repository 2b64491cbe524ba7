package engine

import (
	"context"
	"errors"
	"fmt"

	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/mailbox"
)

// verbAbortTask is the command that an abort message becomes: only the owner of the repository may end a worker.
const verbAbortTask = "abort-task"

// sendAbort has a unit aborted, by the live engine or by this process. The same text to a unit that it ended before is the same
// abort again.
func (e *Engine) sendAbort(ctx context.Context, q SendRequest) (Sent, error) {
	if q.RequestID != "" {
		if done, answered, err := e.answerTo(ctx, requestKey(q.RequestID)); answered || err != nil {
			return e.aborted(ctx, q, done, "aborted", err)
		}
	}
	c := Command{Verb: verbAbortTask, Why: q.Text, Role: q.Role, By: e.User, RequestID: q.RequestID}
	var before *Done
	err := e.Store.View(ctx, func(r Reader) error {
		b, t, err := addressee(ctx, r, q.Batch, q.To)
		if err != nil {
			return err
		}
		c.Batch, c.Task = b.ID, t.ID
		if before, err = abortedBefore(ctx, r, t, q.Text); err != nil || before != nil {
			return err
		}
		if no := mailbox.CheckAddressee(t); no != nil {
			return fromRefusal(no)
		}
		return nil
	})
	if err != nil {
		return Sent{}, err
	}
	if before != nil {
		return e.aborted(ctx, q, *before, "repeated", nil)
	}
	done, err := e.Do(ctx, c)
	return e.aborted(ctx, q, done, "aborted", err)
}

// abortedBefore finds the abort with the same text that failed a unit; nil when there is none.
func abortedBefore(ctx context.Context, r Reader, t lanes.Task, text string) (*Done, error) {
	if t.State != lanes.TaskFailed {
		return nil, nil
	}
	all, err := r.Messages(ctx, MessageFilter{Batch: t.Batch, Task: t.ID, Types: []mailbox.Type{mailbox.TypeAbort}})
	if err != nil || len(all) == 0 || all[len(all)-1].Text != text {
		return nil, err
	}
	return &Done{Result: "repeated", Batch: t.Batch, Task: t.ID, Message: all[len(all)-1].ID}, nil
}

// aborted shows an abort that was carried out.
func (e *Engine) aborted(ctx context.Context, q SendRequest, done Done, result string, err error) (Sent, error) {
	if err != nil {
		return Sent{}, err
	}
	out := Sent{Result: result, Type: q.Type, Batch: done.Batch, Message: done.Message}
	err = e.Store.View(ctx, func(r Reader) error {
		t, err := r.Task(ctx, done.Batch, done.Task)
		if err != nil {
			return err
		}
		u, err := e.sentUnit(ctx, r, t)
		u.Message = done.Message
		if err != nil {
			return err
		}
		holds, err := r.Holds(ctx, HoldFilter{Batch: t.Batch, Task: t.ID})
		for _, h := range holds {
			if h.State == hold.Cancelled {
				u.Holds = append(u.Holds, e.answerHold(h))
			}
		}
		out.Units = []SentUnit{u}
		return err
	})
	return out, err
}

// unitQuiet makes sure that no worker of a unit is alive and nobody drives it, so that it can be aborted. It reports false while
// that takes time.
func (r *runner) unitQuiet(ctx context.Context, c Command) (bool, error) {
	u, err := r.unit(ctx, c.Task)
	if errors.Is(err, ErrNotFound) {
		return false, fromRefusal(unknownAddressee("batch %s has no task %q", r.id, c.Task))
	}
	if err != nil {
		return false, err
	}
	if no := mailbox.CheckAddressee(u.task); no != nil {
		return false, fromRefusal(no)
	}
	if u.run != nil && u.run.State != lanes.RunExited {
		r.sendHome(c.Task, "abort")
		return false, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.drives[c.Task] == nil, nil
}

// abortUnit cancels the holds of a unit and fails it, in one transaction with the message that says so. A cancelled hold was
// never ruled on, so nothing can land by it and nothing revives the unit. Commits, worktree and records are kept.
func (r *runner) abortUnit(ctx context.Context, c Command) (Done, error) {
	done := Done{Result: "aborted", Batch: r.id, Task: c.Task, Text: "every commit and the worktree are kept"}
	err := r.commitAnswer(ctx, &done, func(tx Tx) error {
		u, err := unitOf(ctx, tx, r.id, c.Task)
		if err != nil {
			return err
		}
		if no := mailbox.CheckAddressee(u.task); no != nil {
			return fromRefusal(no)
		}
		m := r.message(r.id, c.Task, u.task.Lane, mailbox.TypeAbort, c.Role)
		m.By, m.Text, done.Message = c.By, c.Why, m.ID
		if err := tx.AddMessage(ctx, m); err != nil {
			return err
		}
		for _, h := range u.holds {
			if err := r.cancelHold(ctx, tx, h, c.Why); err != nil {
				return err
			}
		}
		if err := r.closeRunTx(ctx, tx, u, "", "aborted"); err != nil {
			return err
		}
		return r.endTaskTx(ctx, tx, u.task, lanes.Fail, []lanes.Reason{{
			Code: lanes.CodeAborted, Ref: string(m.ID), Clears: "operator", Next: "ferrox run batch",
			Text: fmt.Sprintf("aborted by the %s: %s", c.Role, firstLine(c.Why)),
		}})
	})
	return done, err
}
