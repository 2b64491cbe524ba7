package enginetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"ferrox/engine"
	"ferrox/gates/coord"
	"ferrox/gates/halting"
)

// clock is the bubble's time, with a wall clock that a history sets.
type clock struct {
	start time.Time
	mu    sync.Mutex
	ahead time.Duration
}

// dawn is far behind every file's time, so that nothing that is written counts as fresh.
var dawn = time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return dawn.Add(time.Since(c.start) + c.ahead).Truncate(time.Microsecond)
}

func (c *clock) Monotonic() time.Duration { return time.Since(c.start) + time.Hour }

func (c *clock) After(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}

// set moves the wall clock, and nothing else.
func (c *clock) set(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += by
}

// noSignatures is a machine on which nobody signs.
type noSignatures struct{}

func (noSignatures) CheckSigners(string) (int, error) { return 0, nil }

func (noSignatures) Verify(string, string, []byte, time.Time) (engine.Signer, error) {
	return engine.Signer{}, errors.New("nobody signs here")
}

// planning is a .planning folder that nobody reads.
type planning struct{}

func (planning) Log(context.Context, halting.Entry) error                       { return nil }
func (planning) RescopeAttempts(context.Context, string) (int, error)           { return 0, nil }
func (planning) Park(context.Context, halting.Park) error                       { return nil }
func (planning) FileBacklog(context.Context, string, []engine.BacklogRow) error { return nil }

func (planning) Rescope(context.Context, int, halting.RescopeQuery) (halting.RescopeDecision, error) {
	return halting.RescopeDecision{}, nil
}

func (planning) Migrations(context.Context, string) (coord.Migrations, bool, error) {
	return coord.Migrations{}, false, nil
}
