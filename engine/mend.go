package engine

import (
	"errors"
	"fmt"
	"os"

	"ferrox/lanes"
)

// MendError is something in the way, with the command that puts it right and loses nothing.
type MendError struct {
	Err  error
	Next string
}

func (e *MendError) Error() string { return e.Err.Error() }
func (e *MendError) Unwrap() error { return e.Err }

// mend says what to type for a task whose lane broke.
func mend(id lanes.TaskID, cause error) string {
	var m *MendError
	if errors.As(cause, &m) {
		return m.Next + ", then ferrox retry " + string(id)
	}
	return "ferrox retry " + string(id)
}

// mendPacket names the command that brings a packet back which is gone from its lane.
func (u unit) mendPacket(err error) error {
	if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return &MendError{Err: err, Next: fmt.Sprintf("git -C %s restore -- %s", u.lane.Worktree, u.task.Path)}
}
