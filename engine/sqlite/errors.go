package sqlite

import (
	"errors"
	"fmt"

	sqlite3 "github.com/mattn/go-sqlite3"

	"ferrox/engine"
)

// Errors of this package alone. Test with errors.Is.
var (
	// ErrDamaged: the file is not a database, or one whose pages contradict each other. Nothing was acknowledged.
	ErrDamaged = errors.New("database is damaged")
	// ErrClosed: the store was closed, or a transaction was used after its function had returned.
	ErrClosed = errors.New("store is closed")
	// ErrSettings: a connection does not have the settings that durability rests on.
	ErrSettings = errors.New("connection has the wrong settings")
)

// explain turns an error of the driver into one that begins with what was attempted, can be told apart with errors.Is
// and ends with what to do next. Errors of others only get the beginning.
func explain(attempt string, err error) error {
	if err == nil {
		return nil
	}
	var fault sqlite3.Error
	if !errors.As(err, &fault) {
		return fmt.Errorf("%s: %w", attempt, err)
	}
	switch fault.Code {
	case sqlite3.ErrFull, sqlite3.ErrIoErr, sqlite3.ErrReadonly, sqlite3.ErrCantOpen, sqlite3.ErrPerm:
		return fmt.Errorf("%s: %w (%w); nothing was stored: make room on its disk or make it writable, then try again",
			attempt, engine.ErrDisk, err)
	case sqlite3.ErrBusy, sqlite3.ErrLocked, sqlite3.ErrProtocol:
		return fmt.Errorf("%s: %w (%w): a program other than ferrox has it locked; close that program, then try again",
			attempt, engine.ErrBusy, err)
	case sqlite3.ErrCorrupt, sqlite3.ErrNotADB:
		return fmt.Errorf("%s: %w (%w); keep the file and restore a backup", attempt, ErrDamaged, err)
	}
	return fmt.Errorf("%s: %w", attempt, err)
}
