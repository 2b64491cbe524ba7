package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// errGone: there is no such process any more, or its number was given to another one.
var errGone = errors.New("process is gone")

// stat is the part of /proc/<pid>/stat that this package needs.
type stat struct {
	pid     int
	ppid    int
	session int
	state   byte
	start   uint64 // clock ticks since boot
	name    string
}

// dead reports whether only the entry is left, to be reaped by the parent.
func (s stat) dead() bool { return s.state == 'Z' || s.state == 'X' }

// String is "pid name" on one line, whatever the process calls itself.
func (s stat) String() string {
	quoted := strconv.Quote(s.name)
	return fmt.Sprintf("%d %s", s.pid, quoted[1:len(quoted)-1])
}

// readStat reads one process; errGone when there is none with that number.
func readStat(pid int) (stat, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return stat{}, errGone
	}
	if err != nil {
		return stat{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	return parseStat(string(b))
}

// parseStat reads the line from its end, since a process may put blanks and brackets into its name.
func parseStat(line string) (stat, error) {
	open, end := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if open < 1 || end < open {
		return stat{}, fmt.Errorf("read process: no name in %q", line)
	}
	f := strings.Fields(line[end+1:])
	if len(f) < 20 {
		return stat{}, fmt.Errorf("read process: %d fields in %q", len(f), line)
	}
	pid, err1 := strconv.Atoi(strings.TrimSpace(line[:open]))
	ppid, err2 := strconv.Atoi(f[1])
	session, err3 := strconv.Atoi(f[3])
	start, err4 := strconv.ParseUint(f[19], 10, 64)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return stat{}, fmt.Errorf("read process: %w", err)
	}
	return stat{pid: pid, ppid: ppid, session: session, state: f[0][0], start: start, name: line[open+1 : end]}, nil
}

// everyProcess lists what /proc shows. A process that ends meanwhile is left out.
func everyProcess() ([]stat, error) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	all := make([]stat, 0, len(names))
	for _, n := range names {
		pid, err := strconv.Atoi(n)
		if err != nil {
			continue
		}
		if s, err := readStat(pid); err == nil {
			all = append(all, s)
		}
	}
	return all, nil
}
