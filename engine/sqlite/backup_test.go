package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// A backup under a live writer is one instant of it: whole, without gaps, and a store of its own.
func TestW55_BackupUnderALiveWriter(t *testing.T) {
	t.Parallel()
	s := newStoreAt(t, newFile(t), Options{})
	other := newStoreAt(t, s.path, Options{})
	for n := range 20 {
		if err := appendNumber(t.Context(), s, "x", n+1, string(make([]byte, 200_000))); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for n := 21; ctx.Err() == nil; n++ {
			_ = appendNumber(ctx, other, "x", n, "")
		}
	}()
	dir := t.TempDir()
	dest := filepath.Join(dir, "copy of 100%?#.db")
	err := s.Backup(t.Context(), dest)
	cancel()
	<-stopped
	if err != nil {
		t.Fatal(err)
	}

	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
	sound(t, dest)
	found := eventsOf(t, newStoreAt(t, dest, Options{}))
	if len(found) < 20 {
		t.Errorf("the copy has %d events, want at least 20", len(found))
	}
	for i, e := range found {
		if e.Ref != strconv.Itoa(i+1) {
			t.Fatalf("event %d of the copy is %s", i+1, e.Ref)
		}
	}
}

// sound asks SQLite to look through the whole file.
func sound(t *testing.T, path string) {
	t.Helper()
	db := sql.OpenDB(connector{path: path, access: read, patience: defaultPatience})
	defer db.Close()
	var verdict string
	if err := db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity of %s: %s, %v", path, verdict, err)
	}
}

func TestBackupRefuses(t *testing.T) {
	t.Parallel()
	s := newStoreAt(t, newFile(t), Options{})
	dir := t.TempDir()
	taken := filepath.Join(dir, "taken")
	if err := os.WriteFile(taken, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(t.Context(), taken); !errors.Is(err, fs.ErrExist) {
		t.Errorf("error is %v, want ErrExist", err)
	}
	if got := string(content(t, taken)); got != "mine" {
		t.Errorf("the other file became %q", got)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Backup(ctx, filepath.Join(dir, "cancelled")); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want Canceled", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}
