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
	log := filepath.Join(t.TempDir(), "log")
	for n := 1; n <= 3; n++ {
		lines, err := child(t, log, "engine: effect after#2,engine: no such point#1")
		var exit *exec.ExitError
		killed := errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
		if killed != (n == 2) || err != nil && !killed {
			t.Errorf("process %d: %v", n, err)
		}
		if len(lines) != n {
			t.Errorf("process %d: %q", n, lines)
		}
	}
}

func TestPoint_DoesNothingUnasked(t *testing.T) {
	t.Parallel()
	if q := read([]string{"ferrox", "run"}, func(name string) string { return map[string]string{At: "x#1"}[name] }); q != nil {
		t.Errorf("%+v", q)
	}
}
