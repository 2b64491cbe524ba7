package engine

import (
	"context"

	"ferrox/lanes"
)

// LiveShims lists the shims of every batch that are alive now.
func (e *Engine) LiveShims(ctx context.Context) (alive []lanes.Identity, err error) {
	err = e.Store.View(ctx, func(r Reader) error {
		runs, err := r.Runs(ctx, RunFilter{})
		for _, run := range runs {
			for _, id := range e.shimOf(run) {
				if e.Workers.Alive(id) {
					alive = append(alive, id)
				}
			}
		}
		return err
	})
	return alive, err
}
