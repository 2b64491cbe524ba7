package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ferrox/engine"
	"ferrox/engine/crash"
)

// reader reads inside one transaction. It is used by one goroutine.
type reader struct {
	session *session
	done    bool
	fault   error // the first error after which the transaction cannot go on
}

var _ engine.Reader = (*reader)(nil)

// usable refuses a statement when the transaction is over, is broken, or nobody waits for it any more.
//
// After a fault, SQLite may have rolled the transaction back by itself; a further statement would then commit on its own.
func (r *reader) usable(ctx context.Context, attempt string) error {
	switch {
	case r.done:
		return fmt.Errorf("%s: %w: the transaction is over", attempt, ErrClosed)
	case r.fault != nil:
		return fmt.Errorf("%s: the transaction failed before: %w", attempt, r.fault)
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", attempt, ctx.Err())
	}
	return nil
}

// fail records a fault and returns it.
func (r *reader) fail(err error) error {
	if r.fault == nil {
		r.fault = err
	}
	return err
}

// tx writes inside one transaction. It is used by one goroutine.
type tx struct {
	reader
	events []string // names of the events that it writes
	writes []string // what else it writes
}

// around names the transaction for the crash points: after its events, or, without any, after the records it writes. One
// that writes nothing is no effect.
func (t *tx) around() (after func()) {
	wrote := t.events
	if len(wrote) == 0 {
		wrote = slices.Compact(t.writes)
	}
	if len(wrote) == 0 {
		return func() {}
	}
	return crash.Around("commit " + strings.Join(wrote, "+"))
}

var _ engine.Tx = (*tx)(nil)
