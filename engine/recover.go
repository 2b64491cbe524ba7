package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"ferrox/gates"
	"ferrox/lanes"
)

// recover settles what an earlier engine left half-done, before anything is started or decided: questions left in spools
// first, then effects, by looking at what they did. Live workers are adopted by the loop.
func (r *runner) recover(ctx context.Context) error {
	if err := r.settleAll(ctx); err != nil {
		return err
	}
	return r.reopen(ctx)
}

// settleAll is the part of recovery that starts nothing: also a command without an engine does it first.
func (r *runner) settleAll(ctx context.Context) error {
	if err := r.seeEvents(ctx); err != nil {
		return err
	}
	s, err := r.glance(ctx)
	if err != nil {
		return err
	}
	if err := r.ensureIntegration(ctx, s.batch); err != nil {
		return err
	}
	if err := r.drainAll(ctx, s.active); err != nil {
		return err
	}
	return r.settleEffects(ctx)
}

// drainAll takes over what workers left in their spools.
func (r *runner) drainAll(ctx context.Context, active []lanes.Run) error {
	for _, run := range active {
		u, err := r.unit(ctx, run.Task)
		if err == nil {
			err = r.drain(ctx, u)
		}
		if err = r.strandNone(ctx, run.Task, err); err != nil {
			return fmt.Errorf("task %s: %w", run.Task, err)
		}
	}
	return nil
}

// strandNone gives a task up whose lane broke, so that the rest of the batch recovers.
func (r *runner) strandNone(ctx context.Context, id lanes.TaskID, err error) error {
	if err == nil || fatal(err) || ctx.Err() != nil {
		return err
	}
	return r.giveUp(ctx, id, err)
}

// seeEvents starts the live log at what happens from now on.
func (r *runner) seeEvents(ctx context.Context) error {
	return r.Store.View(ctx, func(rd Reader) error {
		last, err := rd.Events(ctx, EventFilter{Batch: r.id, Limit: 1})
		if len(last) > 0 && r.seen == 0 {
			r.seen = last[0].Seq
		}
		return err
	})
}

// ensureIntegration makes the integration branch of a batch whose start was cut short. A branch that was lost later, with
// work that landed, is never made anew: the predicate names it.
func (r *runner) ensureIntegration(ctx context.Context, b lanes.Batch) error {
	info, err := r.Git.Branch(ctx, b.Integration)
	if err != nil || info.Head != "" {
		return err
	}
	landed := false
	err = r.Store.View(ctx, func(rd Reader) error {
		tasks, err := rd.Tasks(ctx, r.id)
		for _, t := range tasks {
			landed = landed || t.Merge != ""
		}
		return err
	})
	if err != nil || landed {
		return err
	}
	return r.Git.CreateBranch(ctx, b.Integration, b.Head)
}

func (r *runner) settleEffects(ctx context.Context) error {
	var pending []lanes.Effect
	err := r.Store.View(ctx, func(rd Reader) (err error) {
		pending, err = rd.Effects(ctx, r.id, true)
		return err
	})
	if err != nil {
		return err
	}
	for _, e := range pending {
		if err := r.strandNone(ctx, e.Task, r.settleEffect(ctx, e)); err != nil {
			return fmt.Errorf("settle %s: %w", e.Key, err)
		}
	}
	return nil
}

func (r *runner) settleEffect(ctx context.Context, e lanes.Effect) error {
	switch e.Kind {
	case lanes.EffectLand:
		return r.settleLanding(ctx, e)
	case lanes.EffectSetAside:
		var i setAsideIntent
		if err := json.Unmarshal([]byte(e.Payload), &i); err != nil {
			return err
		}
		return r.setAside(ctx, lanes.RunID(e.Key[len("set-aside/"):]), i)
	case lanes.EffectBacklog:
		return r.fileBacklog(ctx, e.Key)
	case lanes.EffectSpawn, lanes.EffectWorktree, lanes.EffectRemove, lanes.EffectMail:
		return nil // repeated by the step that owes it
	}
	return fmt.Errorf("no rule says how to settle a %q", e.Kind)
}

// settleLanding looks at the ref to know which side of the crash it is on. A merge that is not in the branch never
// happened, and its claim is judged again. One that is in the branch was moved there by a permit: the landing is recorded
// if the predicate, asked again about all but the branch's position, still agrees; otherwise a person has to look.
func (r *runner) settleLanding(ctx context.Context, e lanes.Effect) error {
	var i landIntent
	if err := json.Unmarshal([]byte(e.Payload), &i); err != nil {
		return err
	}
	u, err := r.unit(ctx, e.Task)
	if err != nil {
		return err
	}
	info, err := r.Git.Branch(ctx, u.batch.Integration)
	if err != nil {
		return err
	}
	inBranch := false
	if info.Head != "" {
		if inBranch, err = r.Git.IsAncestor(ctx, i.New, info.Head); err != nil && !errors.Is(err, ErrNoSuchRevision) {
			return err
		}
	}
	if !inBranch {
		return r.commit(ctx, func(tx Tx) error {
			return tx.SettleEffect(ctx, e.Key, lanes.EffectAbandoned, "the branch does not have it", r.Clock.Now())
		})
	}
	return r.recordLanding(ctx, u, e.Key, i, info)
}

// recordLanding records a merge that reached the branch before the crash.
func (r *runner) recordLanding(ctx context.Context, u unit, key string, i landIntent, info BranchInfo) error {
	f := gates.Facts{
		Path: gates.PathRecorded, Now: r.Clock.Now(), Batch: u.batch, Task: u.task, Lane: u.lane, Holds: u.holds,
		Tree: gates.Tree{Branch: u.lane.Branch, Head: i.Lane, Landed: true}, Integration: gates.Integration{Head: info.Head, Followable: true},
	}
	permit, reasons := gates.Complete(f)
	if len(reasons) > 0 {
		return fmt.Errorf("merge %s of %s is in %s, but %s: %s", i.New.Short(), u.task.ID, u.batch.Integration, reasons[0].Code, reasons[0].Text)
	}
	changed, err := r.Git.Changed(ctx, i.Old, i.Lane)
	if err != nil {
		return err
	}
	empty := true
	for _, c := range changed {
		empty = empty && u.ownRecord(c.Path)
	}
	if i.coverage, err = r.coverageOf(ctx, i); err != nil {
		return err
	}
	i.commits = r.commitsOf(ctx, u, i.Lane)
	return r.commit(ctx, func(tx Tx) error { return r.landTx(ctx, tx, permit, key, i, empty) })
}

// reopen marks the batch as running again.
func (r *runner) reopen(ctx context.Context) error {
	return r.commit(ctx, func(tx Tx) error {
		b, err := tx.Batch(ctx, r.id)
		if err != nil {
			return err
		}
		was, before := b.Phase, b
		b.Phase, b.Cause, b.Pausing, b.Why, b.EndedAt = lanes.PhaseRunning, "", false, "", time.Time{}
		if b != before {
			if _, err := tx.PutBatch(ctx, b); err != nil {
				return err
			}
		}
		if err := r.judgeAtOnce(ctx, tx); err != nil {
			return err
		}
		return r.event(ctx, tx, lanes.Event{
			Batch: r.id, Type: "engine", Name: "started", Ref: fmt.Sprint(r.lease.Fence), Text: fmt.Sprintf("engine %d, batch was %s", r.Self.PID, was),
		})
	})
}

// judgeAtOnce forgets what an earlier engine found in the way of claims that wait for the integration branch.
func (r *runner) judgeAtOnce(ctx context.Context, tx Tx) error {
	tasks, err := tx.TasksIn(ctx, r.id, lanes.TaskRunning)
	if err != nil {
		return err
	}
	for _, t := range tasks {
		if len(t.Reasons) == 0 || t.Reasons[0].Clears != clearsIntegration {
			continue
		}
		t.Reasons, t.RetryAt = nil, time.Time{}
		if _, err := tx.PutTask(ctx, t); err != nil {
			return err
		}
	}
	return nil
}
