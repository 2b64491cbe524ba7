package process

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// BecomeSubreaper makes the calling process the parent of every descendant that loses its own: nothing that it starts
// gets away by forking twice.
func BecomeSubreaper() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become child subreaper: %w", err)
	}
	return nil
}

// foreign lists the descendants of this process that live outside of its session, with their own descendants. What
// stays in the session was started by this program for itself; a worker's tree starts with a session of its own and no
// process can enter another one's session, so the two never mix.
func foreign() ([]stat, error) {
	all, err := everyProcess()
	if err != nil {
		return nil, err
	}
	session, err := unix.Getsid(0)
	if err != nil {
		return nil, fmt.Errorf("read own session: %w", err)
	}
	return descendants(all, os.Getpid(), func(s stat) bool { return s.session != session }), nil
}

// descendants picks what stands below root. A process that keep refuses is left out with everything below it.
func descendants(all []stat, root int, keep func(stat) bool) []stat {
	children := make(map[int][]stat, len(all))
	for _, s := range all {
		children[s.ppid] = append(children[s.ppid], s)
	}
	var found []stat
	for next := []int{root}; len(next) > 0; next = next[1:] {
		for _, s := range children[next[0]] {
			if s.pid == root || !keep(s) {
				continue
			}
			found = append(found, s)
			next = append(next, s.pid)
		}
	}
	return found
}

// childless reports whether this process has no child at all, alive or dead. Nothing is reaped.
func childless() bool {
	for {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == unix.ECHILD
		}
	}
}

// reap takes a dead child off the process table; false when it is not there to be taken.
func reap(pid int) bool {
	for {
		got, err := unix.Wait4(pid, nil, unix.WNOHANG, nil)
		if err != unix.EINTR {
			return err == nil && got == pid
		}
	}
}
