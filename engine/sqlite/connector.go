package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"
	"time"

	sqlite3 "github.com/mattn/go-sqlite3"
)

// walLimit is the size in bytes to which the write-ahead file is cut back whenever SQLite starts it anew.
const walLimit = 16 << 20

// synchronousFull is what PRAGMA synchronous answers for FULL: a commit returns after the flush.
const synchronousFull = 2

// Connection tells the settings that a connection really has.
type Connection struct {
	Use         string        // "write" or "read"
	Journal     string        // "wal"
	Synchronous int           // 2 is FULL
	ForeignKeys bool          // enforced
	BusyTimeout time.Duration // how long SQLite itself waits for a lock
	QueryOnly   bool          // cannot write
}

// wrong names the first setting that differs from what the store needs, or returns "".
func (c Connection) wrong(patience time.Duration) string {
	switch {
	case c.Journal != "wal":
		return "journal_mode is " + c.Journal + ", not wal"
	case c.Synchronous != synchronousFull:
		return fmt.Sprintf("synchronous is %d, not %d (FULL)", c.Synchronous, synchronousFull)
	case !c.ForeignKeys:
		return "foreign_keys is off"
	case c.BusyTimeout != patience:
		return fmt.Sprintf("busy_timeout is %v, not %v", c.BusyTimeout, patience)
	case c.QueryOnly != (c.Use == "read"):
		return fmt.Sprintf("query_only is %v", c.QueryOnly)
	}
	return ""
}

// connector opens connections and believes none of them: every new one has its settings read back.
type connector struct {
	path     string
	access   access
	patience time.Duration
}

var _ driver.Connector = connector{}

// Driver returns SQLite's driver.
func (c connector) Driver() driver.Driver { return &sqlite3.SQLiteDriver{} }

// Connect opens one connection. ErrSettings when it does not have the settings asked for.
func (c connector) Connect(context.Context) (driver.Conn, error) {
	raw, err := c.Driver().Open(dataSource(c.path, c.access, c.patience))
	if err != nil {
		return nil, err
	}
	if err := c.check(raw.(*sqlite3.SQLiteConn)); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return raw, nil
}

func (c connector) check(raw *sqlite3.SQLiteConn) error {
	if _, err := raw.Exec(fmt.Sprintf("PRAGMA journal_size_limit = %d", walLimit), nil); err != nil {
		return err
	}
	got, err := settingsOf(raw)
	if err != nil {
		return err
	}
	got.Use = c.use()
	if wrong := got.wrong(c.patience); wrong != "" {
		return fmt.Errorf("%w: %s", ErrSettings, wrong)
	}
	return nil
}

func (c connector) use() string {
	if c.access == read {
		return "read"
	}
	return "write"
}

// settingsOf asks a connection for its settings.
func settingsOf(raw *sqlite3.SQLiteConn) (Connection, error) {
	var c Connection
	var numbers [4]int64
	for i, name := range []string{"synchronous", "foreign_keys", "busy_timeout", "query_only"} {
		v, err := pragma(raw, name)
		if err != nil {
			return c, err
		}
		numbers[i], _ = v.(int64)
	}
	journal, err := pragma(raw, "journal_mode")
	if err != nil {
		return c, err
	}
	c.Journal = fmt.Sprint(journal)
	c.Synchronous = int(numbers[0])
	c.ForeignKeys = numbers[1] == 1
	c.BusyTimeout = time.Duration(numbers[2]) * time.Millisecond
	c.QueryOnly = numbers[3] == 1
	return c, nil
}

// pragma reads one setting of one value.
func pragma(raw *sqlite3.SQLiteConn, name string) (driver.Value, error) {
	rows, err := raw.Query("PRAGMA "+name, nil)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	values := make([]driver.Value, 1)
	if err := rows.Next(values); err != nil {
		if err == io.EOF {
			return nil, fmt.Errorf("read PRAGMA %s: no answer", name)
		}
		return nil, err
	}
	return values[0], nil
}
