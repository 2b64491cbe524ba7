//go:build linux

package process

import (
	"os"
	"strings"
	"testing"
)

func (b *bench) bar() bool {
	b.Helper()
	barred, err := b.runner.Bar(b.spec.Dir, b.spec.LaneLock)
	ok(b, err)
	return barred
}

// TestBar_KeepsALateShimOut bars a run whose shim was started and has not been heard of: it comes, and leaves without having
// started the worker.
func TestBar_KeepsALateShimOut(t *testing.T) {
	t.Parallel()
	b := newBench(t, `echo ran >"$W/ran"`)
	for range 2 { // a crash may come between the bar and its record
		if !b.bar() {
			t.Fatal("a run without a shim is not barred")
		}
	}
	if _, err := b.runner.Start(t.Context(), b.spec); err == nil || !strings.Contains(err.Error(), "ended before it began") {
		t.Errorf("the late shim: %v", err)
	}
	if _, err := os.Lstat(b.tree("ran")); err == nil {
		t.Error("the worker ran")
	}
	if exit, found := b.runner.Record(b.spec.Dir); !found || !exit.Terminated {
		t.Errorf("%v %+v", found, exit)
	}
	if _, found := b.runner.Find(b.spec.Dir); found {
		t.Error("a shim is found that never was")
	}
}

// TestBar_LeavesAShimAlone bars nothing once a shim has the lane, or had it.
func TestBar_LeavesAShimAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t, `read -r line <"$W/go"`)
	ok(t, os.WriteFile(b.tree("go"), []byte("on\n"), 0o600))
	lane, err := lockLane(b.spec.LaneLock)
	ok(t, err)
	if b.bar() {
		t.Error("a run is barred whose shim has just taken the lane")
	}
	ok(t, lane.Close())
	if exit := b.finish(); exit.Code != 0 {
		t.Errorf("%+v", exit)
	}
	if b.bar() {
		t.Error("a run is barred that has been")
	}
	if exit, found := b.runner.Record(b.spec.Dir); !found || exit.Code != 0 || exit.Terminated {
		t.Errorf("its exit record was replaced: %v %+v", found, exit)
	}
}
