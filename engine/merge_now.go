package engine

import (
	"context"
	"errors"
	"fmt"

	"ferrox/gates"
	"ferrox/lanes"
	"ferrox/lanes/graph"
)

// mergeNow lands what the predicate allows, at a person's word.
func (r *runner) mergeNow(ctx context.Context, c Command) (Done, error) {
	u, err := r.unit(ctx, c.Task)
	if err != nil {
		return Done{}, err
	}
	if u.task.State == lanes.TaskSucceeded {
		return Done{Result: "landed", Batch: r.id, Task: c.Task, Text: "it has landed before", Commit: u.task.Merge}, nil
	}
	if u.lane.Number == 0 {
		return Done{}, refuse(ExitRefused, string(lanes.CodeClaimMissing), "ferrox status", "%s has not been started", c.Task)
	}
	if err := r.drain(ctx, u); err != nil {
		return Done{}, err
	}
	refused := "merge " + string(c.Task) + " is refused"
	f, _ := r.facts(ctx, gates.PathMerge, u)
	if _, reasons := gates.Complete(f); len(reasons) > 0 {
		return Done{}, refusal(refused, reasons)
	}
	was := u
	if u, err = r.revive(ctx, u); err != nil {
		return Done{}, err
	}
	v, err := r.decideClaim(ctx, gates.PathMerge, u)
	if err != nil {
		return Done{}, errors.Join(err, r.unrevive(ctx, was))
	}
	if !v.landed {
		return Done{}, errors.Join(r.unrevive(ctx, was), refusal(refused, v.reasons))
	}
	if err := r.unblock(ctx); err != nil {
		return Done{}, err
	}
	if u, err = r.unit(ctx, c.Task); err != nil {
		return Done{}, err
	}
	return Done{Result: "landed", Batch: r.id, Task: c.Task, Text: fmt.Sprintf("landed as %s", u.task.Merge.Short()), Commit: u.task.Merge}, nil
}

// revive brings an ended task back to running for one look at its claim.
func (r *runner) revive(ctx context.Context, u unit) (unit, error) {
	if u.task.State == lanes.TaskRunning {
		return u, nil
	}
	err := r.commit(ctx, func(tx Tx) (err error) {
		if u, err = unitOf(ctx, tx, r.id, u.task.ID); err != nil {
			return err
		}
		state := u.task.State
		if state.Ended() {
			if state, err = state.Fire(lanes.Retry); err != nil {
				return refuse(ExitRefused, string(lanes.CodeStateForbids), "ferrox show "+string(u.task.ID), "%v", err)
			}
		}
		if u.task.State, err = state.Fire(lanes.Start); err != nil {
			return refuse(ExitRefused, string(lanes.CodeHoldOpen), "ferrox holds", "%v", err)
		}
		if u.task.Version, err = tx.PutTask(ctx, u.task); err != nil {
			return err
		}
		return r.moveLane(ctx, tx, u.task, lanes.Resume)
	})
	return u, err
}

// unrevive puts a task that did not land at a person's word back to where it was.
func (r *runner) unrevive(ctx context.Context, was unit) error {
	return r.commit(ctx, func(tx Tx) error {
		u, err := unitOf(ctx, tx, r.id, was.task.ID)
		if err != nil || u.task.State != lanes.TaskRunning || u.run != nil {
			return err
		}
		u.task.State, u.task.Reasons, u.task.EndedAt = was.task.State, was.task.Reasons, was.task.EndedAt
		u.lane.State = was.lane.State
		return errors.Join(second(tx.PutTask(ctx, u.task)), second(tx.PutLane(ctx, u.lane)))
	})
}

// unblock revives what waited in vain for a task that has landed now, so that a resume finds it.
func (r *runner) unblock(ctx context.Context) error {
	s, err := r.look(ctx)
	if err != nil {
		return err
	}
	moves := graph.Schedule(graph.Situation{Tasks: s.tasks, Lanes: s.lanes, Limit: s.batch.LaneLimit, Now: r.Clock.Now()})
	if len(moves.Unblock) == 0 {
		return nil
	}
	return r.block(ctx, graph.Moves{Unblock: moves.Unblock})
}
