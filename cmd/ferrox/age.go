package main

import (
	"fmt"
	"time"
)

// age says how long ago an instant was, as people read it; "-" for none.
func age(stamp string, now time.Time) string {
	t, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		return "-"
	}
	return span(now.Sub(t))
}

// due says how far away a deadline is, or how long ago it passed.
func due(stamp string, now time.Time) string {
	t, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		return "-"
	}
	if t.After(now) {
		return "in " + span(t.Sub(now))
	}
	return "passed " + span(now.Sub(t)) + " ago"
}

// span shortens a duration to its two largest units.
func span(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}
