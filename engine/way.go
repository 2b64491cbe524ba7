package engine

import (
	"context"
	"errors"

	"ferrox/lanes"
)

// Way says how a message gets to the work. It is decided in the transaction that stores the message; how far it got since is
// the delivery state of its hold.
type Way string

// The ways of a message.
const (
	WayLive         Way = "live"         // a worker is alive: it is put into the worker's inbox at once
	WayNextStart    Way = "next-start"   // an engine runs: it stands in the prompt of the next worker
	WayWhenRuled    Way = "when-ruled"   // other holds are open: the next worker starts when they are ruled
	WayOnRetry      Way = "on-retry"     // the task is stalled or blocked: the next worker starts when that is cleared
	WayOnResume     Way = "on-resume"    // no engine runs the batch: the next worker starts when it is resumed
	WayAcknowledged Way = "acknowledged" // the worker has said that it has it
)

// way says how something for a unit gets to its worker. owned is whether an engine owned the repository before the
// transaction began.
func (e *Engine) way(ctx context.Context, r Reader, b lanes.Batch, t lanes.Task, owned bool) (Way, error) {
	live, err := e.liveRun(ctx, r, t)
	if err != nil || live {
		return WayLive, err
	}
	if t.State == lanes.TaskStalled || t.State == lanes.TaskBlocked {
		return WayOnRetry, nil
	}
	open, err := openHolds(ctx, r, t.Batch, t.ID)
	if err != nil || len(open) > 0 {
		return WayWhenRuled, err
	}
	l, err := r.Lease(ctx)
	if errors.Is(err, ErrNotFound) {
		return WayOnResume, nil
	}
	if err == nil && owned && l.EndedAt.IsZero() && l.Batch == b.ID && b.Phase == lanes.PhaseRunning && !b.Pausing {
		return WayNextStart, nil
	}
	return WayOnResume, err
}

// liveRun reports whether the shim of a unit's worker is alive, so that something can be handed to it now.
func (e *Engine) liveRun(ctx context.Context, r Reader, t lanes.Task) (bool, error) {
	runs, err := activeRuns(ctx, r, t.Batch, t.ID)
	for _, run := range runs {
		for _, id := range e.shimOf(run) {
			if e.Workers.Alive(id) {
				return true, err
			}
		}
	}
	return false, err
}
