package watch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

func TestWatcher_CoalescesWhatNobodyTook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w := begin(t, f.source(), never)
		watch(t, w, "/tasks/TP-1")
		watch(t, w, "/tasks/TP-2")
		for i := range 1000 {
			f.events <- fsnotify.Event{Name: fmt.Sprint("/tasks/TP-1/", i), Op: fsnotify.Create}
		}
		if got := taken(w); len(got) != 2 || got[0] != "/tasks/TP-1" || got[1] != "/tasks/TP-2" {
			t.Errorf("delivered %q, want each folder once, oldest first", got)
		}
	})
}

func TestWatcher_SpacesDeliveriesOfOneFolder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w := begin(t, f.source(), never)
		watch(t, w, "/tasks/TP-1")
		told(t, w, "/tasks/TP-1", 1)
		began := time.Now()
		for range 3 {
			f.events <- fsnotify.Event{Name: "/tasks/TP-1/x", Op: fsnotify.Write}
			told(t, w, "/tasks/TP-1", 1)
		}
		if took := time.Since(began); took != 3*gap {
			t.Errorf("three deliveries took %v, want %v", took, 3*gap)
		}

		// After a quiet time a change is told at once, and a folder at rest keeps no other waiting.
		time.Sleep(gap)
		began = time.Now()
		f.events <- fsnotify.Event{Name: "/tasks/TP-1/x", Op: fsnotify.Write}
		told(t, w, "/tasks/TP-1", 1)
		f.events <- fsnotify.Event{Name: "/tasks/TP-1/x", Op: fsnotify.Write}
		watch(t, w, "/tasks/TP-2")
		told(t, w, "/tasks/TP-2", 1)
		if took := time.Since(began); took != 0 {
			t.Errorf("took %v, want no delay", took)
		}
	})
}

func TestWatcher_IgnoresNeighbours(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		w := begin(t, f.source(), never)
		watch(t, w, "/tasks/TP-1")
		told(t, w, "/tasks/TP-1", 1)
		for _, name := range []string{"/tasks/TP-10", "/tasks/TP", "/tasks/TP-1.old", "/tasks/x", "/tasks/TP-1/a/b"} {
			f.events <- fsnotify.Event{Name: name, Op: fsnotify.Create}
		}
		if got := taken(w); len(got) != 0 {
			t.Errorf("delivered %q, want nothing", got)
		}
	})
}

// taken takes deliveries until none comes for a while. Inside a bubble the while costs nothing.
func taken(w *Watcher) []string {
	var got []string
	for {
		select {
		case d := <-w.Changed():
			got = append(got, d)
		case <-time.After(time.Minute):
			return got
		}
	}
}

// fsnotify can send an error while it holds the lock that Add wants.
func TestWatcher_ErrorsAreTakenWhileArming(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		sent := false
		f.fail = func(string) error {
			if sent {
				return nil
			}
			sent = true
			f.errs <- fsnotify.ErrEventOverflow
			f.errs <- fsnotify.ErrEventOverflow
			return nil
		}
		w := begin(t, f.source(), never)
		watch(t, w, "/tasks/TP-1") // a bubble in which everything is blocked ends the test
		told(t, w, nobody, 1)
	})
}

func TestWatcher_Unwatch(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	inner, err := fsnotify.NewWatcher()
	must(t, err)
	w := begin(t, drain(inner, inner.Events, inner.Errors), never)
	one, two := mkdir(t, filepath.Join(root, "one")), mkdir(t, filepath.Join(root, "two"))
	watch(t, w, one)
	watch(t, w, two)
	watch(t, w, filepath.Join(one, "below"))
	w.Unwatch(one)
	finish(t, one)
	finish(t, two)
	late := time.After(limit)
	for found := false; !found; {
		select {
		case d := <-w.Changed():
			if d == one {
				t.Error("delivered after Unwatch")
			}
			found = d == two && there(filepath.Join(two, claim))
		case <-late:
			t.Fatal("the other folder was not delivered")
		}
	}
	w.Unwatch(one)
	w.Unwatch(two)
	w.Unwatch(filepath.Join(one, "below"))
	w.Unwatch(filepath.Join(root, "never watched"))
	if left := inner.WatchList(); len(left) != 0 {
		t.Errorf("watches are left: %q", left)
	}
}

func TestWatcher_Close(t *testing.T) {
	t.Parallel()
	w := New(never, quiet)
	watch(t, w, t.TempDir()) // nobody takes the delivery
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := w.Watch("/tasks"); !errors.Is(err, ErrClosed) {
		t.Errorf("Watch after Close: %v, want ErrClosed", err)
	}
	w.Unwatch("/tasks")
}

func TestWatcher_RefusesRelativePaths(t *testing.T) {
	t.Parallel()
	w := begin(t, newFake().source(), never)
	if err := w.Watch("tasks"); err == nil {
		t.Error("a relative path was taken")
	}
}

// Rename of a claim into place until its folder is delivered, the reader idle before.
func BenchmarkRenameToDelivery(b *testing.B) {
	dir := b.TempDir()
	w := New(never, quiet)
	defer func() { _ = w.Close() }()
	if err := w.Watch(dir); err != nil {
		b.Fatal(err)
	}
	<-w.Changed()
	quietly := func() {
		for {
			select {
			case <-w.Changed():
			case <-time.After(2 * gap):
				return
			}
		}
	}
	var all []time.Duration
	for b.Loop() {
		b.StopTimer()
		tmp, done := filepath.Join(dir, "tmp"), filepath.Join(dir, claim)
		must(b, os.WriteFile(tmp, nil, 0o600))
		quietly()
		b.StartTimer()
		began := time.Now()
		must(b, os.Rename(tmp, done))
		<-w.Changed()
		all = append(all, time.Since(began))
	}
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-µs")
}
