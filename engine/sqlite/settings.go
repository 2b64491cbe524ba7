package sqlite

import (
	"context"
	"fmt"
	"os"

	sqlite3 "github.com/mattn/go-sqlite3"
)

// Settings is what a store looks like from outside its records.
type Settings struct {
	Path        string
	SQLite      string       // version of the library
	Schema      int64        // number of the last migration
	LogBytes    int64        // size of the write-ahead file
	LogLimit    int64        // well above it, some View does not end and keeps the file from being cut
	Connections []Connection // the writer and the readers, as they answer now
}

// Settings asks the writer and every reader for what they really have. It waits for running transactions.
func (s *Store) Settings(ctx context.Context) (Settings, error) {
	version, _, _ := sqlite3.Version()
	found := Settings{Path: s.path, SQLite: version, LogBytes: s.logSize(), LogLimit: walLimit}
	for _, p := range []*pool{s.writer, s.readers, s.watcher} {
		if err := found.inspect(ctx, p); err != nil {
			return found, fmt.Errorf("read settings of %s: %w", s.path, err)
		}
	}
	return found, nil
}

// inspect asks every session that a pool can lend.
func (found *Settings) inspect(ctx context.Context, p *pool) error {
	for range cap(p.slots) {
		c, err := p.take(ctx)
		if err != nil {
			return err
		}
		defer p.put(c) // only at the end, or the next one taken would be the same
		if found.Schema, err = versionOf(c); err != nil {
			return err
		}
		if err := c.raw(found.add); err != nil {
			return explain("ask a connection", err)
		}
	}
	return nil
}

func (found *Settings) add(raw *sqlite3.SQLiteConn) error {
	got, err := settingsOf(raw)
	if err != nil {
		return err
	}
	got.Use = "write"
	if got.QueryOnly {
		got.Use = "read"
	}
	found.Connections = append(found.Connections, got)
	return nil
}

// logSize returns the size of the write-ahead file in bytes, 0 when there is none.
func (s *Store) logSize() int64 {
	info, err := os.Stat(s.path + "-wal")
	if err != nil {
		return 0
	}
	return info.Size()
}
