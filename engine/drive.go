package engine

import (
	"context"
	"errors"
	"fmt"

	"ferrox/hold"
	"ferrox/lanes"
)

// unit is one task with everything around it, from one snapshot.
type unit struct {
	batch lanes.Batch
	task  lanes.Task
	lane  lanes.Lane // zero until the task is bound to one
	run   *lanes.Run // the newest run that is not judged; nil for none
	last  *lanes.Run // the newest run, judged or not
	runs  int        // runs that the task ever had
	holds []hold.Record
}

func (r *runner) unit(ctx context.Context, id lanes.TaskID) (u unit, err error) {
	err = r.Store.View(ctx, func(rd Reader) error {
		u, err = unitOf(ctx, rd, r.id, id)
		return err
	})
	return u, err
}

func unitOf(ctx context.Context, rd Reader, batch lanes.BatchID, id lanes.TaskID) (u unit, err error) {
	var errs [4]error
	u.batch, errs[0] = rd.Batch(ctx, batch)
	u.task, errs[1] = rd.Task(ctx, batch, id)
	u.holds, errs[2] = rd.Holds(ctx, HoldFilter{Batch: batch, Task: id})
	runs, err := rd.Runs(ctx, RunFilter{Batch: batch, Task: id})
	errs[3] = err
	if err := errors.Join(errs[:]...); err != nil {
		return u, err
	}
	u.runs = len(runs)
	if n := len(runs); n > 0 {
		u.last = &runs[n-1]
		if u.last.State != lanes.RunJudged {
			u.run = u.last
		}
	}
	if u.task.Lane != 0 {
		u.lane, err = rd.Lane(ctx, batch, u.task.Lane)
	}
	return u, err
}

// drive takes a task from where it stands to where nothing more can be done for it now. Every step reads the records
// anew, decides, commits, and only then acts; after a crash the next engine enters at the same step.
func (r *runner) drive(ctx context.Context, d *drive, lane lanes.Number) error {
	for ctx.Err() == nil {
		u, err := r.unit(ctx, d.task)
		if err != nil {
			return err
		}
		more, err := r.advance(ctx, d, u, lane)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// advance does the next step of a task. It reports whether there is one more.
func (r *runner) advance(ctx context.Context, d *drive, u unit, lane lanes.Number) (bool, error) {
	switch {
	case u.run != nil && u.run.State == lanes.RunStarting && !r.mayJudge(u.batch):
		return r.neverStarted(ctx, u) // going home, or taken over: nothing is spawned
	case u.run != nil && u.run.State == lanes.RunStarting:
		return true, r.launch(ctx, u)
	case u.run != nil && u.run.State == lanes.RunRunning:
		return r.await(ctx, d, u)
	case u.run != nil && !r.mayJudge(u.batch):
		return false, nil
	case u.run != nil:
		return r.judge(ctx, u)
	case r.mayStart(u):
		return true, r.begin(ctx, u, lane)
	}
	return false, nil
}

// neverStarted closes a run whose spawn is still owed when the workers go home. An engine that was killed may have left a
// shim on its way that nobody has heard of: it is kept out first. One that came up after all is found and ended like any
// other.
func (r *runner) neverStarted(ctx context.Context, u unit) (bool, error) {
	if _, found := r.Workers.Find(u.run.Dir); found {
		return true, r.launch(ctx, u)
	}
	barred, err := r.Workers.Bar(u.run.Dir, r.laneLock(r.id, u.run.Lane))
	if err != nil {
		return false, fmt.Errorf("close run %s of %s: %w", u.run.ID, u.task.ID, err)
	}
	if !barred {
		return true, r.pauseForShim(ctx)
	}
	return false, r.closeUnstarted(ctx, u)
}

// closeUnstarted closes a run that no shim can start any more.
func (r *runner) closeUnstarted(ctx context.Context, u unit) error {
	return r.closeRun(ctx, u, "never started", func(tx Tx) error {
		return tx.SettleEffect(ctx, "spawn/"+string(u.run.ID), lanes.EffectAbandoned, "the engine stopped first", r.Clock.Now())
	})
}

// pauseForShim lets a shim that has just taken the lane write itself down.
func (r *runner) pauseForShim(ctx context.Context) error {
	fire, stop := r.Clock.After(answerPoll)
	defer stop()
	select {
	case <-fire:
	case <-ctx.Done():
	}
	return nil
}

// mayStart reports whether a run may be decided on.
func (r *runner) mayStart(u unit) bool {
	ready := u.task.State == lanes.TaskPending || u.task.State == lanes.TaskRunning
	if open, _, _ := heldOpen(u.holds); open {
		return false // let go by hand: the loop holds it again
	}
	running := u.batch.Phase == lanes.PhaseRunning && !u.batch.Pausing
	return ready && running && r.halted() == "" && r.endingWhy(u.task.ID) == "" && r.due(u.task, r.Clock.Now())
}

// mayJudge reports whether claims may be decided on: not while taken over, parking or aborting.
func (r *runner) mayJudge(b lanes.Batch) bool {
	return b.Phase == lanes.PhaseRunning && r.halted() == ""
}

func (r *runner) endingWhy(id lanes.TaskID) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ending[id]
}

// giveUp stalls a task whose lane broke. Its worktree, branch and records stay.
func (r *runner) giveUp(ctx context.Context, id lanes.TaskID, cause error) error {
	r.Logger.Error("lane broke", "task", id, "error", cause)
	reason := lanes.Reason{
		Code: lanes.CodeFactUnreadable, Ref: string(id), Clears: "operator", Next: retryAfter(id, cause), Text: cause.Error(),
	}
	return r.commit(ctx, func(tx Tx) error {
		u, err := unitOf(ctx, tx, r.id, id)
		if err != nil {
			return err
		}
		if err := r.closeBroken(ctx, tx, u); err != nil {
			return err
		}
		t := u.task
		t.RetryAt = r.Clock.Now().Add(slow) // what cannot be closed is looked at again, and not in a hot loop
		next, refused := t.State.Fire(lanes.Stall)
		if refused != nil {
			return second(tx.PutTask(ctx, t)) // held or ended: that stands
		}
		t.State, t.Reasons, t.EndedAt = next, []lanes.Reason{reason}, r.Clock.Now()
		if _, err := tx.PutTask(ctx, t); err != nil {
			return err
		}
		if err := r.keepLane(ctx, tx, t); err != nil {
			return err
		}
		return r.event(ctx, tx, lanes.Event{Batch: r.id, Type: "task", Task: id, Lane: t.Lane, Name: "task-stalled", Text: cause.Error()})
	})
}

// closeBroken closes the open run of a lane that broke, unless its worker may be alive: nobody could judge it.
func (r *runner) closeBroken(ctx context.Context, tx Tx, u unit) error {
	if u.run == nil || u.run.State == lanes.RunRunning {
		return nil
	}
	if u.run.State == lanes.RunStarting {
		if barred, err := r.Workers.Bar(u.run.Dir, r.laneLock(r.id, u.run.Lane)); err != nil || !barred {
			r.Logger.Warn("leave the run of a broken lane open", "run", u.run.ID, "error", err)
			return nil
		}
		err := tx.SettleEffect(ctx, "spawn/"+string(u.run.ID), lanes.EffectAbandoned, "the lane broke", r.Clock.Now())
		if err != nil {
			return err
		}
	}
	if err := r.closeRunTx(ctx, tx, u, "", "the lane broke"); err != nil {
		return err
	}
	if u.task.State == lanes.TaskHeld && u.lane.State == lanes.LaneRunning {
		return r.restLane(ctx, tx, u.task)
	}
	return nil
}

// keepLane closes a lane to other tasks: its task ended without landing.
func (r *runner) keepLane(ctx context.Context, tx Tx, t lanes.Task) error {
	return r.moveLane(ctx, tx, t, lanes.Keep)
}

// moveLane moves a task's own lane through its machine. A task without a lane, or whose lane has gone to another task,
// has nothing to move.
func (r *runner) moveLane(ctx context.Context, tx Tx, t lanes.Task, in lanes.Input) error {
	if t.Lane == 0 {
		return nil
	}
	l, err := tx.Lane(ctx, t.Batch, t.Lane)
	if err != nil || l.Task != t.ID {
		return err
	}
	if l.State, err = l.State.Fire(in); err != nil {
		return fmt.Errorf("lane %d: %w", l.Number, err)
	}
	if in == lanes.Free {
		l.Task = ""
	}
	return second(tx.PutLane(ctx, l))
}
