package engine

import (
	"context"
	"errors"

	"ferrox/lanes"
)

// rehold holds tasks again that were let go without a proven ruling. In good order a task with an open hold is held or has
// ended; one that is not was moved by a row put in by hand.
func (r *runner) rehold(ctx context.Context, s snapshot) (bool, error) {
	loose := map[lanes.TaskID]bool{}
	for _, t := range s.tasks {
		loose[t.ID] = t.State == lanes.TaskPending || t.State == lanes.TaskRunning
	}
	for _, h := range s.holds {
		if h.Open && loose[h.Task] {
			return true, r.reholdOne(ctx, h.ID)
		}
	}
	return false, nil
}

func (r *runner) reholdOne(ctx context.Context, id lanes.HoldID) error {
	return r.commit(ctx, func(tx Tx) error {
		h, err := tx.Hold(ctx, id)
		if err != nil || h.State != "open" {
			return err
		}
		t, err := tx.Task(ctx, r.id, h.Task)
		if err != nil || t.State != lanes.TaskPending && t.State != lanes.TaskRunning {
			return err
		}
		if t.State, err = t.State.Fire(lanes.Hold); err != nil {
			return err
		}
		alive, err := activeRuns(ctx, tx, r.id, t.ID)
		if err != nil {
			return err
		}
		if _, err := tx.PutTask(ctx, t); err != nil {
			return err
		}
		if len(alive) == 0 {
			err = r.reholdLane(ctx, tx, t)
		}
		text := "held again on " + aboutHold(h)
		if h.Unproven != "" {
			text += ": " + h.Unproven
		}
		return errors.Join(err, r.event(ctx, tx, lanes.Event{
			Batch: r.id, Type: "hold", Task: t.ID, Lane: h.Lane, Ref: string(id), Name: "task-held-again", Text: text,
		}))
	})
}

// reholdLane gives a lane that was resumed its rest. One that is held or parked has it.
func (r *runner) reholdLane(ctx context.Context, tx Tx, t lanes.Task) error {
	if t.Lane == 0 {
		return nil
	}
	l, err := tx.Lane(ctx, r.id, t.Lane)
	if err != nil || l.Task != t.ID || l.State != lanes.LaneRunning {
		return err
	}
	return r.restLane(ctx, tx, t)
}
