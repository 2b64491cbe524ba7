package crash

import (
	"fmt"
	"os"
	"path/filepath"
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
	role string         // what kind of process this is
	log  string         // the file that counts
	at   map[string]int // name to passing; none records every name
}

func read(args []string, env func(string) string) *request {
	log := env(Log)
	if log == "" {
		return nil
	}
	q := &request{role: roleOf(args), log: log, at: map[string]int{}}
	for _, one := range strings.FieldsFunc(env(At), func(r rune) bool { return r == ',' }) {
		name, nth, found := strings.Cut(one, "#")
		n, err := strconv.Atoi(nth)
		if !found || err != nil {
			n = 1
		}
		q.at[name] = n
	}
	return q
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

// pass writes the point down and dies if it is the one. Passings are counted over all processes that share the file.
func (q *request) pass(name string) {
	name = q.role + ": " + name
	nth, chosen := q.at[name]
	if len(q.at) > 0 && !chosen {
		return
	}
	passed, err := q.record(name)
	if err != nil {
		fmt.Fprintln(os.Stderr, "record a crash point:", err)
		os.Exit(70) // a test that cannot count would pass for nothing
	}
	if chosen && passed == nth {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal ends this thread's process, perhaps not at once
	}
}

// record appends a name and returns how often it is in the file now.
func (q *request) record(name string) (int, error) {
	f, err := os.OpenFile(q.log, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return 0, err
	}
	if _, err := f.WriteString(name + "\n"); err != nil {
		return 0, err
	}
	all, err := os.ReadFile(q.log)
	passed := 0
	for line := range strings.Lines(string(all)) {
		if line == name+"\n" {
			passed++
		}
	}
	return passed, err
}
