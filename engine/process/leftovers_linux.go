package process

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// EndLeftovers ends what still stands below this process: TERM, and after grace KILL. It is for a subreaper whose command
// has ended, before it goes itself and lets go of what it answered for. Processes that are this program (an engine, a
// shim, another `ferrox supervise`) answer for themselves: they stay, with everything below them.
func EndLeftovers(grace time.Duration) error {
	self, err := os.Stat("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("end leftovers: %w", err)
	}
	began := time.Now()
	told := make(map[int]uint64)
	for {
		all, err := everyProcess()
		if err != nil {
			return fmt.Errorf("end leftovers: %w", err)
		}
		left := descendants(all, os.Getpid(), func(s stat) bool { return !s.dead() && !runs(s.pid, self) })
		if len(left) == 0 {
			return nil
		}
		for _, s := range left {
			sig := unix.SIGTERM
			if time.Since(began) >= grace {
				sig = unix.SIGKILL
			} else if told[s.pid] == s.start {
				continue
			}
			told[s.pid] = s.start
			if err := signalProcess(s, sig); err != nil && !errors.Is(err, errGone) {
				return fmt.Errorf("end leftovers: signal %s: %w", s, err)
			}
		}
		time.Sleep(sweepEvery)
	}
}

// runs reports whether a process runs that very program file.
func runs(pid int, program os.FileInfo) bool {
	exe, err := os.Stat("/proc/" + strconv.Itoa(pid) + "/exe")
	return err == nil && os.SameFile(exe, program)
}
