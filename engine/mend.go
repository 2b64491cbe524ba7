package engine

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"ferrox/lanes"
)

// MendError is something in the way, with the command that puts it right and loses nothing.
type MendError struct {
	Err  error
	Next string
}

func (e *MendError) Error() string { return e.Err.Error() }
func (e *MendError) Unwrap() error { return e.Err }

// Mend is what has to be done about an error before the same can work; "" when the error does not say.
func Mend(err error) string {
	var m *MendError
	var g *GitError
	said := ""
	if errors.As(err, &g) {
		said = g.Stderr
	}
	is := func(text string, codes ...syscall.Errno) bool {
		return strings.Contains(said, text) || slices.ContainsFunc(codes, func(c syscall.Errno) bool { return errors.Is(err, c) })
	}
	switch {
	case errors.As(err, &m):
		return m.Next
	case errors.Is(err, ErrGitLocked):
		return "wait until the other git has ended, or remove its lock when there is none"
	case is("No space left on device", syscall.ENOSPC, syscall.EFBIG), is("Disk quota exceeded", syscall.EDQUOT):
		return "make room on the disk"
	case is("Read-only file system", syscall.EROFS), is("Permission denied", syscall.EACCES, syscall.EPERM):
		return "make it writable"
	case errors.Is(err, ErrDisk):
		return "make room on its disk or make it writable"
	}
	return ""
}

// retryAfter says what to type for a task whose lane broke.
func retryAfter(id lanes.TaskID, cause error) string {
	if first := Mend(cause); first != "" {
		return first + ", then ferrox retry " + string(id)
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
