package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	sqlite3 "github.com/mattn/go-sqlite3"

	"ferrox/engine"
	"ferrox/engine/crash"
)

// ErrNotStore: a file is no database of ferrox. Nothing was changed.
var ErrNotStore = errors.New("not a database of ferrox")

// Restore puts a backup in the place of the store at path, and returns the name under which the present database is kept
// beside it ("" when there was none). The caller holds the engine lock. The backup itself is only read; an older one is
// brought to our schema first. ErrNotStore, engine.ErrNewerSchema, ErrDamaged and engine.ErrBusy (some process has the
// present database open) leave everything as it was.
func Restore(ctx context.Context, backup, path string, at time.Time) (kept string, err error) {
	attempt := fmt.Sprintf("restore %s from %s", path, backup)
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return "", fmt.Errorf("%s: %w", attempt, err)
	}
	scratch, err := os.MkdirTemp(filepath.Dir(path), ".restore-*")
	if err != nil {
		return "", fmt.Errorf("%s: %w (%w); make its folder writable", attempt, engine.ErrDisk, err)
	}
	defer os.RemoveAll(scratch)
	whole := filepath.Join(scratch, "whole")
	if err := readBackup(ctx, backup, filepath.Join(scratch, "copy"), whole); err != nil {
		return "", fmt.Errorf("%s: %w", attempt, err)
	}
	lock := fileLock{path: path + ".lock"}
	release, err := lock.acquire(ctx, defaultPatience)
	if err != nil {
		return "", fmt.Errorf("%s: %w", attempt, err)
	}
	defer release()
	if kept, err = swap(whole, path, at); err != nil {
		return kept, fmt.Errorf("%s: %w", attempt, err)
	}
	return kept, syncFolder(filepath.Dir(path))
}

// readBackup checks a copy of the backup and writes it as one whole file. A side file beside the backup belongs to it: a
// copy of a live database has its newest records there.
func readBackup(ctx context.Context, backup, copied, whole string) error {
	for _, side := range []string{"", "-wal"} {
		err := copyFile(backup+side, copied+side)
		if side != "" && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
	}
	if err := isStore(copied); err != nil {
		return err
	}
	s, err := Open(ctx, copied, Options{Migrate: true})
	if err != nil {
		return err
	}
	err = s.Sound(ctx)
	if err == nil {
		err = s.Backup(ctx, whole)
	}
	return errors.Join(err, s.Close())
}

// isStore looks for what no other program's file has: our list of migrations.
func isStore(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var magic [16]byte
	if _, err := io.ReadFull(f, magic[:]); err != nil || string(magic[:]) != "SQLite format 3\x00" {
		return fmt.Errorf("%w; choose a file that `ferrox backup` made", ErrNotStore)
	}
	raw, err := openRaw(path)
	if err != nil {
		return err
	}
	defer raw.Close()
	version, err := pragma(raw, "user_version")
	if err != nil {
		return explain("read its schema", err)
	}
	rows, err := raw.Query("SELECT MAX(version_id) FROM goose_db_version", nil)
	if err != nil || version == int64(0) {
		return fmt.Errorf("%w: it has no list of migrations; choose a file that `ferrox backup` made", ErrNotStore)
	}
	return rows.Close()
}

func openRaw(path string) (*sqlite3.SQLiteConn, error) {
	c, err := (&sqlite3.SQLiteDriver{}).Open("file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path) + "?_busy_timeout=5000")
	if err != nil {
		return nil, explain("open "+path, err)
	}
	return c.(*sqlite3.SQLiteConn), nil
}

// Sound has SQLite look through every page.
func (s *Store) Sound(ctx context.Context) error {
	c, err := s.readers.take(ctx)
	if err != nil {
		return err
	}
	defer s.readers.put(c)
	rows, err := c.query("PRAGMA quick_check(1)")
	if err != nil {
		return explain("check it", err)
	}
	defer rows.Close()
	answer := "no answer"
	for rows.Next() {
		if err := rows.Scan(&answer); err != nil {
			return explain("check it", err)
		}
	}
	if err := rows.Err(); err != nil {
		return explain("check it", err)
	}
	if answer != "ok" {
		return fmt.Errorf("%w: %s; choose another backup", ErrDamaged, answer)
	}
	return nil
}

// swap gives the new file the name, in one step. The present database keeps another one; before that it is made one whole
// file, so that no side file of the old is ever read with the new. SQLite refuses that while anybody has it open.
func swap(whole, path string, at time.Time) (kept string, err error) {
	_, statErr := os.Lstat(path)
	present := statErr == nil
	if present {
		kept = path + ".before-" + at.UTC().Format("20060102T150405.000000Z")
		if err := alone(path); err != nil && !errors.Is(err, ErrDamaged) {
			return "", err
		}
		after := crash.Around("keep database")
		err := os.Link(path, kept)
		after()
		if err != nil {
			return "", fmt.Errorf("keep the present database: %w (%w); make its folder writable", engine.ErrDisk, err)
		}
	}
	for _, side := range []string{"-wal", "-shm"} { // of a damaged or lost database
		name := path
		if present {
			name = kept
		}
		after := crash.Around("set side file aside")
		err := os.Rename(path+side, name+side+lost(present))
		after()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return kept, fmt.Errorf("set the side file aside: %w (%w)", engine.ErrDisk, err)
		}
	}
	defer crash.Around("put backup in place")()
	if err := os.Rename(whole, path); err != nil {
		return kept, fmt.Errorf("put the backup in place: %w (%w)", engine.ErrDisk, err)
	}
	return kept, nil
}

// lost is what a side file without its database is called.
func lost(present bool) string {
	if present {
		return ""
	}
	return ".lost"
}

// alone makes a database one whole file without side files, which works only when no process has it open.
func alone(path string) error {
	raw, err := openRaw(path)
	if err != nil {
		return err
	}
	defer raw.Close()
	mode, err := pragma(raw, "journal_mode = DELETE")
	if err == nil && mode != "delete" {
		err = sqlite3.Error{Code: sqlite3.ErrBusy}
	}
	return explain("close the present database", err)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("read the backup: %w", err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("copy the backup: %w (%w)", engine.ErrDisk, err)
	}
	if _, err = io.Copy(out, in); err != nil {
		err = fmt.Errorf("copy the backup: %w (%w); make room", engine.ErrDisk, err)
	}
	return errors.Join(err, out.Close())
}
