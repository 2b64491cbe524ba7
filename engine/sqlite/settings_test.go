package sqlite

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ferrox/engine"
	"ferrox/migrations"
)

// The driver's own choice would be NORMAL and no foreign keys; a statement would reach one connection only.
func TestW52_SettingsHoldOnEveryConnection(t *testing.T) {
	t.Parallel()
	s := newStoreAt(t, newFile(t), Options{Patience: 1234 * time.Millisecond})
	found, err := s.Settings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := readers + 2; len(found.Connections) != want {
		t.Fatalf("%d connections, want %d", len(found.Connections), want)
	}
	uses := map[string]int{}
	for _, c := range found.Connections {
		uses[c.Use]++
		want := Connection{
			Use: c.Use, Journal: "wal", Synchronous: 2, ForeignKeys: true, BusyTimeout: 1234 * time.Millisecond,
			QueryOnly: c.Use == "read",
		}
		if c != want {
			t.Errorf("connection is %+v, want %+v", c, want)
		}
	}
	if uses["write"] != 1 || uses["read"] != readers+1 {
		t.Errorf("uses are %v", uses)
	}
	if found.Schema != migrations.Latest || found.SQLite == "" || found.LogLimit == 0 {
		t.Errorf("settings are %+v", found)
	}
}

// A connection whose settings are not what was asked for is refused when it is made.
func TestW52_WrongSettingsAreRefused(t *testing.T) {
	t.Parallel()
	good := Connection{Use: "write", Journal: "wal", Synchronous: 2, ForeignKeys: true, BusyTimeout: time.Second}
	if wrong := good.wrong(time.Second); wrong != "" {
		t.Errorf("good settings: %s", wrong)
	}
	for want, change := range map[string]func(*Connection){
		"journal_mode": func(c *Connection) { c.Journal = "delete" },
		"synchronous":  func(c *Connection) { c.Synchronous = 1 },
		"foreign_keys": func(c *Connection) { c.ForeignKeys = false },
		"busy_timeout": func(c *Connection) { c.BusyTimeout = 0 },
		"query_only":   func(c *Connection) { c.QueryOnly = true },
	} {
		c := good
		change(&c)
		if wrong := c.wrong(time.Second); !strings.HasPrefix(wrong, want) {
			t.Errorf("%s: %q", want, wrong)
		}
	}

	// What a connection answers is what counts: this one is asked for more patience than it can count.
	path := newFile(t)
	db := sql.OpenDB(connector{path: path, access: write, patience: time.Second + time.Microsecond})
	defer db.Close()
	if err := db.PingContext(t.Context()); !errors.Is(err, ErrSettings) {
		t.Errorf("error is %v, want ErrSettings", err)
	}

	// A file that another program took out of WAL is put back when it is opened.
	plain(t, path, "PRAGMA journal_mode = DELETE")
	s := newStoreAt(t, path, Options{})
	if err := appendNumber(t.Context(), s, "x", 1, ""); err != nil {
		t.Error(err)
	}
}

// plain runs statements on a connection of its own, as another program would.
func plain(t testing.TB, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, text := range statements {
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

// What a path contains is never taken for a part of the connection's settings.
func TestW62_PathsAreJustNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"with blank", "a?mode=memory", "a#b", "100%", "%41", "grüße-船", "a&_synchronous=OFF", "file:x", "a;b'c\"d", "line\nfeed",
	} {
		path := filepath.Join(t.TempDir(), name, name+".db")
		s := newStoreAt(t, path, Options{Migrate: true})
		if err := appendNumber(t.Context(), s, name, 1, ""); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if got := s.logSize(); got == 0 {
			t.Errorf("%q: the file is not where it was asked for", name)
		}
		again := newStoreAt(t, path, Options{})
		if found := eventsOf(t, again); len(found) != 1 || found[0].Name != name {
			t.Errorf("%q: read back %v", name, found)
		}
	}
}

// A program that is not ferrox and sits on the database is told apart from a writer of ours, and does not stop readers.
func TestW52_StrangerHoldsTheDatabase(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	s := newStoreAt(t, path, Options{Patience: 20 * time.Millisecond})
	db, err := sql.Open("sqlite3", path+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	stranger, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	err = appendNumber(t.Context(), s, "x", 1, "")
	if !errors.Is(err, engine.ErrBusy) || !strings.Contains(err.Error(), "other than ferrox") {
		t.Errorf("error is %v", err)
	}
	if n := len(eventsOf(t, s)); n != 0 {
		t.Errorf("%d events", n)
	}
	if err := stranger.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := appendNumber(t.Context(), s, "x", 1, ""); err != nil {
		t.Error(err)
	}
}
