package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ferrox/engine/crash"
	"ferrox/lanes"
)

// lockAge is how old an index.lock is at least before it is taken for one that a killed git left behind.
const lockAge = time.Minute

// clearDeadLock removes the index.lock that a killed git left in a lane. No worker is alive in it by now; the lock of a
// person's git, which stands in the worktree while it works, is left alone.
func (r *runner) clearDeadLock(l lanes.Lane) error {
	dir := gitDir(l.Worktree)
	if dir == "" {
		return nil
	}
	lock := filepath.Join(dir, "index.lock")
	info, err := os.Lstat(lock)
	if err != nil || r.Clock.Now().Sub(info.ModTime()) < lockAge || occupied(l.Worktree) {
		return nil
	}
	r.Logger.Warn("remove the lock of a git that was killed", "lane", l.Number, "file", lock, "since", stamp(info.ModTime()))
	defer crash.Around("clear dead lock")()
	if err := os.Remove(lock); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the lock of a git that was killed: %w", err)
	}
	return nil
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
