package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ferrox/engine/crash"
)

// lockAge is how old a lock is at least before it is taken for one that a killed git left behind, if nothing says that it
// was the worker's.
const lockAge = time.Minute

// clearDeadLocks removes the locks that a killed git left in a lane, of its index, its HEAD and its branch: at once when they
// were made while the last worker ran, whose whole tree has ended by now, or else when they are old. The locks of a person's
// git, which stands in the worktree while it works, are left alone.
func (r *runner) clearDeadLocks(u unit) error {
	dir := gitDir(u.lane.Worktree)
	if dir == "" {
		return nil
	}
	branch := filepath.Join(filepath.Dir(filepath.Dir(dir)), "refs", "heads", filepath.FromSlash(u.lane.Branch))
	for _, lock := range []string{filepath.Join(dir, "index.lock"), filepath.Join(dir, "HEAD.lock"), branch + ".lock"} {
		if err := r.clearDeadLock(u, lock); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) clearDeadLock(u unit, lock string) error {
	info, err := os.Lstat(lock)
	if err != nil || !u.madeByWorker(info.ModTime()) && r.Clock.Now().Sub(info.ModTime()) < lockAge || occupied(u.lane.Worktree) {
		return nil
	}
	r.Logger.Warn("remove the lock of a git that was killed", "lane", u.lane.Number, "file", lock, "since", stamp(info.ModTime()))
	defer crash.Around("clear dead lock")()
	if err := os.Remove(lock); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the lock of a git that was killed: %w", err)
	}
	return nil
}

// madeByWorker reports whether an instant lies in the last run of the unit's worker, which has ended.
func (u unit) madeByWorker(at time.Time) bool {
	return u.last != nil && !u.last.EndedAt.IsZero() && !at.Before(u.last.StartedAt) && !at.After(u.last.EndedAt)
}

// occupied reports whether a process stands in a folder. One that cannot be looked at belongs to another user.
func occupied(dir string) bool {
	procs, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil || len(procs) == 0 {
		return true
	}
	for _, p := range procs {
		if cwd, err := os.Readlink(p); err == nil && (cwd == dir || strings.HasPrefix(cwd, dir+"/")) {
			return true
		}
	}
	return false
}
