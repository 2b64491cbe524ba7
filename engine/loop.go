package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ferrox/lanes"
)

// loop is the scheduler: look, decide, start what may start, wait for a reason to look again.
func (r *runner) loop(ctx context.Context) (Outcome, error) {
	ctx, leave := context.WithCancel(ctx)
	defer r.settle(leave)
	if err := r.recover(ctx); err != nil {
		return Outcome{}, fmt.Errorf("recover batch %s: %w", r.id, err)
	}
	signal := r.opts.Signal
	for {
		version, err := r.Store.DataVersion(ctx)
		if err != nil && ctx.Err() == nil {
			return Outcome{}, err
		}
		out, wake, err := r.step(ctx)
		if ctx.Err() != nil && out == nil {
			return Outcome{Batch: r.id, Phase: lanes.PhaseRunning, Exit: ExitParked}, nil // told a second time: as it is
		}
		if errors.Is(err, ErrConflict) {
			continue // somebody else committed in between: look again
		}
		if err != nil || out != nil {
			return deref(out), errors.Join(err, r.show(ctx))
		}
		if r.rests(ctx, version, wake, signal) {
			signal = nil
			r.halt("park")
		}
		if ctx.Err() != nil {
			return Outcome{Batch: r.id, Phase: lanes.PhaseRunning, Exit: ExitParked}, nil
		}
	}
}

// idle is how long an engine that nothing is due for goes without looking at its records.
const idle = time.Hour

// rests waits until there is a reason to look: something changed, something is due by the wall clock, a signal came (then it
// reports true). In between it looks every now and then only whether anybody has committed, so that waiting costs nothing
// and lost events delay nothing for longer than that.
func (r *runner) rests(ctx context.Context, version int64, wake time.Duration, signal <-chan struct{}) bool {
	due := r.Clock.Now().Add(wake)
	for {
		fire, stop := r.Clock.After(min(slow, max(due.Sub(r.Clock.Now()), time.Millisecond)))
		select {
		case <-r.changed:
			stop()
			return false
		case <-r.noted:
			stop()
			if r.show(ctx) != nil {
				return false // the look meets it again
			}
			continue
		case <-signal:
			stop()
			return true
		case <-ctx.Done():
			stop()
			return false
		case <-fire:
		}
		r.pokeDrives()
		r.buryOrphans()
		now, err := r.Store.DataVersion(ctx)
		if err != nil || now != version || !r.Clock.Now().Before(due) {
			return false
		}
	}
}

// buryOrphans reaps what fell to this process, now and then.
func (r *runner) buryOrphans() {
	if now := r.Clock.Monotonic(); r.buried == 0 || now-r.buried > 30*time.Second {
		r.buried = now
		if _, err := r.Workers.ReapOrphans(); err != nil {
			r.Logger.Debug("bury orphans", "error", err)
		}
	}
}

func deref(o *Outcome) Outcome {
	if o == nil {
		return Outcome{}
	}
	return *o
}

// halt sends every worker home: "park" keeps all as it is, "abort" ends the batch.
func (r *runner) halt(why string) {
	r.mu.Lock()
	before := r.stop
	if r.stop != "abort" {
		r.stop = why
	}
	news := r.stop != before
	r.mu.Unlock()
	if news { // said again while workers end, it would wake the loop that says it
		r.poke()
	}
}

func (r *runner) halted() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stop
}

// show hands every new event of the batch to whoever watches, after its commit.
func (r *runner) show(ctx context.Context) error {
	if r.OnEvent == nil {
		return nil
	}
	var events []lanes.Event
	err := r.Store.View(ctx, func(rd Reader) (err error) {
		events, err = rd.Events(ctx, EventFilter{Batch: r.id, After: r.seen})
		return err
	})
	for _, ev := range events {
		r.seen = ev.Seq
		r.OnEvent(ev)
	}
	return err
}
