package crash

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// childEnv makes the test's own binary a program that passes points.
const childEnv = "CRASH_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		after := Around("effect")
		after()
		Point("end")
		return
	}
	os.Exit(m.Run())
}

// child passes its three points and returns how it ended, and what stands in the log.
func child(t *testing.T, log, at string) (lines []string, err error) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "resume")
	cmd.Env = append(os.Environ(), childEnv+"=1", Log+"="+log, At+"="+at)
	err = cmd.Run()
	body, _ := os.ReadFile(log)
	return strings.Split(strings.TrimSpace(string(body)), "\n"), err
}

func TestPoint_LogsEveryName(t *testing.T) {
	t.Parallel()
	lines, err := child(t, filepath.Join(t.TempDir(), "log"), "")
	if want := "engine: effect before|engine: effect after|engine: end"; err != nil || strings.Join(lines, "|") != want {
		t.Errorf("%v, %q", err, lines)
	}
}

func TestPoint_KillsAtTheNthPassingOfAllProcesses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		at    string
		dies  [4]bool // each of four processes, one after the other
		lines int     // that they leave
	}{
		"the second passing":        {"engine: effect after#2", [4]bool{false, true}, 4},
		"one after the other":       {"engine: effect after#2>engine: effect before#1", [4]bool{false, true, true}, 7},
		"the same twice":            {"engine: end#1>engine: end#2", [4]bool{true, false, true}, 4},
		"one that is never passed":  {"no such point#1>engine: end#1", [4]bool{}, 4},
		"counted after the first":   {"engine: end#1>engine: effect before#1", [4]bool{true, true}, 7},
		"without a number: the 1st": {"engine: end", [4]bool{true}, 4},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := filepath.Join(t.TempDir(), "log")
			var lines []string
			deaths := 0
			for n, dies := range tc.dies {
				var err error
				lines, err = child(t, log, tc.at)
				var exit *exec.ExitError
				killed := errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
				if killed != dies || err != nil && !killed {
					t.Errorf("process %d: %v", n, err)
				}
				if killed {
					deaths++
				}
			}
			if len(lines) != tc.lines {
				t.Errorf("%q", lines)
			}
			if got := Deaths(tc.at, strings.Join(lines, "\n")+"\n"); got != deaths {
				t.Errorf("%d deaths in the log, %d processes died", got, deaths)
			}
		})
	}
}

func TestPoint_DoesNothingUnasked(t *testing.T) {
	t.Parallel()
	if q := read([]string{"ferrox", "run"}, func(name string) string { return map[string]string{At: "x#1"}[name] }); q != nil {
		t.Errorf("%+v", q)
	}
}
