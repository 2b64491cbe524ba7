package watch

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// ringer makes the test binary ring the bell in the named folder and exit: another process, as a command would be.
const ringer = "WATCH_TEST_RING"

func TestMain(m *testing.M) {
	if dir := os.Getenv(ringer); dir != "" {
		if err := Ring(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

const (
	never  = time.Hour        // a poll that cannot be what a test saw
	limit  = 10 * time.Second // W48, W49: noticed within
	claim  = ".DONE"
	nobody = "" // the delivery that means every folder
)

var quiet = slog.New(slog.DiscardHandler)

func begin(t *testing.T, s *source, poll time.Duration) *Watcher {
	t.Helper()
	w := start(s, poll, quiet)
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return w
}

func watch(t *testing.T, w *Watcher, dir string) {
	t.Helper()
	if err := w.Watch(dir); err != nil {
		t.Fatal(err)
	}
}

// claimed plays the engine: at every delivery it looks for claims, and returns when each folder has one.
func claimed(t *testing.T, w *Watcher, dirs ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	open := map[string]bool{}
	for _, d := range dirs {
		open[d] = true
	}
	for len(open) > 0 {
		select {
		case dir := <-w.Changed():
			for d := range open {
				if (dir == d || dir == nobody) && there(filepath.Join(d, claim)) {
					delete(open, d)
				}
			}
		case <-ctx.Done():
			t.Fatalf("%d of %d claims were not noticed within %v", len(open), len(dirs), limit)
		}
	}
}

// settle takes deliveries until everything that is known has been told, so that what follows is news.
func settle(t *testing.T, w *Watcher) {
	t.Helper()
	for idle := false; !idle; {
		w.ask(func() { idle = len(w.pending.order) == 0 && len(w.source.events) == 0 })
		select {
		case <-w.Changed():
		default:
		}
	}
}

func there(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// finish claims as workers do: a file under another name, renamed into place.
func finish(t testing.TB, dir string) {
	t.Helper()
	if err := claimIn(dir); err != nil {
		t.Error(err)
	}
}

func claimIn(dir string) error {
	tmp := filepath.Join(dir, claim+".tmp")
	if err := os.WriteFile(tmp, []byte("x"), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(dir, claim))
}

func mkdir(t testing.TB, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
