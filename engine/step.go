package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"ferrox/gates/coord"
	"ferrox/lanes"
	"ferrox/lanes/graph"
)

// step does everything that can be done now. It returns an outcome when the engine is finished, else how long nothing
// needs a look.
func (r *runner) step(ctx context.Context) (*Outcome, time.Duration, error) {
	s, err := r.glance(ctx)
	if err != nil {
		return nil, 0, err
	}
	if err := errors.Join(r.show(ctx), r.faulted()); err != nil {
		return nil, 0, err
	}
	if len(s.requests) > 0 {
		return nil, 0, r.performAll(ctx, s.requests)
	}
	if r.halted() != "" {
		return r.stepHalted(ctx, s)
	}
	if expired, err := r.expire(ctx, s); expired || err != nil {
		return nil, 0, err
	}
	if breached, err := r.breach(ctx, s); breached || err != nil {
		return nil, 0, err
	}
	if held, err := r.rehold(ctx, s); held || err != nil {
		return nil, 0, err
	}
	r.adopt(ctx, s)
	switch {
	case s.batch.Phase == lanes.PhasePaused:
		return nil, idle, nil // taken over: workers go on, nothing else does
	case s.batch.Pausing && r.driving() == 0:
		out, err := r.pause(ctx, s.batch.Cause)
		return out, 0, err
	case s.batch.Pausing:
		return nil, slow, nil
	}
	return r.stepRunning(ctx, s)
}

func (r *runner) stepHalted(ctx context.Context, s snapshot) (*Outcome, time.Duration, error) {
	if r.driving() > 0 {
		return nil, slow, nil
	}
	if r.halted() == "abort" {
		out, err := r.finishAbort(ctx)
		return out, 0, err
	}
	cause := lanes.CauseSignal
	if s.batch.Cause != lanes.CauseNone {
		cause = s.batch.Cause // a person's pause or takeover: a signal is weaker
	}
	out, err := r.pause(ctx, cause)
	return out, 0, err
}

func (r *runner) stepRunning(ctx context.Context, s snapshot) (*Outcome, time.Duration, error) {
	now := r.Clock.Now()
	for i, t := range s.tasks {
		if r.due(t, now) {
			s.tasks[i].RetryAt = time.Time{}
		}
	}
	moves := graph.Schedule(graph.Situation{Tasks: s.tasks, Lanes: s.lanes, Limit: s.batch.LaneLimit, Seams: r.seams(), Now: now})
	if len(moves.Block)+len(moves.Unblock) > 0 {
		return nil, 0, r.block(ctx, moves)
	}
	for _, p := range moves.Start {
		r.start(ctx, p.Task, p.Lane)
	}
	wake := r.goOn(ctx, s, now)
	if !moves.WakeAt.IsZero() {
		wake = min(wake, moves.WakeAt.Sub(now))
	}
	acted, tick, err := r.shipClock(ctx, s)
	if acted || err != nil {
		return nil, 0, err
	}
	wake = min(wake, tick)
	for _, h := range s.holds {
		if h.Open && !h.Expired {
			wake = min(wake, h.Deadline.Sub(now), r.slaLeft(h, now))
		}
	}
	if r.driving() > 0 {
		return nil, max(wake, time.Millisecond), nil
	}
	out, err := r.rest(ctx, s, moves)
	return out, max(wake, time.Millisecond), err
}

// seams is the registry of hot seams that coord.hot-seam-check knows.
func (r *runner) seams() []string {
	registry := coord.RegistryOf(r.set.Coordination).OrDefault()
	return slices.Concat(registry.Seams, registry.SoleWriter)
}

// goOn drives running tasks that nobody drives: their next run is due, or their claim waits to be judged again.
func (r *runner) goOn(ctx context.Context, s snapshot, now time.Time) time.Duration {
	wake := idle
	for _, t := range s.tasks {
		if t.State != lanes.TaskRunning {
			continue
		}
		if !r.due(t, now) {
			wake = min(wake, t.RetryAt.Sub(now))
			continue
		}
		r.start(ctx, t.ID, t.Lane)
	}
	return wake
}

// block marks tasks that can never start as things stand, and revives those that can again.
func (r *runner) block(ctx context.Context, moves graph.Moves) error {
	return r.commit(ctx, func(tx Tx) error {
		for _, b := range moves.Block {
			if err := r.moveTask(ctx, tx, b.Task, lanes.Block, b.Reasons, "task-blocked", b.Reasons[0].Text); err != nil {
				return err
			}
		}
		for _, id := range moves.Unblock {
			if err := r.moveTask(ctx, tx, id, lanes.Unblock, nil, "task-unblocked", "what it depends on was revived"); err != nil {
				return err
			}
		}
		return nil
	})
}

// moveTask moves one task through its machine, with an event.
func (r *runner) moveTask(ctx context.Context, tx Tx, id lanes.TaskID, in lanes.Input, why []lanes.Reason, name, text string) error {
	t, err := tx.Task(ctx, r.id, id)
	if err != nil {
		return err
	}
	if t.State, err = t.State.Fire(in); err != nil {
		return err
	}
	t.Reasons = why
	if t.State.Ended() {
		t.EndedAt = r.Clock.Now()
	}
	if _, err := tx.PutTask(ctx, t); err != nil {
		return err
	}
	return r.event(ctx, tx, lanes.Event{Batch: r.id, Type: "task", Task: id, Lane: t.Lane, Name: name, Text: text})
}
