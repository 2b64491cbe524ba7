package halting_test

import (
	"encoding/json"
	"testing"

	"ferrox/gates/epoch"
	"ferrox/gates/halting"
	"ferrox/lanes/settings"
)

func TestCheckCap(t *testing.T) {
	t.Parallel()
	limits := settings.Gate{MaxPasses: 3, WallClockSeconds: 10, CapOutcome: "escalate-to-human"}
	for _, tc := range []struct {
		passes     float64
		start, now epoch.Millis
		want       halting.Trigger
	}{
		{2, 0, 9999, halting.TriggerNone},
		{2.999, 0, 0, halting.TriggerNone},
		{3, 0, 0, halting.TriggerPassCap},
		{3, 0, 10000, halting.TriggerPassCap}, // both: the passes go first
		{0, 0, 10000, halting.TriggerWallClock},
		{0, 10000, 0, halting.TriggerNone}, // the clock ran backwards
		{-1e300, 0, 0, halting.TriggerNone},
		{1e300, 0, 0, halting.TriggerPassCap},
	} {
		q := halting.CapQuery{Gate: "g", Increment: "i", Passes: tc.passes, Start: tc.start, Now: tc.now}
		d := halting.CheckCap(limits, q)
		e, fired := d.Entry(q)
		if d.Trigger != tc.want || d.CapOutcome != halting.OutcomeEscalate || fired != (tc.want != halting.TriggerNone) {
			t.Errorf("%+v: %+v %v", tc, d, fired)
		}
		if fired == (d.Decision == halting.Continue) || fired && e.Trigger != tc.want {
			t.Errorf("T-03-04 %+v: %+v %+v", tc, d, e)
		}
	}
}

func TestRescopeRecord(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"", "null", "{}", `{"attempts":1}`, `{"attempts":1,"lastSize":4}`, `{"attempts":null}`} {
		if _, err := halting.ReadRescopeRecord(json.RawMessage(good)); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	// T-03-06: what can't be read must not count as no attempts.
	for _, bad := range []string{`7`, `"x"`, `[]`, `{"attempts":"2"}`, `{"attempts":-5}`, `{"lastSize":"9"}`, `{"attempts":{}}`} {
		if r, err := halting.ReadRescopeRecord(json.RawMessage(bad)); err == nil {
			t.Errorf("%s: taken for %+v", bad, r)
		}
	}
}

func TestCheckRescope(t *testing.T) {
	t.Parallel()
	size := func(f float64) *float64 { return &f }
	for _, tc := range []struct {
		name      string
		max       int
		stored    *halting.RescopeRecord
		prev, new float64
		want      halting.RescopeAnswer
		attempt   float64
	}{
		{"first", 2, nil, 9, 8, halting.RescopeAllowed, 1},
		{"equal", 2, nil, 9, 9, halting.RescopeNotSmaller, 0},
		{"T-03-06 a forged previous size", 2, &halting.RescopeRecord{Attempts: 1, LastSize: size(5)}, 100, 6, halting.RescopeNotSmaller, 1},
		{"smaller than both", 2, &halting.RescopeRecord{Attempts: 1, LastSize: size(5)}, 100, 4, halting.RescopeAllowed, 2},
		{"a record without a size", 2, &halting.RescopeRecord{Attempts: 1}, 9, 1, halting.RescopeNotSmaller, 1},
		{"T-03-04 cap", 2, &halting.RescopeRecord{Attempts: 7, LastSize: size(5)}, 5, 4, halting.RescopeHardDescope, 2},
		{"no attempts at all", 0, nil, 9, 8, halting.RescopeHardDescope, 0},
	} {
		q := halting.RescopeQuery{Increment: "i", PrevSize: tc.prev, NewSize: tc.new}
		d, next := halting.CheckRescope(tc.max, tc.stored, q)
		if d.Decision != tc.want || d.Attempt != tc.attempt || (next != nil) != (tc.want == halting.RescopeAllowed) {
			t.Errorf("%s: %+v %+v", tc.name, d, next)
		}
		if next != nil && (next.Attempts != tc.attempt || *next.LastSize != tc.new) {
			t.Errorf("%s: stores %+v", tc.name, next)
		}
		if _, logged := d.Entry(q); logged != (tc.want == halting.RescopeHardDescope) {
			t.Errorf("%s: logged %v", tc.name, logged)
		}
	}
}
