package main

import (
	"testing"

	"ferrox/engine"
)

func TestNewEnough(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"2.38.0": true, "2.39.5": true, "2.38.1.windows.1": true, "3.0.0": true, "2.37.9": false, "1.99.0": false, "": false, "x.y": false,
	} {
		if got := newEnough(version); got != want {
			t.Errorf("git %q: %v", version, got)
		}
	}
}

// W53: a side file above twice its limit is a warning, one that waits for its next cut is not.
func TestW53_LogSize(t *testing.T) {
	t.Parallel()
	const limit = 16 << 20
	for size, want := range map[int64]engine.CheckState{0: engine.CheckOK, limit: engine.CheckOK, 2 * limit: engine.CheckOK, 2*limit + 1: engine.CheckWarn} {
		if got := checkLog(size, limit); got.State != want || want == engine.CheckWarn && got.Fix == "" {
			t.Errorf("%d bytes: %+v", size, got)
		}
	}
}
