package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	sqlite3 "github.com/mattn/go-sqlite3"

	"ferrox/engine"
)

var restoredAt = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// W55: the backup's records count afterwards, whatever side files lay about, and the present database is kept whole.
func TestW55_Restore(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	s := newStoreAt(t, path, Options{})
	if err := appendNumber(t.Context(), s, "x", 1, ""); err != nil {
		t.Fatal(err)
	}
	backup := filepath.Join(t.TempDir(), "a ?%#.db")
	if err := s.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	if err := appendNumber(t.Context(), s, "x", 2, ""); err != nil {
		t.Fatal(err)
	}
	before := string(content(t, backup))

	t.Run("refused while anybody has it open", func(t *testing.T) {
		short, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if _, err := Restore(short, backup, path, restoredAt); !errors.Is(err, engine.ErrBusy) {
			t.Fatalf("error is %v, want ErrBusy", err)
		}
		if n := len(eventsOf(t, s)); n != 2 {
			t.Errorf("%d events after a refused restore", n)
		}
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	kept, err := Restore(t.Context(), backup, path, restoredAt)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(eventsOf(t, newStoreAt(t, path, Options{}))); n != 1 {
		t.Errorf("%d events, the backup has 1", n)
	}
	if n := len(eventsOf(t, newStoreAt(t, kept, Options{}))); n != 2 {
		t.Errorf("the database that was there has %d events, it had 2", n)
	}
	if string(content(t, backup)) != before {
		t.Error("the backup was changed")
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".restore-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// W55: side files of a database that is gone are not read with another one.
func TestW55_RestoreBesideStrayLog(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	s := newStoreAt(t, path, Options{})
	if err := appendNumber(t.Context(), s, "x", 1, ""); err != nil {
		t.Fatal(err)
	}
	backup := filepath.Join(t.TempDir(), "backup.db")
	if err := s.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	if err := appendNumber(t.Context(), s, "x", 2, ""); err != nil {
		t.Fatal(err)
	}
	log := content(t, path+"-wal")
	if err := errors.Join(s.Close(), os.Remove(path), os.WriteFile(path+"-wal", log, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), backup, path, restoredAt); err != nil {
		t.Fatal(err)
	}
	if n := len(eventsOf(t, newStoreAt(t, path, Options{}))); n != 1 {
		t.Errorf("%d events, the backup has 1", n)
	}
}

// W55: what is no database of ours, or a newer one, is refused and nothing is changed.
func TestW55_RestoreRefuses(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	s := newStoreAt(t, path, Options{})
	if err := errors.Join(appendNumber(t.Context(), s, "x", 1, ""), s.Close()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text, foreign, newer := filepath.Join(dir, "text"), filepath.Join(dir, "foreign.db"), filepath.Join(dir, "newer.db")
	if err := os.WriteFile(text, []byte("not a database at all, but long enough"), 0o600); err != nil {
		t.Fatal(err)
	}
	script(t, foreign, "CREATE TABLE mine (x)", "PRAGMA user_version = 1")
	if err := os.WriteFile(newer, content(t, path), 0o600); err != nil {
		t.Fatal(err)
	}
	script(t, newer, "PRAGMA user_version = 4000")
	for file, want := range map[string]error{
		text: ErrNotStore, foreign: ErrNotStore, newer: engine.ErrNewerSchema, filepath.Join(dir, "none"): os.ErrNotExist,
	} {
		if _, err := Restore(t.Context(), file, path, restoredAt); !errors.Is(err, want) {
			t.Errorf("%s: error is %v, want %v", filepath.Base(file), err, want)
		}
	}
	if n := len(eventsOf(t, newStoreAt(t, path, Options{}))); n != 1 {
		t.Errorf("%d events after refused restores", n)
	}
	if left, _ := filepath.Glob(path + ".before-*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func script(t *testing.T, path string, statements ...string) {
	t.Helper()
	raw, err := openRaw(path)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	for _, text := range statements {
		if err := execRaw(raw, text); err != nil {
			t.Fatal(err)
		}
	}
}

func execRaw(raw *sqlite3.SQLiteConn, text string) error {
	_, err := raw.Exec(text, nil)
	return err
}
