package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ferrox/lanes"
)

// adopt drives tasks whose worker may be alive, whatever the state of the task: held ones have to fall quiet too.
func (r *runner) adopt(ctx context.Context, s snapshot) {
	for _, run := range s.active {
		if !r.waits(s, run.Task) && (run.State != lanes.RunExited || r.mayJudge(s.batch)) {
			r.start(ctx, run.Task, run.Lane)
		}
	}
}

// waits reports whether a task's claim is to be looked at again only later.
func (r *runner) waits(s snapshot, id lanes.TaskID) bool {
	i := slices.IndexFunc(s.tasks, func(t lanes.Task) bool { return t.ID == id })
	return i >= 0 && !r.due(s.tasks[i], r.Clock.Now())
}

// due reports whether a task's back-off is over, or was written by a clock that has been set back since.
func (r *runner) due(t lanes.Task, now time.Time) bool {
	return t.Due(now, max(slow, r.set.Runner.Backoff.Initial, r.set.Runner.Backoff.Max))
}

// start drives a task, unless it is being driven.
func (r *runner) start(ctx context.Context, id lanes.TaskID, lane lanes.Number) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.drives[id] != nil {
		return
	}
	d := &drive{task: id, wake: make(chan struct{}, 1)}
	r.drives[id] = d
	go func() { r.finished(ctx, d, r.drive(ctx, d, lane)) }()
}

// finished takes a drive off the list. A lane that broke strands nobody else.
func (r *runner) finished(ctx context.Context, d *drive, err error) {
	if err != nil && !fatal(err) && ctx.Err() == nil && !errors.Is(err, ErrConflict) {
		err = r.giveUp(ctx, d.task, err)
	}
	if errors.Is(err, ErrConflict) {
		err = nil // the record moved on under the drive: whoever moved it decides what follows
	}
	r.mu.Lock()
	if err != nil && ctx.Err() == nil && r.fault == nil {
		r.fault = fmt.Errorf("task %s: %w", d.task, err)
	}
	delete(r.drives, d.task)
	delete(r.ending, d.task)
	r.mu.Unlock()
	nudge(r.changed)
}

func (r *runner) driving() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.drives)
}

func (r *runner) faulted() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fault
}

// settle lets go of the drives: whoever waits for a worker leaves at once, whoever is in the middle of something has a moment
// to end. What does not end in time is found again by recovery.
func (r *runner) settle(leave context.CancelFunc) {
	leave()
	fire, stop := r.Clock.After(deadline)
	defer stop()
	for r.driving() > 0 {
		select {
		case <-r.changed:
		case <-fire:
			return
		}
	}
}
