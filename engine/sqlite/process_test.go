package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ferrox/engine"
	"ferrox/lanes"
)

// newFile returns the path of a migrated store that nobody has open.
func newFile(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ferrox.db")
	s, err := Open(t.Context(), path, Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func eventsOf(t testing.TB, s *Store) []lanes.Event {
	t.Helper()
	var found []lanes.Event
	err := s.View(t.Context(), func(r engine.Reader) (err error) {
		found, err = r.Events(t.Context(), engine.EventFilter{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Four processes that write in a loop all get on, none is told that the store is locked, and no write is lost.
func TestW52_FourWritersShareFairly(t *testing.T) {
	path := newFile(t)
	const writers = 4
	var all []*process
	for w := range writers {
		p := start(t, roleLoop, path, fmt.Sprint("w", w))
		if got := p.line(); got != "ready" {
			t.Fatalf("writer says %q", got)
		}
		all = append(all, p)
	}
	for _, p := range all {
		fmt.Fprintln(p.in)
	}
	s := newStoreAt(t, path, Options{})
	eventually(t, "800 commits", func() bool { return len(eventsOf(t, s)) >= 800 })

	least, most, sum := 1<<62, 0, 0
	for _, p := range all {
		fmt.Fprintln(p.in)
	}
	for _, p := range all {
		n, err := strconv.Atoi(p.line())
		if err != nil {
			t.Fatal(err)
		}
		least, most, sum = min(least, n), max(most, n), sum+n
	}
	t.Logf("least %d, most %d: %.2f", least, most, float64(least)/float64(most))
	if 2*least < most {
		t.Errorf("least served %d, most served %d", least, most)
	}
	if n := len(eventsOf(t, s)); n != sum {
		t.Errorf("%d events are stored, %d were acknowledged", n, sum)
	}
}

// eventually polls until ok, for at most a minute.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 12_000 {
		if ok() {
			return
		}
		<-tick.C
	}
	t.Fatalf("waited in vain for %s", what)
}

// Killed in the middle of commits, the store has every write that was acknowledged, and at most the one after it.
func TestW14_KilledWriterLosesNothingAcknowledged(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	stored := 0
	for round := range 6 {
		p := start(t, roleAck, path, "")
		acked := ""
		for range 20 + 17*round {
			acked = p.line()
		}
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for next := p.line(); next != ""; next = p.line() {
			acked = next
		}
		_ = p.cmd.Wait()

		want, err := strconv.Atoi(acked)
		if err != nil {
			t.Fatal(err)
		}
		s := newStoreAt(t, path, Options{})
		found := eventsOf(t, s)[stored:]
		if len(found) != want && len(found) != want+1 {
			t.Fatalf("round %d: %d writes acknowledged, %d found", round, want, len(found))
		}
		for i, e := range found {
			if e.Ref != strconv.Itoa(i+1) {
				t.Fatalf("round %d: write %d is %s", round, i+1, e.Ref)
			}
		}
		stored += len(found)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// The message of ErrBusy names the process that holds the lock, and nothing is left of the attempt.
func TestBusyNamesTheHolder(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	p := start(t, roleHolder, path, "")
	if got := p.line(); got != "holding" {
		t.Fatalf("holder says %q", got)
	}
	s := newStoreAt(t, path, Options{Patience: 30 * time.Millisecond})
	for range 3 {
		err := appendNumber(t.Context(), s, "x", 1, "")
		if !errors.Is(err, engine.ErrBusy) {
			t.Fatalf("error is %v, want ErrBusy", err)
		}
		if name := fmt.Sprintf("process %d ", p.cmd.Process.Pid); !strings.Contains(err.Error(), name) {
			t.Errorf("%q does not name %q", err, name)
		}
	}
	if n := len(eventsOf(t, s)); n != 0 {
		t.Errorf("%d events beside the lock, want none and no waiting", n)
	}

	// A dead holder's lock is free at once.
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	patient := newStoreAt(t, path, Options{})
	if err := appendNumber(t.Context(), patient, "x", 1, ""); err != nil {
		t.Error(err)
	}
	eventually(t, "the given-up wait to let go", func() bool { return appendNumber(t.Context(), s, "x", 2, "") == nil })
}
