package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"ferrox/gates"
	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/mailbox"
)

// Command is something that only the owner of the repository carries out: a live engine, or the command's own process when
// there is none.
type Command struct {
	Verb      string        `json:"verb"` // pause, takeover, unpause, abort, abort-task, retry, skip, merge
	Batch     lanes.BatchID `json:"batch"`
	Task      lanes.TaskID  `json:"task,omitempty"`
	Why       string        `json:"why,omitempty"`
	Role      mailbox.Role  `json:"role,omitempty"` // of who sent the message that it comes from
	By        string        `json:"by,omitempty"`   // the same
	RequestID string        `json:"-"`
}

// Done is the answer to a command.
type Done struct {
	Result string         `json:"result"` // what it did, one word: paused, pausing, aborted, pending, skipped, landed …
	Batch  lanes.BatchID  `json:"batch"`
	Task   lanes.TaskID   `json:"task,omitempty"`
	Text   string         `json:"text"`           // the same for people
	Held   []lanes.TaskID `json:"held,omitempty"` // held tasks, which it left as they were
	Commit lanes.Commit   `json:"commit,omitempty"`

	Message lanes.MessageID `json:"message,omitempty"` // the message that it comes from
}

// performAll carries out the commands that other processes asked for.
func (r *runner) performAll(ctx context.Context, requests []lanes.Request) error {
	waiting := 0
	for _, q := range requests {
		var c Command
		err := json.Unmarshal([]byte(q.Args), &c)
		if err != nil {
			return fmt.Errorf("read request %s: %w", q.ID, err)
		}
		done, err := r.perform(ctx, q, c)
		if err != nil {
			return err
		}
		if !done {
			waiting++
		}
	}
	if waiting == len(requests) {
		return r.waitForRequests(ctx)
	}
	return nil
}

// waitForRequests lets the workers go that a command waits for.
func (r *runner) waitForRequests(ctx context.Context) error {
	s, err := r.look(ctx)
	if err != nil {
		return err
	}
	r.adopt(ctx, s)
	if r.halted() == "abort" && r.driving() == 0 {
		return nil
	}
	fire, stop := r.Clock.After(slow)
	defer stop()
	select {
	case <-r.changed:
	case <-fire:
		r.poke()
	case <-ctx.Done():
	}
	return r.show(ctx)
}

// perform carries out one command and records its answer. It reports false when that has to wait for a worker to end.
func (r *runner) perform(ctx context.Context, q lanes.Request, c Command) (bool, error) {
	if c.Batch != r.id {
		return true, r.reply(ctx, q, nil, refuse(ExitBusy, "busy", "ferrox status "+string(r.id), "engine %d owns this repository and runs batch %s, not %s", r.Self.PID, r.id, c.Batch))
	}
	var done Done
	var err error
	r.asked = &q
	switch c.Verb {
	case "pause", "takeover", "unpause":
		done, err = r.phaseCommand(ctx, c)
	case "abort":
		if r.halt("abort"); r.driving() > 0 || r.live(ctx) {
			return false, nil
		}
		done, err = r.abort(ctx, c)
	case "retry":
		done, err = r.retry(ctx, c)
	case verbAbortTask:
		if ready, stop := r.unitQuiet(ctx, c); !ready || stop != nil {
			return stop != nil, r.answerOrWait(ctx, q, stop)
		}
		done, err = r.abortUnit(ctx, c)
	case "skip", "merge":
		if ready, stop := r.quiet(ctx, c); !ready || stop != nil {
			return stop != nil, r.answerOrWait(ctx, q, stop)
		}
		if c.Verb == "skip" {
			done, err = r.skip(ctx, c)
		} else {
			done, err = r.mergeNow(ctx, c)
		}
	default:
		err = refuse(ExitUsage, "usage", "ferrox --help", "an engine cannot %q", c.Verb)
	}
	return true, r.reply(ctx, q, done, err)
}

func (r *runner) answerOrWait(ctx context.Context, q lanes.Request, stop error) error {
	if stop == nil {
		return nil
	}
	return r.reply(ctx, q, nil, stop)
}

// reply records the answer to a request. A refusal is an answer; anything else is the engine's fault and stays pending.
func (r *runner) reply(ctx context.Context, q lanes.Request, done any, err error) error {
	var no *Error
	if q.Done {
		return err // in the transaction of its effect
	}
	if errors.As(err, &no) {
		q.Exit, done = no.Exit, no
	} else if err != nil {
		return err
	}
	body, err := json.Marshal(done)
	if err != nil {
		return err
	}
	q.Done, q.Answer, q.DoneAt = true, string(body), r.Clock.Now()
	return r.commit(ctx, func(tx Tx) error { return tx.PutRequest(ctx, q) })
}

// commitAnswer writes a command's effect and its answer in one transaction: after a crash it is answered, not refused for
// having been carried out.
func (r *runner) commitAnswer(ctx context.Context, done *Done, fn func(Tx) error) error {
	q := *r.asked
	err := r.commit(ctx, func(tx Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		body, err := json.Marshal(done)
		if err != nil {
			return err
		}
		q.Done, q.Answer, q.DoneAt = true, string(body), r.Clock.Now()
		return tx.PutRequest(ctx, q)
	})
	r.asked.Done = err == nil
	return err
}

// live reports whether a worker that no drive watches may be alive; the loop adopts it.
func (r *runner) live(ctx context.Context) bool {
	s, err := r.look(ctx)
	if err != nil {
		return true
	}
	for _, run := range s.active {
		if run.State != lanes.RunExited {
			return true
		}
	}
	return false
}

// phaseCommand pauses, takes over or goes on. None of them completes or removes anything: held lanes stay as they are, and
// are named.
func (r *runner) phaseCommand(ctx context.Context, c Command) (Done, error) {
	done := Done{Batch: r.id}
	if c.Verb == "unpause" && r.alone {
		return done, refuse(ExitBusy, codeEngineGone, "ferrox resume "+string(r.id), "the engine has ended meanwhile")
	}
	err := r.commitAnswer(ctx, &done, func(tx Tx) error {
		b, err := tx.Batch(ctx, r.id)
		if err != nil {
			return err
		}
		if b.Phase.Ended() {
			return refuse(ExitRefused, string(lanes.CodeStateForbids), "ferrox status "+string(r.id), "batch %s is %s", r.id, b.Phase)
		}
		if done.Held, err = heldTasks(ctx, tx, r.id); err != nil {
			return err
		}
		switch c.Verb {
		case "pause":
			done.Result, done.Text = "pausing", "lanes stop at their next safe point"
			b.Pausing, b.Cause, b.Why = true, lanes.CauseOperator, c.Why
			if b.Phase == lanes.PhasePaused { // taken over: nothing starts any more, and live workers end first
				b.Phase = lanes.PhaseRunning
			}
		case "takeover":
			done.Result, done.Text = "taken-over", "nothing starts, lands or is removed until ferrox resume"
			b.Phase, b.Pausing, b.Cause, b.Why = lanes.PhasePaused, false, lanes.CauseTakeover, c.Why
		case "unpause":
			done.Result, done.Text = "un-paused", "the batch goes on"
			if b.Phase == lanes.PhaseRunning && !b.Pausing {
				return refuse(ExitBusy, "busy", "ferrox status", "engine %d is running batch %s", r.Self.PID, r.id)
			}
			b.Phase, b.Pausing, b.Cause, b.Why = lanes.PhaseRunning, false, "", ""
		}
		return errors.Join(second(tx.PutBatch(ctx, b)), r.event(ctx, tx, lanes.Event{
			Batch: r.id, Type: "engine", Name: done.Result, Text: firstLine(c.Why),
		}))
	})
	return done, err
}

func heldTasks(ctx context.Context, rd Reader, b lanes.BatchID) (held []lanes.TaskID, err error) {
	tasks, err := rd.Tasks(ctx, b)
	for _, t := range tasks {
		if t.State == lanes.TaskHeld {
			held = append(held, t.ID)
		}
	}
	return held, err
}

// retry revives a task. Its lane, branch, worktree and holds are kept; nothing lands by it.
func (r *runner) retry(ctx context.Context, c Command) (Done, error) {
	done := Done{Result: "pending", Batch: r.id, Task: c.Task, Text: string(c.Task) + " will be tried again"}
	err := r.commitAnswer(ctx, &done, func(tx Tx) error {
		u, err := r.commandUnit(ctx, tx, c, gates.PathRetry)
		if err != nil {
			return err
		}
		if u.batch.Phase == lanes.PhaseCompleted { // nothing would ever run it
			return refuse(ExitRefused, string(lanes.CodeStateForbids), "ferrox run batch "+u.task.Path, "batch %s is %s", r.id, u.batch.Phase)
		}
		return r.retryTx(ctx, tx, u.task, c.Why)
	})
	return done, err
}

// commandUnit asks the predicate for a command's path and refuses with all its reasons.
func (r *runner) commandUnit(ctx context.Context, tx Tx, c Command, path gates.Path) (unit, error) {
	u, err := unitOf(ctx, tx, r.id, c.Task)
	if errors.Is(err, ErrNotFound) {
		return u, refuse(ExitNotFound, "not-found", "ferrox status", "batch %s has no task %q", r.id, c.Task)
	}
	if err != nil {
		return u, err
	}
	if _, reasons := gates.Complete(gates.Facts{Path: path, Now: r.Clock.Now(), Batch: u.batch, Task: u.task, Lane: u.lane, Holds: u.holds}); len(reasons) > 0 {
		return u, refusal(fmt.Sprintf("%s %s is refused", path, c.Task), reasons)
	}
	return u, nil
}

// refusal is a refusal by the predicate, with every reason.
func refusal(what string, reasons []lanes.Reason) *Error {
	return &Error{Exit: ExitRefused, Code: string(reasons[0].Code), Message: what + ": " + reasons[0].Text, Next: reasons[0].Next, Reasons: reasons}
}

// quiet makes sure that no worker of the task is alive and nobody drives it. It reports false while that takes time, and
// an error when the command is refused whatever happens.
func (r *runner) quiet(ctx context.Context, c Command) (bool, error) {
	path := gates.PathSkip
	if c.Verb == "merge" {
		path = gates.PathPause // asks for the holds only; the landing asks for all
	}
	err := r.Store.View(ctx, func(rd Reader) error {
		u, err := unitOf(ctx, rd, r.id, c.Task)
		if errors.Is(err, ErrNotFound) {
			return refuse(ExitNotFound, "not-found", "ferrox status", "batch %s has no task %q", r.id, c.Task)
		}
		if err != nil {
			return err
		}
		_, reasons := gates.Complete(gates.Facts{Path: path, Now: r.Clock.Now(), Batch: u.batch, Task: u.task, Holds: u.holds})
		if len(reasons) > 0 {
			return refusal(fmt.Sprintf("%s %s is refused", c.Verb, c.Task), reasons)
		}
		if c.Verb == "merge" && u.run != nil && u.run.State != lanes.RunExited {
			return refuse(ExitRefused, string(lanes.CodeWorkerRunning), "ferrox output "+string(c.Task)+" --follow", "a worker is alive in the lane of %s", c.Task)
		}
		if u.run != nil && u.run.State != lanes.RunExited {
			return ErrBusy
		}
		return nil
	})
	if errors.Is(err, ErrBusy) {
		r.sendHome(c.Task, c.Verb)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.drives[c.Task] == nil, nil
}

// sendHome ends the worker of one task.
func (r *runner) sendHome(id lanes.TaskID, why string) {
	r.mu.Lock()
	news := r.ending[id] != why
	r.ending[id] = why
	r.mu.Unlock()
	if news {
		r.poke()
	}
}

// skip gives a task up. Its commits stay on its branch.
func (r *runner) skip(ctx context.Context, c Command) (Done, error) {
	done := Done{Result: "skipped", Batch: r.id, Task: c.Task, Text: string(c.Task) + " is skipped; its lane is kept"}
	last, err := r.unit(ctx, c.Task)
	if err == nil {
		err = r.drain(ctx, last) // what its worker asked by file stands against a skip
	}
	if err != nil {
		return done, err
	}
	err = r.commitAnswer(ctx, &done, func(tx Tx) error {
		u, err := r.commandUnit(ctx, tx, c, gates.PathSkip)
		if err != nil {
			return err
		}
		if err := r.closeRunTx(ctx, tx, u, "", "skipped"); err != nil {
			return err
		}
		if _, err := u.task.State.Fire(lanes.Skip); err != nil {
			return refuse(ExitRefused, string(lanes.CodeStateForbids), "ferrox show "+string(c.Task), "%v", err)
		}
		err = r.endTaskTx(ctx, tx, u.task, lanes.Skip, []lanes.Reason{{
			Code: lanes.CodeSkipped, Ref: string(c.Task), Text: "skipped by the operator: " + firstLine(c.Why), Clears: "operator", Next: "ferrox retry " + string(c.Task),
		}})
		if err != nil {
			return err
		}
		return r.completeTx(ctx, tx)
	})
	return done, err
}

// abort ends the batch: every task that has not landed has failed, and its holds are cancelled, in one transaction. It
// runs only when no worker is alive.
func (r *runner) abort(ctx context.Context, c Command) (Done, error) {
	done := Done{Result: "aborted", Batch: r.id, Text: "every commit and worktree is kept"}
	s, err := r.look(ctx)
	if err == nil {
		err = r.drainAll(ctx, s.active) // a question that was asked by file is cancelled with the others, not lost
	}
	if err != nil {
		return done, err
	}
	err = r.commitAnswer(ctx, &done, func(tx Tx) error {
		b, err := tx.Batch(ctx, r.id)
		if err != nil {
			return err
		}
		if b.Phase == lanes.PhaseAborted || b.Phase == lanes.PhaseCompleted {
			return refuse(ExitRefused, string(lanes.CodeStateForbids), "ferrox status "+string(r.id), "batch %s is %s", r.id, b.Phase)
		}
		b.Phase, b.Cause, b.Pausing, b.Why, b.EndedAt = lanes.PhaseAborted, "", false, c.Why, r.Clock.Now()
		if _, err := tx.PutBatch(ctx, b); err != nil {
			return err
		}
		tasks, err := tx.Tasks(ctx, r.id)
		if err != nil {
			return err
		}
		for _, t := range tasks {
			if err := r.abortTask(ctx, tx, t, c.Why); err != nil {
				return fmt.Errorf("abort %s: %w", t.ID, err)
			}
		}
		return errors.Join(r.closeLanes(ctx, tx), r.event(ctx, tx, lanes.Event{
			Batch: r.id, Type: "engine", Name: "aborted", Text: firstLine(c.Why),
		}))
	})
	return done, err
}

func (r *runner) abortTask(ctx context.Context, tx Tx, t lanes.Task, why string) error {
	u, err := unitOf(ctx, tx, r.id, t.ID)
	if err != nil {
		return err
	}
	for _, h := range u.holds {
		if err := r.cancelHold(ctx, tx, h, why); err != nil {
			return err
		}
	}
	if err := r.closeRunTx(ctx, tx, u, "", "aborted"); err != nil {
		return err
	}
	if t.State == lanes.TaskSucceeded || t.State == lanes.TaskSkipped || t.State == lanes.TaskFailed {
		return nil
	}
	return r.endTaskTx(ctx, tx, t, lanes.Fail, []lanes.Reason{{
		Code: lanes.CodeAborted, Ref: string(r.id), Text: "the batch was aborted: " + firstLine(why), Clears: "operator", Next: "ferrox run batch",
	}})
}

func (r *runner) cancelHold(ctx context.Context, tx Tx, h hold.Record, why string) error {
	if !h.Unresolved() {
		return nil
	}
	next, err := h.CancelFor(why, r.Clock.Now())
	if err != nil {
		return err
	}
	return errors.Join(second(tx.PutHold(ctx, next)), r.event(ctx, tx, lanes.Event{
		Batch: h.Batch, Type: "hold", Task: h.Task, Lane: h.Lane, Ref: string(h.ID), Name: "hold-cancelled", Text: firstLine(why),
	}))
}

// finishAbort is how an engine leaves an aborted batch.
func (r *runner) finishAbort(context.Context) (*Outcome, error) {
	return &Outcome{Batch: r.id, Phase: lanes.PhaseAborted, Exit: ExitFailed}, nil
}
