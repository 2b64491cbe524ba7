package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ferrox/lanes"
)

// Self is the identity of the calling process. It is an error when /proc belongs to another pid namespace, since
// nothing that is read there would be about the right processes.
func Self() (lanes.Identity, error) {
	shown, err := os.Readlink("/proc/self")
	if err != nil {
		return lanes.Identity{}, fmt.Errorf("read own identity: %w; mount /proc", err)
	}
	if shown != strconv.Itoa(os.Getpid()) {
		return lanes.Identity{}, fmt.Errorf("read own identity: /proc is of another pid namespace; mount one of this namespace")
	}
	return IdentityOf(os.Getpid())
}

// IdentityOf is the identity of a process that is alive or waits to be reaped.
func IdentityOf(pid int) (lanes.Identity, error) {
	s, err := readStat(pid)
	if err != nil {
		return lanes.Identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	ns, err := PIDNamespace(pid)
	if err != nil {
		return lanes.Identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	return identify(s, ns)
}

func identify(s stat, ns uint64) (lanes.Identity, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return lanes.Identity{}, fmt.Errorf("read boot id: %w", err)
	}
	return lanes.Identity{PID: s.pid, Start: s.start, Boot: strings.TrimSpace(string(boot)), PIDNS: ns}, nil
}

// PIDNamespace is the inode of the pid namespace that a process lives in.
func PIDNamespace(pid int) (uint64, error) {
	var st unix.Stat_t
	name := "/proc/" + strconv.Itoa(pid) + "/ns/pid"
	if err := unix.Stat(name, &st); err != nil {
		return 0, fmt.Errorf("read pid namespace: %w", &fs.PathError{Op: "stat", Path: name, Err: err})
	}
	return st.Ino, nil
}

// local reports whether an identity can be looked for here: same boot, same pid namespace.
func local(id lanes.Identity) bool {
	self, err := Self()
	return err == nil && id.Known() && id.Boot == self.Boot && id.PIDNS == self.PIDNS
}

// elsewhere reports whether a process may be alive where we can't see it: in another pid namespace of this boot.
func elsewhere(id lanes.Identity) bool {
	self, err := Self()
	return err != nil || (id.Known() && id.Boot == self.Boot && id.PIDNS != self.PIDNS)
}

// alive reports whether that very process runs. One that only waits to be reaped does not.
func alive(id lanes.Identity) bool {
	if !local(id) {
		return false
	}
	s, err := readStat(id.PID)
	return err == nil && s.start == id.Start && !s.dead()
}

// userTicks is how many ticks a second /proc counts in, whatever the kernel itself runs at.
const userTicks = 100

// age is how long that very process has lived since its start, the sleep of the machine included.
func age(id lanes.Identity) (time.Duration, bool) {
	var now unix.Timespec
	if !alive(id) || unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return 0, false
	}
	started := time.Duration(id.Start) * (time.Second / userTicks)
	return max(0, time.Duration(now.Nano())-started), true
}

// Ancestors lists a process and its parents, itself first, up to process 1. A chain that was entered from outside of
// the pid namespace ends at the process that came in. Any link that can't be read is an error: who stands above is then
// unknown.
func Ancestors(pid int) ([]lanes.Identity, error) {
	self, err := Self()
	if err != nil {
		return nil, fmt.Errorf("read ancestry of process %d: %w", pid, err)
	}
	ns, err := PIDNamespace(pid)
	if err != nil {
		return nil, fmt.Errorf("read ancestry of process %d: %w", pid, err)
	}
	if ns != self.PIDNS {
		return nil, fmt.Errorf("read ancestry of process %d: it lives in another pid namespace", pid)
	}
	// A parent may end between two reads and leave the chain torn: then the child has a new parent, and we look again.
	var chain []stat
	for range 5 {
		if chain, err = climb(pid); !errors.Is(err, errGone) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read ancestry of process %d: %w", pid, err)
	}
	ids := make([]lanes.Identity, 0, len(chain))
	for _, s := range chain {
		// Whoever is above a process and visible here is of the same namespace; other users' entries don't let us ask.
		ids = append(ids, lanes.Identity{PID: s.pid, Start: s.start, Boot: self.Boot, PIDNS: self.PIDNS})
	}
	return ids, nil
}

// climb reads one chain of parents; errGone when a link was replaced meanwhile.
func climb(pid int) ([]stat, error) {
	s, err := readStat(pid)
	if err != nil {
		return nil, err
	}
	chain := []stat{s}
	for s.ppid != 0 {
		parent, err := readStat(s.ppid)
		if err != nil {
			return nil, err
		}
		again, err := readStat(s.pid)
		if err != nil {
			return nil, err
		}
		if again.start != s.start || again.ppid != s.ppid {
			return nil, errGone
		}
		chain = append(chain, parent)
		s = parent
	}
	return chain, nil
}
