package main

import (
	"context"
	"errors"

	"ferrox/engine/watch"
)

// errLookAgain is what a look says that has to be tried again although nothing changes.
var errLookAgain = errors.New("look again")

// hear calls look at once, whenever somebody rings the bell in a folder, and otherwise only when something was committed in
// between, until ctx ends.
func hear(ctx context.Context, bell string, e *opened, look func() error) error {
	w := watch.New(watch.Poll, e.Logger)
	err := w.Watch(bell)
	if err == nil {
		err = hearing(ctx, w, e, look)
	}
	return errors.Join(err, w.Close())
}

func hearing(ctx context.Context, w *watch.Watcher, e *opened, look func() error) error {
	seen := int64(-1)
	for ctx.Err() == nil {
		version, err := e.Store.DataVersion(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if version != seen {
			seen = version
			switch err := look(); {
			case errors.Is(err, errLookAgain):
				seen = -1
			case err != nil && ctx.Err() == nil:
				return err
			}
		}
		select {
		case <-w.Changed():
		case <-ctx.Done():
		}
	}
	return nil
}
