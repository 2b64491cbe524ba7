package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"ferrox/engine"
)

// readers is how many snapshots can be open at once; a further View waits for one of them.
const readers = 4

// defaultPatience is how long a writer waits for another one.
const defaultPatience = 10 * time.Second

// Options say how to open a store. The zero value is what a short-lived command needs.
type Options struct {
	// Migrate makes the file if it is not there and brings it to the newest schema. Only a start without a live engine may.
	Migrate bool
	// Patience is how long a writer waits for another one before ErrBusy; 0 is ten seconds.
	Patience time.Duration
}

// Store is a SQLite file. Its methods may be called from many goroutines; writers go one after the other.
type Store struct {
	path     string
	patience time.Duration
	lock     fileLock

	writer  *pool // of one
	readers *pool
	watcher *pool // of one, for DataVersion alone: the answer is relative to its connection

	nextCut int64 // size in bytes of the write-ahead file at which cutting it is tried next; owned by the writer
}

var _ engine.Store = (*Store)(nil)

// Open opens the store at path. Without Options.Migrate, a file that is not there is fs.ErrNotExist and one with an older
// schema is engine.ErrOlderSchema. A newer schema is engine.ErrNewerSchema, and the file is left as it is.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	s := newStore(abs, o.Patience)
	if err := s.prepare(ctx, o.Migrate); err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("open store %s: %w", abs, err)
	}
	return s, nil
}

func newStore(path string, patience time.Duration) *Store {
	if patience <= 0 {
		patience = defaultPatience
	}
	patience = max(patience.Truncate(time.Millisecond), time.Millisecond) // what SQLite can count
	open := func(a access) *sql.DB {
		return sql.OpenDB(connector{path: path, access: a, patience: patience})
	}
	return &Store{
		path:     path,
		patience: patience,
		lock:     fileLock{path: path + ".lock"},
		writer:   newPool(open(write), 1),
		readers:  newPool(open(read), readers),
		watcher:  newPool(open(read), 1),
		nextCut:  walLimit,
	}
}

// View runs fn on one snapshot, taken at its first read. Short ones only: the write-ahead file cannot be cut below it.
func (s *Store) View(ctx context.Context, fn func(engine.Reader) error) error {
	attempt := "read " + s.path
	c, err := s.readers.take(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", attempt, err)
	}
	r := &reader{session: c}
	defer func() {
		r.done = true
		s.readers.put(c)
	}()
	if _, err := c.exec("BEGIN"); err != nil {
		return explain(attempt, err)
	}
	return fn(r)
}

// DataVersion changes when a commit was made since the last call.
func (s *Store) DataVersion(ctx context.Context) (int64, error) {
	attempt := "look for changes of " + s.path
	c, err := s.watcher.take(ctx)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", attempt, err)
	}
	defer s.watcher.put(c)
	n, err := c.number("PRAGMA data_version")
	return n, explain(attempt, err)
}

// Close waits for the transactions that run, then closes every connection. Closing again does nothing.
func (s *Store) Close() error {
	err := errors.Join(s.watcher.close(), s.readers.close(), s.writer.close())
	return explain("close "+s.path, err)
}
