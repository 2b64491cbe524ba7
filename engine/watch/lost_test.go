package watch

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

// More happens than the kernel queues while nobody reads, and the claim comes last: its event is lost. Touching two files
// in turn fills the queue as well as unpacking a tree does, in a fraction of the time.
func TestW50_Overflow(t *testing.T) {
	t.Parallel()
	queue := queueLength(t)
	dir := t.TempDir()
	inner, err := fsnotify.NewWatcher()
	must(t, err)
	gate, events := make(chan struct{}), make(chan fsnotify.Event)
	go func() {
		defer close(events)
		<-gate
		for e := range inner.Events {
			select {
			case events <- e:
			case <-t.Context().Done():
				return
			}
		}
	}()
	w := begin(t, drain(inner, events, inner.Errors), never)
	watch(t, w, dir)
	told(t, w, dir, 1)

	files := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
	for _, f := range files {
		must(t, os.WriteFile(f, nil, 0o600))
	}
	// Beside the queue, fsnotify holds what fits into its buffer of 64 KiB.
	for i := range queue + 5000 {
		must(t, syscall.Chmod(files[i%2], 0o600))
	}
	finish(t, dir)
	close(gate)

	told(t, w, nobody, 1) // polling is off: only the overflow can have caused it
	if !there(filepath.Join(dir, claim)) {
		t.Error("the claim is not there")
	}

	// It goes on after that.
	settle(t, w)
	must(t, os.Remove(filepath.Join(dir, claim)))
	finish(t, dir)
	claimed(t, w, dir)
}

func queueLength(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	must(t, err)
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	must(t, err)
	if n > 100_000 {
		t.Skipf("the queue holds %d events: filling it takes too long", n)
	}
	return n
}

// A folder that was replaced while events were lost is armed again.
func TestW50_OverflowArmsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w := begin(t, f.source(), never)
		watch(t, w, "/tasks/TP-1")
		before := f.count("/tasks/TP-1")
		f.errs <- fsnotify.ErrEventOverflow
		told(t, w, nobody, 1)
		if f.count("/tasks/TP-1") == before {
			t.Error("the folder was not armed again")
		}
	})
}

func TestW50_WatchLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		f.fail = func(string) error { return syscall.ENOSPC }
		var log bytes.Buffer
		w := start(f.source(), 100*time.Millisecond, slog.New(slog.NewTextHandler(&log, nil)))
		for i := range 3 {
			watch(t, w, fmt.Sprint("/tasks/TP-", i))
		}
		began := time.Now()
		told(t, w, nobody, 3)
		if took := time.Since(began); took != 300*time.Millisecond {
			t.Errorf("three polls took %v", took)
		}

		// Watches are free again: events work from the next poll on.
		synctest.Wait()
		w.ask(func() { f.fail = nil })
		told(t, w, nobody, 1)
		if f.count("/tasks/TP-0") == 0 {
			t.Error("the folder was not armed when the limit allowed it")
		}
		must(t, w.Close())
		if n := strings.Count(log.String(), "level=WARN"); n != 1 {
			t.Errorf("%d warnings, want one:\n%s", n, log.String())
		}
		if !strings.Contains(log.String(), "max_user_watches") {
			t.Errorf("the warning has no next step: %s", log.String())
		}
	})
}

// A tree inside a watched folder costs no watches.
func TestW50_TreesAreNotWatched(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := mkdir(t, filepath.Join(root, "TP-1"))
	inner, err := fsnotify.NewWatcher()
	must(t, err)
	w := begin(t, drain(inner, inner.Events, inner.Errors), never)
	watch(t, w, dir)
	for i := range 200 {
		mkdir(t, filepath.Join(dir, "tree", strconv.Itoa(i)))
	}
	finish(t, dir)
	claimed(t, w, dir)
	armed := inner.WatchList()
	slices.Sort(armed)
	if want := []string{root, dir}; !slices.Equal(armed, want) {
		t.Errorf("armed %q, want %q", armed, want)
	}
}

func TestW51_NoEvents(t *testing.T) {
	t.Parallel()

	t.Run("claims are found by polling", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		f := newFake() // arms everything and never says a word, as a network mount does
		w := begin(t, f.source(), 20*time.Millisecond)
		watch(t, w, dir)
		told(t, w, dir, 1)
		finish(t, dir)
		claimed(t, w, dir)
	})

	t.Run("the poll bounds the delay", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := begin(t, newFake().source(), Poll)
			began := time.Now()
			told(t, w, nobody, 4)
			if took := time.Since(began); took != 4*Poll {
				t.Errorf("four polls took %v, want %v", took, 4*Poll)
			}
		})
	})

	t.Run("no instance left", func(t *testing.T) {
		t.Parallel()
		var log bytes.Buffer
		s := &source{kernel: deaf{syscall.EMFILE}, drained: func() {}}
		w := start(s, 20*time.Millisecond, slog.New(slog.NewTextHandler(&log, nil)))
		dir := t.TempDir()
		watch(t, w, dir)
		finish(t, dir)
		claimed(t, w, dir)
		must(t, w.Close())
		if n := strings.Count(log.String(), "level=WARN"); n != 1 {
			t.Errorf("%d warnings, want one:\n%s", n, log.String())
		}
	})
}
