package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	sqlite3 "github.com/mattn/go-sqlite3"

	"ferrox/engine"
	"ferrox/engine/crash"
)

// backupStep is how many pages are copied between two looks at the context.
const backupStep = 1024

// Backup copies the store as of one instant to the file dest, whole and flushed, while others go on writing. It returns
// fs.ErrExist and changes nothing when dest is there already; a failed backup leaves nothing under that name.
func (s *Store) Backup(ctx context.Context, dest string) error {
	attempt := fmt.Sprintf("back up %s to %s", s.path, dest)
	if _, err := os.Lstat(dest); err == nil {
		return fmt.Errorf("%s: %w; choose another name", attempt, fs.ErrExist)
	}
	part, err := os.CreateTemp(filepath.Dir(dest), ".ferrox-backup-*")
	if err != nil {
		return fmt.Errorf("%s: %w (%w); make its folder writable", attempt, engine.ErrDisk, err)
	}
	defer os.Remove(part.Name())
	defer part.Close()

	if err := s.copyTo(ctx, part.Name()); err != nil {
		return explain(attempt, err)
	}
	if err := part.Sync(); err != nil {
		return fmt.Errorf("%s: %w (%w); make room there", attempt, engine.ErrDisk, err)
	}
	if err := publish(part.Name(), dest); err != nil {
		return fmt.Errorf("%s: %w", attempt, err)
	}
	return syncFolder(filepath.Dir(dest))
}

// publish gives a finished file its name without replacing another. Where the file system knows no links, what appeared
// there in this very moment would be replaced.
func publish(part, dest string) error {
	defer crash.Around("publish backup")()
	err := os.Link(part, dest)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Rename(part, dest)
}

func (s *Store) copyTo(ctx context.Context, file string) error {
	source, err := s.readers.take(ctx)
	if err != nil {
		return err
	}
	defer s.readers.put(source)

	// A snapshot that stays open keeps the copy from starting anew with every commit.
	if _, err := source.exec("BEGIN"); err != nil {
		return err
	}
	if _, err := versionOf(source); err != nil {
		return err
	}
	// No journal and no flushes: the file has no name yet, and is flushed once, when it is whole.
	u := url.URL{Scheme: "file", OmitHost: true, Path: file, RawQuery: "_journal_mode=OFF&_synchronous=OFF"}
	target, err := (&sqlite3.SQLiteDriver{}).Open(u.String())
	if err != nil {
		return err
	}
	err = source.raw(func(from *sqlite3.SQLiteConn) error {
		return copyPages(ctx, target.(*sqlite3.SQLiteConn), from)
	})
	return errors.Join(err, target.Close())
}

func copyPages(ctx context.Context, to, from *sqlite3.SQLiteConn) error {
	b, err := to.Backup("main", from, "main")
	if err != nil {
		return err
	}
	for left := -1; ; {
		done, err := b.Step(backupStep)
		if err == nil && !done && b.Remaining() == left {
			err = sqlite3.Error{Code: sqlite3.ErrBusy}
		}
		if err == nil && !done {
			left, err = b.Remaining(), ctx.Err()
		}
		if err != nil {
			return errors.Join(err, b.Finish())
		}
		if done {
			return b.Finish()
		}
	}
}
