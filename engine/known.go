package engine

import (
	"context"
	"errors"
	"slices"

	"ferrox/lanes"
)

// Known is what the store says about a process, its ancestors and the token that it carries.
type Known struct {
	engine      lanes.Identity
	shims       []lanes.Identity
	supervisors []lanes.Identity
	token       bool
}

// Known reads what decides who somebody is: of the shims, those that a line of ancestors can pass through.
func (e *Engine) Known(ctx context.Context, line []lanes.Identity, token string) (k Known, err error) {
	err = e.Store.View(ctx, func(r Reader) error {
		l, err := r.Lease(ctx)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		k.engine = l.Owner
		runs, err := runsAbove(ctx, r, line)
		if err != nil {
			return err
		}
		for _, run := range runs {
			k.shims = append(k.shims, e.shimOf(run)...)
		}
		if k.token, err = liveToken(ctx, r, token); err != nil {
			return err
		}
		k.supervisors, err = r.Supervisors(ctx)
		return err
	})
	return k, err
}

// runsAbove lists the runs whose shim may be in a line of ancestors: by its pid, or because it is being started and nobody
// has recorded it yet.
func runsAbove(ctx context.Context, r Reader, line []lanes.Identity) ([]lanes.Run, error) {
	pids := make([]int, 0, len(line))
	for _, id := range line {
		pids = append(pids, id.PID)
	}
	if len(pids) == 0 {
		pids = append(pids, 0) // nobody's: an empty filter would be everybody
	}
	found, err := r.Runs(ctx, RunFilter{Shims: pids})
	if err != nil {
		return nil, err
	}
	batches, err := r.Batches(ctx)
	if err != nil {
		return nil, err
	}
	for _, b := range batches {
		starting, err := r.Runs(ctx, RunFilter{Batch: b.ID, States: []lanes.RunState{lanes.RunStarting}})
		if err != nil {
			return nil, err
		}
		found = append(found, starting...)
	}
	return found, nil
}

// liveToken reports whether a token is a live worker's.
func liveToken(ctx context.Context, r Reader, token string) (bool, error) {
	if token == "" {
		return false, nil
	}
	runs, err := r.Runs(ctx, RunFilter{Token: token})
	return slices.ContainsFunc(runs, func(run lanes.Run) bool { return run.State != lanes.RunJudged }), err
}

// shimOf returns a run's shim. One whose engine died between the spawn and its record wrote itself down in its folder.
func (e *Engine) shimOf(run lanes.Run) []lanes.Identity {
	if run.Shim.Known() {
		return []lanes.Identity{run.Shim}
	}
	if run.State == lanes.RunStarting {
		if id, ok := e.Workers.Find(run.Dir); ok {
			return []lanes.Identity{id}
		}
	}
	return nil
}

// Foreign reports whether a process lives in another pid namespace than the engine, so that no ancestry means anything.
func (k Known) Foreign(self lanes.Identity) bool {
	return k.engine.Known() && k.engine.Boot == self.Boot && k.engine.PIDNS != self.PIDNS
}

// Token reports whether the token is a live worker's.
func (k Known) Token() bool { return k.token }

// Worker reports whether a line of ancestors, itself first, passes through a worker's shim or below an engine.
func (k Known) Worker(line []lanes.Identity) bool {
	return slices.ContainsFunc(line, func(id lanes.Identity) bool { return slices.Contains(k.shims, id) }) ||
		len(line) > 1 && k.engine.Known() && slices.Contains(line[1:], k.engine)
}

// Supervised reports whether a line of ancestors passes through `ferrox supervise`.
func (k Known) Supervised(line []lanes.Identity) bool {
	return slices.ContainsFunc(line, func(id lanes.Identity) bool { return slices.Contains(k.supervisors, id) })
}
