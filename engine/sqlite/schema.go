package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pressly/goose/v3"

	"ferrox/engine"
	"ferrox/engine/crash"
	"ferrox/migrations"
)

// prepare makes sure that the file has our schema. For a file that has it, that is one connection and one query.
func (s *Store) prepare(ctx context.Context, migrate bool) error {
	version, err := s.schema(ctx)
	switch {
	case errors.Is(err, ErrSettings), errors.Is(err, engine.ErrDisk):
		// Perhaps not in WAL mode: the writer's connection changes that, a reader cannot.
		version, err = s.schemaOfWriter(ctx)
	case errors.Is(err, fs.ErrNotExist) && migrate:
		err = makeFolder(filepath.Dir(s.path))
	}
	if err != nil {
		return err
	}
	if version == migrations.Latest {
		return nil
	}
	if version > migrations.Latest || !migrate {
		return mismatch(version)
	}
	return s.migrate(ctx)
}

// mismatch names both versions.
func mismatch(version int64) error {
	if version > migrations.Latest {
		return fmt.Errorf("%w: its schema is %d, this ferrox knows up to %d; nothing was changed: use the newer ferrox",
			engine.ErrNewerSchema, version, migrations.Latest)
	}
	return fmt.Errorf("%w: its schema is %d, this ferrox needs %d; start the engine with `ferrox run` or `ferrox resume`",
		engine.ErrOlderSchema, version, migrations.Latest)
}

// schema reads the number of the last migration through a reader, which changes nothing.
func (s *Store) schema(ctx context.Context) (int64, error) {
	info, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%w; start the engine with `ferrox run` first", err)
	}
	if err != nil {
		return 0, fmt.Errorf("%w (%w); make it readable", engine.ErrDisk, err)
	}
	if info.Size() == 0 {
		return 0, nil
	}
	c, err := s.readers.take(ctx)
	if err != nil {
		return 0, err
	}
	defer s.readers.put(c)
	return versionOf(c)
}

// schemaOfWriter does the same through the writer, whose connection turns the file to WAL: not one of a newer program.
func (s *Store) schemaOfWriter(ctx context.Context) (int64, error) {
	if version := headerVersion(s.path); version > migrations.Latest {
		return version, nil
	}
	c, err := s.writer.take(ctx)
	if err != nil {
		return 0, err
	}
	defer s.writer.put(c)
	return versionOf(c)
}

// headerVersion reads PRAGMA user_version from where the file format puts it. Without WAL, that is the current one.
func headerVersion(path string) int64 {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	var number [4]byte
	if _, err := f.ReadAt(number[:], 60); err != nil {
		return 0
	}
	return int64(int32(binary.BigEndian.Uint32(number[:])))
}

// versionOf returns the higher of the two numbers that tell the schema: ours and the migration library's.
func versionOf(c *session) (int64, error) {
	version, err := c.number("PRAGMA user_version")
	if err != nil {
		return 0, explain("read its schema", err)
	}
	if version == 0 {
		return 0, nil
	}
	listed, err := c.number("SELECT MAX(version_id) FROM goose_db_version")
	if err != nil {
		return 0, explain("read its list of migrations", err)
	}
	return max(version, listed), nil
}

// migrate applies the missing migrations, each in a transaction, under the file lock.
func (s *Store) migrate(ctx context.Context) error {
	release, err := s.lock.acquire(ctx, s.patience)
	if err != nil {
		return err
	}
	defer release()

	// The folder's own name, whoever made it: SQLite flushes the names in the folder. Before the first migration, so that a
	// start which is killed here repeats it.
	if err := syncFolder(filepath.Dir(filepath.Dir(s.path))); err != nil {
		return err
	}
	db := sql.OpenDB(connector{path: s.path, access: create, patience: s.patience})
	db.SetMaxOpenConns(1)
	defer db.Close()
	p, err := goose.NewProvider(goose.DialectSQLite3, db, migrations.Files,
		goose.WithLogger(goose.NopLogger()), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return explain("read the migrations", err)
	}
	for {
		after := crash.Around("migrate")
		_, err := p.UpByOne(ctx)
		after()
		if errors.Is(err, goose.ErrNoNextVersion) {
			break
		}
		if err != nil {
			return explain("migrate", err)
		}
	}
	return syncFolder(filepath.Dir(s.path))
}

func makeFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make folder %s: %w (%w); make the folder above it writable", dir, engine.ErrDisk, err)
	}
	return nil
}

// syncFolder makes names in a folder durable.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("flush folder %s: %w", dir, err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("flush folder %s: %w (%w)", dir, engine.ErrDisk, err)
	}
	return nil
}
