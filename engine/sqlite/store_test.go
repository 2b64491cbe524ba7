package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"ferrox/engine"
	"ferrox/engine/storetest"
)

// newStoreAt opens a store that is closed when the test ends.
func newStoreAt(t testing.TB, path string, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func TestContract(t *testing.T) {
	t.Parallel()

	var mu sync.Mutex
	paths := map[testing.TB]string{}
	storetest.Run(t, func(t testing.TB) engine.Store {
		mu.Lock()
		path, ok := paths[t]
		if !ok {
			path = filepath.Join(t.TempDir(), "ferrox.db")
			paths[t] = path
		}
		mu.Unlock()
		return newStoreAt(t, path, Options{Migrate: true})
	})
}

// A writer of the same process that waits too long is told so, one that is called off stops waiting, and both leave the
// store as it is.
func TestWritersOfOneProcessWaitInTurn(t *testing.T) {
	t.Parallel()
	s := newStoreAt(t, filepath.Join(t.TempDir(), "ferrox.db"), Options{Migrate: true, Patience: 20 * time.Millisecond})
	err := s.Update(t.Context(), func(engine.Tx) error {
		if err := appendNumber(t.Context(), s, "x", 1, ""); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("error is %v, want ErrBusy", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := appendNumber(ctx, s, "x", 1, ""); !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v, want Canceled", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := appendNumber(t.Context(), s, "x", 1, ""); err != nil {
		t.Error(err)
	}
}

// A writer that waits for another process stops when it is called off, and the wait it leaves behind takes nothing.
func TestWaitForTheLockCanBeCalledOff(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	s, other := newStoreAt(t, path, Options{}), newStoreAt(t, path, Options{})
	err := other.Update(t.Context(), func(engine.Tx) error {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- appendNumber(ctx, s, "called off", 1, "") }()
		eventually(t, "the wait to begin", func() bool { return len(s.writer.slots) == 0 })
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v, want Canceled", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for i, w := range []*Store{s, other, s} {
		if err := appendNumber(t.Context(), w, "x", i, ""); err != nil {
			t.Error(err)
		}
	}
	if n := len(eventsOf(t, s)); n != 3 {
		t.Errorf("%d events, want 3", n)
	}
}

func TestClosedStoreSaysSo(t *testing.T) {
	t.Parallel()
	s := newStoreAt(t, newFile(t), Options{})
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	_, err := s.DataVersion(t.Context())
	for name, err := range map[string]error{
		"Update":      appendNumber(t.Context(), s, "x", 1, ""),
		"View":        s.View(t.Context(), func(engine.Reader) error { return nil }),
		"DataVersion": err,
		"Backup":      s.Backup(t.Context(), filepath.Join(t.TempDir(), "copy")),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s: error is %v, want ErrClosed", name, err)
		}
	}
}
