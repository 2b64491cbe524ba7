package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// The variables that switch the package on.
const (
	At  = "FERROX_TEST_CRASH_AT"
	Log = "FERROX_TEST_CRASH_LOG"
)

// asked is what the environment asked for at the start; nil for nothing.
var asked = read(os.Args, os.Getenv)

// request says what to record and where to die.
type request struct {
	role string // what kind of process this is
	log  string // the file that counts
	at   []stop // one death after the other; none records every name
}

// stop is one death: at the nth passing of a name, counted from the death before it.
type stop struct {
	name string
	nth  int
}

func read(args []string, env func(string) string) *request {
	log := env(Log)
	if log == "" {
		return nil
	}
	return &request{role: roleOf(args), log: log, at: stops(env(At))}
}

// stops reads NAME#N[>NAME#N…].
func stops(at string) (all []stop) {
	for one := range strings.SplitSeq(at, ">") {
		name, nth, _ := strings.Cut(one, "#")
		n, err := strconv.Atoi(nth)
		if err != nil {
			n = 1
		}
		if name != "" {
			all = append(all, stop{name, n})
		}
	}
	return all
}

// roleOf tells engines and shims from the rest, which are called by their command.
func roleOf(args []string) string {
	if len(args) < 2 {
		return filepath.Base(args[0])
	}
	switch args[1] {
	case "run", "resume":
		return "engine"
	}
	return args[1]
}

// Point is an instant at which a test may kill this process. name is made of words that are the same in every run.
func Point(name string) {
	if asked != nil {
		asked.pass(name)
	}
}

// Around is Point before an effect; what it returns is Point after it.
func Around(name string) (after func()) {
	if asked == nil {
		return func() {}
	}
	asked.pass(name + " before")
	return func() { asked.pass(name + " after") }
}

// pass writes the point down and dies if it is the next one to die at.
func (q *request) pass(name string) {
	name = q.role + ": " + name
	if len(q.at) > 0 && !slices.ContainsFunc(q.at, func(s stop) bool { return s.name == name }) {
		return
	}
	dies, err := q.record(name)
	if err != nil {
		fmt.Fprintln(os.Stderr, "record a crash point:", err)
		os.Exit(70) // a test that cannot count would pass for nothing
	}
	if dies {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal ends this thread's process, perhaps not at once
	}
}

// record appends a name and reports whether it is the last one of a stop. Passings are counted over all processes that
// share the file.
func (q *request) record(name string) (dies bool, err error) {
	f, err := os.OpenFile(q.log, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return false, err
	}
	if _, err := f.WriteString(name + "\n"); err != nil || len(q.at) == 0 {
		return false, err
	}
	all, err := os.ReadFile(q.log)
	if err != nil {
		return false, err
	}
	deaths, last := walk(q.at, string(all))
	return deaths > 0 && last, nil
}

// Deaths is how many stops of at, in the form of the variable At, the passings in a log have come to.
func Deaths(at, log string) int {
	deaths, _ := walk(stops(at), log)
	return deaths
}

// walk counts the stops that a log has come to, and reports whether its last line is one.
func walk(at []stop, log string) (deaths int, last bool) {
	passed := 0
	for line := range strings.Lines(log) {
		last = false
		if deaths == len(at) || strings.TrimSuffix(line, "\n") != at[deaths].name {
			continue
		}
		if passed++; passed == at[deaths].nth {
			deaths, passed, last = deaths+1, 0, true
		}
	}
	return deaths, last
}
