package engine

import (
	"context"
	"errors"
	"slices"

	"ferrox/lanes"
	"ferrox/lanes/graph"
)

// rest decides what an engine without anything to drive does: wait, park, or end the batch.
func (r *runner) rest(ctx context.Context, s snapshot, moves graph.Moves) (*Outcome, error) {
	if s.partial {
		if !moves.WakeAt.IsZero() || running(s) > waitingClaims(s) || s.slots && !r.opts.NoWait {
			return nil, nil
		}
		all, err := r.look(ctx)
		if err != nil {
			return nil, err
		}
		return r.rest(ctx, all, moves)
	}
	var cause lanes.Cause
	switch open, waiting := r.heldAndParked(s), waitingClaims(s); {
	case !moves.WakeAt.IsZero() || running(s) > waiting:
		return nil, nil // a run is due
	case open.held > 0 && !r.opts.NoWait:
		return nil, nil
	case waiting > 0 && (r.opts.NoWait || movedAway(s)):
		cause = lanes.CauseMergeFailure
	case waiting > 0:
		return nil, nil
	case open.held > 0:
		cause = lanes.CauseHeld
	case open.parked > 0:
		cause = lanes.CauseHoldTimeout
	case len(s.holds) > 0:
		cause = lanes.CauseUnresolved
	default:
		return r.end(ctx, s)
	}
	return r.pause(ctx, cause, s.tasks...)
}

type openCount struct{ held, parked int }

// heldAndParked counts held tasks by whether their lane still has its slot.
func (r *runner) heldAndParked(s snapshot) (n openCount) {
	parked := map[lanes.Number]bool{}
	for _, l := range s.lanes {
		parked[l.Number] = l.State == lanes.LaneParked
	}
	for _, t := range s.tasks {
		switch {
		case t.State != lanes.TaskHeld:
		case parked[t.Lane]:
			n.parked++
		default:
			n.held++
		}
	}
	return n
}

// waitingClaims counts tasks whose claim stands and could not be landed yet.
func waitingClaims(s snapshot) (n int) {
	for _, t := range s.tasks {
		if t.State == lanes.TaskRunning && len(t.Reasons) > 0 && t.Reasons[0].Clears == clearsIntegration {
			n++
		}
	}
	return n
}

func running(s snapshot) (n int) {
	for _, t := range s.tasks {
		if t.State == lanes.TaskRunning {
			n++
		}
	}
	return n
}

// movedAway reports whether a claim waits for an integration branch that was moved in a way that cannot be followed.
func movedAway(s snapshot) bool {
	return slices.ContainsFunc(s.tasks, func(t lanes.Task) bool {
		return t.State == lanes.TaskRunning && slices.ContainsFunc(t.Reasons, func(re lanes.Reason) bool { return re.Code == lanes.CodeIntegrationMoved })
	})
}

// pause parks the batch: everything stays as it is. The tasks that the decision was made on have to be as they were: a
// ruling that was committed since goes on instead, as its author was told.
func (r *runner) pause(ctx context.Context, cause lanes.Cause, seen ...lanes.Task) (*Outcome, error) {
	err := r.commit(ctx, func(tx Tx) error {
		for _, was := range seen {
			if t, err := tx.Task(ctx, r.id, was.ID); err != nil || t.Version != was.Version {
				return errors.Join(err, ErrConflict)
			}
		}
		b, err := tx.Batch(ctx, r.id)
		if err != nil {
			return err
		}
		b.Phase, b.Cause, b.Pausing = lanes.PhasePaused, cause, false
		if _, err := tx.PutBatch(ctx, b); err != nil {
			return err
		}
		return r.event(ctx, tx, lanes.Event{Batch: r.id, Type: "engine", Name: "paused", Ref: string(cause), Text: "parked in good order: " + string(cause)})
	})
	return &Outcome{Batch: r.id, Phase: lanes.PhasePaused, Cause: cause, Exit: ExitParked}, err
}

// end closes a batch in which nothing can happen any more.
func (r *runner) end(ctx context.Context, s snapshot) (*Outcome, error) {
	out := Outcome{Batch: r.id, Phase: lanes.PhaseCompleted, Exit: ExitDone}
	landed, closed := tally(s.tasks)
	if !closed {
		out.Phase, out.Exit = lanes.PhaseFailed, ExitFailed
	}
	err := r.commit(ctx, func(tx Tx) error {
		b, err := tx.Batch(ctx, r.id)
		if err != nil {
			return err
		}
		return r.endTx(ctx, tx, b, out.Phase, landed, len(s.tasks))
	})
	return &out, err
}

func (r *runner) closeLanes(ctx context.Context, tx Tx) error {
	ls, err := tx.Lanes(ctx, r.id)
	if err != nil {
		return err
	}
	for _, l := range ls {
		if l.State != lanes.LaneIdle {
			continue
		}
		if l.State, err = l.State.Fire(lanes.Close); err != nil {
			return err
		}
		if _, err := tx.PutLane(ctx, l); err != nil {
			return err
		}
	}
	return nil
}
