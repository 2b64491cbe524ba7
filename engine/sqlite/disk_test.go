package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	sqlite3 "github.com/mattn/go-sqlite3"

	"ferrox/engine"
	"ferrox/lanes"
)

// seed adds the batch that other records belong to.
func seed(t testing.TB, s *Store) {
	t.Helper()
	err := s.Update(t.Context(), func(tx engine.Tx) error {
		_, err := tx.PutBatch(t.Context(), lanes.Batch{ID: "b1"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A limit on the size of files fails writes in the middle, as a full disk does. What was acknowledged is there, what was
// not is not, and with room again everything goes on.
func TestW54_F021_FullDisk(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	p := start(t, roleFull, path, "")
	said := p.line()
	_ = p.cmd.Wait()
	acked, err := strconv.Atoi(strings.SplitN(said, " ", 2)[0])
	if err != nil || acked == 0 {
		t.Fatalf("child says %q", said)
	}
	if !strings.Contains(said, " disk ") || !strings.Contains(said, path) || !strings.Contains(said, "make room") {
		t.Errorf("child says %q, want ErrDisk with file and way out", said)
	}
	s := newStoreAt(t, path, Options{})
	if n := len(eventsOf(t, s)); n != acked {
		t.Errorf("%d events, %d were acknowledged", n, acked)
	}
	if err := appendNumber(t.Context(), s, "after", 1, ""); err != nil {
		t.Error(err)
	}
}

// SQLITE_FULL itself, and the same store usable afterwards.
func TestW54_F021_DatabaseFull(t *testing.T) {
	t.Parallel()
	s := newStoreAt(t, newFile(t), Options{})
	limit := func(pages int) {
		c, err := s.writer.take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer s.writer.put(c)
		err = c.raw(func(raw *sqlite3.SQLiteConn) error {
			_, err := raw.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages), nil)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	limit(100)
	acked := 0
	var err error
	for range 100 {
		if err = appendNumber(t.Context(), s, "x", acked, string(make([]byte, 20_000))); err != nil {
			break
		}
		acked++
	}
	if !errors.Is(err, engine.ErrDisk) {
		t.Fatalf("error after %d writes is %v, want ErrDisk", acked, err)
	}
	if n := len(eventsOf(t, s)); n != acked {
		t.Errorf("%d events, %d were acknowledged", n, acked)
	}
	limit(1_000_000)
	if err := appendNumber(t.Context(), s, "after", 1, ""); err != nil {
		t.Error(err)
	}
}

// A function that goes on after a fault must not have its later writes committed one by one.
func TestF021_NothingIsStoredAfterAFault(t *testing.T) {
	t.Parallel()
	s := newStoreAt(t, newFile(t), Options{})
	seed(t, s)
	err := s.Update(t.Context(), func(w engine.Tx) error {
		c := w.(*tx).session
		_, _ = c.exec("ROLLBACK") // as SQLite does by itself on some faults
		_ = w.AddEffect(t.Context(), lanes.Effect{Key: "orphan", Batch: "nobody"})
		_, _ = w.AppendEvent(t.Context(), lanes.Event{Name: "ghost"})
		return nil
	})
	if err == nil {
		t.Error("Update reports success")
	}
	if n := len(eventsOf(t, s)); n != 0 {
		t.Errorf("%d events were stored", n)
	}
}

// Neither a read-only file nor a read-only folder takes a write, and both say so. A child without privileges looks,
// because nothing is read-only to root.
func TestW54_ReadOnlyState(t *testing.T) {
	t.Parallel()
	for name, modes := range map[string][2]os.FileMode{
		"file":   {0o777, 0o444},
		"folder": {0o555, 0o444},
	} {
		dir := openFolder(t)
		path := filepath.Join(dir, "ferrox.db")
		s := newStoreAt(t, path, Options{Migrate: true})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		chmod(t, path, modes[1])
		chmod(t, dir, modes[0])
		t.Cleanup(func() { chmod(t, dir, 0o755) })

		said := start(t, roleVisitor, path, "").line()
		if !strings.HasPrefix(said, "disk ") || !strings.Contains(said, path) {
			t.Errorf("%s: child says %q, want ErrDisk", name, said)
		}
		chmod(t, dir, 0o755)
		chmod(t, path, 0o644)
		again := newStoreAt(t, path, Options{})
		if n := len(eventsOf(t, again)); n != 0 {
			t.Errorf("%s: %d events were stored", name, n)
		}
	}
}

// openFolder makes a folder that every user can reach; those of testing.T are private.
func openFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ferrox-store-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	chmod(t, dir, 0o755)
	return dir
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// Two pages that poll, so that a reader is open nearly always, do not make the write-ahead file grow with what is written;
// nor does one snapshot that stays open for a while, once it is gone.
func TestW53_LogStaysBounded(t *testing.T) {
	t.Parallel()
	s := newStoreAt(t, newFile(t), Options{})
	write := func(bytes int) (largest int64) {
		data := string(make([]byte, 512<<10))
		for range bytes / len(data) {
			if err := appendNumber(t.Context(), s, "x", 1, data); err != nil {
				t.Error(err)
			}
			largest = max(largest, s.logSize())
		}
		return largest
	}

	var done atomic.Bool
	var pages sync.WaitGroup
	for range 2 {
		pages.Go(func() {
			for !done.Load() {
				_ = s.View(t.Context(), func(r engine.Reader) error {
					_, err := r.Events(t.Context(), engine.EventFilter{Limit: 2})
					return err
				})
			}
		})
	}
	largest := write(3 * walLimit)
	done.Store(true)
	pages.Wait()
	if largest > 2*walLimit {
		t.Errorf("with readers, the log grew to %d MiB", largest>>20)
	}

	err := s.View(t.Context(), func(r engine.Reader) error {
		_, err := r.Batches(t.Context())
		if size := write(2 * walLimit); size < walLimit {
			t.Errorf("the snapshot did not stand in the way: %d MiB", size>>20)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	write(walLimit)
	if size := s.logSize(); size > walLimit+walLimit/2 {
		t.Errorf("after the reader is gone, the log has %d MiB", size>>20)
	}
}
