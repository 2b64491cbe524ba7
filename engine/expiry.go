package engine

import (
	"context"
	"time"

	"ferrox/hold"
	"ferrox/lanes"
)

// expire marks holds whose deadline has passed and parks their lanes. The hold is read again in the transaction: a ruling
// that is in the store by then wins.
func (r *runner) expire(ctx context.Context, s snapshot) (bool, error) {
	now, any := r.Clock.Now(), false
	for _, h := range s.holds {
		if !h.Open || h.Expired || now.Before(h.Deadline) {
			continue
		}
		any = true
		if err := r.expireOne(ctx, h.ID, now); err != nil {
			return any, err
		}
	}
	return any, nil
}

func (r *runner) expireOne(ctx context.Context, id lanes.HoldID, now time.Time) error {
	return r.commit(ctx, func(tx Tx) error {
		h, err := tx.Hold(ctx, id)
		if err != nil {
			return err
		}
		next, expired := h.Expire(now)
		if !expired {
			return nil
		}
		if _, err := tx.PutHold(ctx, next); err != nil {
			return err
		}
		if err := r.parkLane(ctx, tx, next); err != nil {
			return err
		}
		return r.event(ctx, tx, lanes.Event{
			Batch: r.id, Type: "hold", Task: h.Task, Lane: h.Lane, Ref: string(id), Name: "hold-expired",
			Text: "no ruling by " + stamp(h.Deadline) + "; the lane is parked and nothing is approved",
		})
	})
}

// parkLane gives the slot of a quiet held lane back. A lane whose worker is alive parks when it has ended.
func (r *runner) parkLane(ctx context.Context, tx Tx, h hold.Record) error {
	l, err := tx.Lane(ctx, h.Batch, h.Lane)
	if err != nil || l.Task != h.Task || l.State != lanes.LaneHeld {
		return err
	}
	if l.State, err = l.State.Fire(lanes.Park); err != nil {
		return err
	}
	return second(tx.PutLane(ctx, l))
}
