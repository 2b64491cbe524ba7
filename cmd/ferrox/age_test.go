package main

import (
	"testing"
	"time"
)

func TestAge(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		stamp    string
		age, due string
	}{
		{"2026-03-01T11:59:48.5Z", "11s", "passed 11s ago"},
		{"2026-03-01T11:54:55Z", "5m05s", "passed 5m05s ago"},
		{"2026-03-01T08:30:00Z", "3h30m", "passed 3h30m ago"},
		{"2026-02-26T10:00:00Z", "3d2h", "passed 3d2h ago"},
		{"2026-03-01T15:59:59.9Z", "0s", "in 3h59m"},
		{"", "-", "-"},
	} {
		if a, d := age(c.stamp, now), due(c.stamp, now); a != c.age || d != c.due {
			t.Errorf("%q: %s, %s instead of %s, %s", c.stamp, a, d, c.age, c.due)
		}
	}
}
