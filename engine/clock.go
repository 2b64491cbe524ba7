package engine

import (
	"fmt"
	"os"
	"strings"
	"time"
)

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

// ClockFile is the variable that names the file of a movable clock. Only a program that was built for tests reads it.
const ClockFile = "FERROX_TEST_CLOCK"

// movableClock is the machine's clock, with a wall time that a test moves.
type movableClock struct {
	systemClock
	file string
}

// MovableClock returns a clock whose wall time is ahead of the machine's by the duration that stands in a file, as 9h. The
// file is read at every look, so that all who share it jump at once; replace it by a rename. As after a machine's sleep,
// monotonic time and timers that run already know nothing of the jump: whoever waits sees it at its next look.
func MovableClock(file string) Clock { return movableClock{systemClock{start: time.Now()}, file} }

func (c movableClock) Now() time.Time { return c.systemClock.Now().Add(c.ahead()) }

// ahead reads how far the wall time is ahead. A test whose clock cannot be read would pass for nothing.
func (c movableClock) ahead() time.Duration {
	text, err := os.ReadFile(c.file)
	if err != nil {
		panic(fmt.Errorf("read the movable clock: %w", err))
	}
	d, err := time.ParseDuration(strings.TrimSpace(string(text)))
	if err != nil {
		panic(fmt.Errorf("read the movable clock %s: %w", c.file, err))
	}
	return d
}
