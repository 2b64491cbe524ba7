package engine

import (
	"context"
	"errors"
	"slices"

	"ferrox/lanes"
)

// Known is every process that the store knows the authority of.
type Known struct {
	engine      lanes.Identity
	shims       []lanes.Identity
	supervisors []lanes.Identity
	tokens      []string
}

// Known reads the processes that decide who somebody is.
func (e *Engine) Known(ctx context.Context) (k Known, err error) {
	err = e.Store.View(ctx, func(r Reader) error {
		l, err := r.Lease(ctx)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		k.engine = l.Owner
		runs, err := r.Runs(ctx, RunFilter{})
		if err != nil {
			return err
		}
		for _, run := range runs {
			k.shims = append(k.shims, e.shimOf(run)...)
			if run.State != lanes.RunJudged {
				k.tokens = append(k.tokens, run.Token)
			}
		}
		k.supervisors, err = r.Supervisors(ctx)
		return err
	})
	return k, err
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

// Token reports whether a token is a live worker's.
func (k Known) Token(token string) bool { return token != "" && slices.Contains(k.tokens, token) }

// Worker reports whether a line of ancestors, itself first, passes through a worker's shim or below an engine.
func (k Known) Worker(line []lanes.Identity) bool {
	return slices.ContainsFunc(line, func(id lanes.Identity) bool { return slices.Contains(k.shims, id) }) ||
		len(line) > 1 && k.engine.Known() && slices.Contains(line[1:], k.engine)
}

// Supervised reports whether a line of ancestors passes through `ferrox supervise`.
func (k Known) Supervised(line []lanes.Identity) bool {
	return slices.ContainsFunc(line, func(id lanes.Identity) bool { return slices.Contains(k.supervisors, id) })
}
