package engine

import (
	"context"
	"errors"
	"time"

	"ferrox/gates/halting"
	"ferrox/lanes"
)

// slaLeft is how long a person has until the SLA of a hold is breached; long when it has been already.
func (r *runner) slaLeft(h HoldFacts, now time.Time) time.Duration {
	left := time.Duration(r.set.Halting.HumanSLASeconds*float64(time.Second)) - now.Sub(h.OpenedAt)
	if left <= 0 {
		return idle
	}
	return left
}

// breach asks human-sla.check about open holds, beside their deadlines. A breach parks the quiet lane, so that the next
// queued task that does not depend on it gets a fresh one. The hold stays open, and nothing is approved.
func (r *runner) breach(ctx context.Context, s snapshot) (bool, error) {
	now, quiet := r.Clock.Now(), map[lanes.TaskID]bool{}
	for _, l := range s.lanes {
		if l.State == lanes.LaneHeld {
			quiet[l.Task] = true
		}
	}
	for _, h := range s.holds {
		d := halting.CheckHumanSLA(r.set.Halting.HumanSLASeconds, millis(h.OpenedAt), millis(now))
		if !h.Open || !quiet[h.Task] || d.Decision != halting.SLABreached {
			continue
		}
		return true, r.parkBreached(ctx, h, now)
	}
	return false, nil
}

func (r *runner) parkBreached(ctx context.Context, f HoldFacts, now time.Time) error {
	err := r.commit(ctx, func(tx Tx) error {
		h, err := tx.Hold(ctx, f.ID)
		if err != nil || h.State != "open" {
			return err // ruled on in the meantime
		}
		return errors.Join(r.parkLane(ctx, tx, h), r.event(ctx, tx, lanes.Event{
			Batch: r.id, Type: "hold", Task: h.Task, Lane: h.Lane, Ref: string(h.ID), Name: "sla-breached",
			Text: "nobody ruled within the SLA; the lane is parked and the hold stays open until " + stamp(h.Deadline),
		}))
	})
	if err != nil {
		return err
	}
	park, entry := halting.Breach(string(f.Task), millis(now))
	if err := r.Planning.Park(ctx, park); err != nil {
		r.Logger.Warn("write the park record", "error", err)
	}
	r.logEntry(ctx, entry)
	return nil
}
