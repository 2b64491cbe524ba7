package engine

import "time"

// systemClock is the machine's clock.
type systemClock struct{ start time.Time }

// SystemClock returns the machine's clock. Decisions use its wall time; work limits its monotonic one.
func SystemClock() Clock { return systemClock{start: time.Now()} }

func (systemClock) Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond).Round(0) }

func (c systemClock) Monotonic() time.Duration { return time.Since(c.start) }

func (systemClock) After(d time.Duration) (<-chan time.Time, func()) {
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}
