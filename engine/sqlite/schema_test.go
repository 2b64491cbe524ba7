package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ferrox/engine"
	"ferrox/hold"
	"ferrox/migrations"
)

func TestMissingFileIsNotMade(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state", "ferrox.db")
	if _, err := Open(t.Context(), path, Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error is %v, want ErrNotExist", err)
	}
	if _, err := os.Stat(filepath.Dir(path)); err == nil {
		t.Error("something was made")
	}
}

func TestEmptyFileNeedsMigration(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ferrox.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path, Options{}); !errors.Is(err, engine.ErrOlderSchema) {
		t.Errorf("error is %v, want ErrOlderSchema", err)
	}
	newStoreAt(t, path, Options{Migrate: true})
}

func TestDamagedFileIsNamed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ferrox.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("not a database. ", 512)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, migrate := range []bool{false, true} {
		_, err := Open(t.Context(), path, Options{Migrate: migrate})
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) {
			t.Errorf("error is %v, want ErrDamaged", err)
		}
	}
}

// raisedVersion makes a file look like one of the next ferrox.
var raisedVersion = fmt.Sprintf("PRAGMA user_version = %d", migrations.Latest+1)

// A newer file is refused whichever number is raised, names both versions and stays as it is, byte for byte.
func TestW55_NewerSchemaIsRefusedUnchanged(t *testing.T) {
	t.Parallel()
	for name, raise := range map[string]string{
		"user_version": raisedVersion,
		"goose":        fmt.Sprintf("INSERT INTO goose_db_version (version_id, is_applied) VALUES (%d, 1)", migrations.Latest+1),
	} {
		path := newFile(t)
		plain(t, path, raise)
		before := content(t, path)
		for _, migrate := range []bool{false, true} {
			_, err := Open(t.Context(), path, Options{Migrate: migrate})
			if !errors.Is(err, engine.ErrNewerSchema) || !strings.Contains(err.Error(), fmt.Sprintf("schema is %d", migrations.Latest+1)) ||
				!strings.Contains(err.Error(), fmt.Sprintf("up to %d", migrations.Latest)) {
				t.Errorf("%s: error is %v", name, err)
			}
		}
		if !bytes.Equal(before, content(t, path)) {
			t.Errorf("%s: the file was changed", name)
		}
	}
}

// A newer file that was turned from WAL by another program is not even turned back.
func TestW55_NewerSchemaOutsideWALIsRefusedUnchanged(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	plain(t, path, "PRAGMA journal_mode = DELETE", raisedVersion)
	before := content(t, path)
	if _, err := Open(t.Context(), path, Options{Migrate: true}); !errors.Is(err, engine.ErrNewerSchema) {
		t.Errorf("error is %v, want ErrNewerSchema", err)
	}
	if !bytes.Equal(before, content(t, path)) {
		t.Error("the file was changed")
	}
}

// The newer version may still be in the write-ahead file only, left by a crash.
func TestW55_NewerSchemaInLogIsRefusedUnchanged(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	s := newStoreAt(t, path, Options{})
	if err := appendNumber(t.Context(), s, "x", 1, ""); err != nil {
		t.Fatal(err)
	}
	plain(t, path, raisedVersion)
	copied := filepath.Join(t.TempDir(), "copy.db")
	for _, end := range []string{"", "-wal"} {
		if err := os.WriteFile(copied+end, content(t, path+end), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Open(t.Context(), copied, Options{Migrate: true}); !errors.Is(err, engine.ErrNewerSchema) {
		t.Errorf("error is %v, want ErrNewerSchema", err)
	}
	for _, end := range []string{"", "-wal"} {
		if !bytes.Equal(content(t, path+end), content(t, copied+end)) {
			t.Errorf("%q was changed", end)
		}
	}

	// And a store that was open when a newer program migrated the file writes no more.
	if err := appendNumber(t.Context(), s, "x", 2, ""); !errors.Is(err, engine.ErrNewerSchema) {
		t.Errorf("write: error is %v, want ErrNewerSchema", err)
	}
	if n := len(eventsOf(t, s)); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
}

func content(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// testdata keeps a file of every schema that was ever published, with records in it. Each is brought up to date and read.
// A new migration adds the file of the schema before it: run this test with FERROX_KEEP_SCHEMA=1 before writing it.
func TestUpgradeFromEveryOlderSchema(t *testing.T) {
	t.Parallel()
	if os.Getenv("FERROX_KEEP_SCHEMA") != "" {
		keepSchema(t)
	}
	for v := 1; v <= migrations.Latest; v++ {
		t.Run(fmt.Sprint(v), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "ferrox.db")
			if err := os.WriteFile(path, content(t, schemaFile(v)), 0o600); err != nil {
				t.Fatal(err)
			}
			if v < migrations.Latest {
				if _, err := Open(t.Context(), path, Options{}); !errors.Is(err, engine.ErrOlderSchema) {
					t.Errorf("error is %v, want ErrOlderSchema", err)
				}
			}
			s := newStoreAt(t, path, Options{Migrate: true})
			err := s.View(t.Context(), func(r engine.Reader) error {
				h, err := r.Hold(t.Context(), "kept")
				if h.Question != "May I?" || !h.Unresolved() {
					t.Errorf("hold is %+v", h)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
			found, err := s.Settings(t.Context())
			if err != nil || found.Schema != migrations.Latest {
				t.Errorf("schema is %d, %v", found.Schema, err)
			}
		})
	}
}

func schemaFile(version int) string {
	return filepath.Join("testdata", fmt.Sprintf("schema-%04d.db", version))
}

func keepSchema(t *testing.T) {
	t.Helper()
	s := newStoreAt(t, newFile(t), Options{})
	seed(t, s)
	err := s.Update(t.Context(), func(tx engine.Tx) error {
		_, err := tx.PutHold(t.Context(), hold.Record{ID: "kept", Batch: "b1", Question: "May I?", State: hold.Open})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll("testdata", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(t.Context(), schemaFile(migrations.Latest)); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
}

// The migrations leave the number that a start reads, and a file that is current is opened without goose: a file whose
// list of migrations is broken further down opens.
func TestCurrentFileIsOpenedAtOnce(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	plain(t, path, "DELETE FROM goose_db_version WHERE version_id = 0") // goose would fail on that
	newStoreAt(t, path, Options{Migrate: true})
}

// Starts that come together make one database between them.
func TestFirstStartsTogether(t *testing.T) {
	t.Parallel()
	for range 5 {
		path := filepath.Join(t.TempDir(), "ferrox.db")
		var starts sync.WaitGroup
		for n := range 4 {
			starts.Go(func() {
				s, err := Open(t.Context(), path, Options{Migrate: true})
				if err != nil {
					t.Error(err)
					return
				}
				defer s.Close()
				if err := appendNumber(t.Context(), s, "x", n, ""); err != nil {
					t.Error(err)
				}
			})
		}
		starts.Wait()
		if n := len(eventsOf(t, newStoreAt(t, path, Options{}))); n != 4 {
			t.Errorf("%d events, want 4", n)
		}
	}
}
