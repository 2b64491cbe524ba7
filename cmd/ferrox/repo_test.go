package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// testRepo is a real repository on which the real program is run.
type testRepo struct {
	t    *testing.T
	dir  string
	home string
	env  []string // on top of the rest
}

// newTestRepo makes a repository with the standard worker; packets maps an id to its do.sh, needs an id to what it needs.
func newTestRepo(t *testing.T, runner string, packets, needs map[string]string) *testRepo {
	t.Helper()
	base := t.TempDir()
	r := &testRepo{t: t, dir: filepath.Join(base, "r"), home: filepath.Join(base, "home")}
	settings := `{"runner": {"worker": {"preset": "shell", "command": ["sh", "-c", ". \"$FERROX_WORKTREE/worker.sh\""]},` +
		` "finish_grace": "5s", "backoff": {"initial": "10ms", "max": "20ms"}` + runner + `}}`
	r.write("r/.planning/config.json", settings)
	r.write("r/worker.sh", standardWorker)
	r.write("home/.gitconfig", "[user]\n\tname = Tess\n\temail = tess@example.org\n[init]\n\tdefaultBranch = main\n")
	for id, do := range packets {
		need := "**None**"
		if needs[id] != "" {
			need = "- **Task:** " + needs[id]
		}
		r.write("r/tasks/"+id+"-x/PROMPT.md", fmt.Sprintf(
			"# Task: %s - Title\n\n**Size:** S\n\n## Review Level: 0\n\n## Dependencies\n\n%s\n\n## Steps\n\n### Step 1: Part\n\n- [ ] box\n", id, need))
		r.write("r/tasks/"+id+"-x/do.sh", do)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-qm", "start"}} {
		r.git(args...)
	}
	return r
}

func (r *testRepo) write(name, body string) {
	r.t.Helper()
	file := filepath.Join(filepath.Dir(r.dir), name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(body), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// outside is a file that workers reach as $FERROX_WORKTREE/../../NAME.
func (r *testRepo) outside(name string) string { return filepath.Join(r.dir+".lanes", name) }

func (r *testRepo) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "HOME="+r.home, "GIT_CONFIG_NOSYSTEM=1", "NO_COLOR=1",
		"PATH="+filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Env = append(cmd.Env, r.env...)
	return cmd
}

func (r *testRepo) git(args ...string) string {
	r.t.Helper()
	out, err := r.command("git", args...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// ferrox runs the program to its end.
func (r *testRepo) ferrox(args ...string) (stdout, stderr string, code int) {
	r.t.Helper()
	cmd := r.command(binary, args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Fatalf("ferrox %v: %v", args, err)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

// ask runs a command with --json and returns one field of its answer; a code other than want fails the test.
func (r *testRepo) ask(want int, path string, args ...string) string {
	r.t.Helper()
	out, errOut, code := r.ferrox(append(args, "--json")...)
	if code != want {
		r.t.Fatalf("ferrox %v: exit %d, want %d\n%s%s", args, code, want, out, errOut)
	}
	var v any
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		r.t.Fatalf("ferrox %v: %v\n%s", args, err, out)
	}
	got, err := field(v, path)
	if err != nil {
		r.t.Fatalf("ferrox %v: %v\n%s", args, err, out)
	}
	return got
}

// becomes polls until ok, with a bound.
func (r *testRepo) becomes(what string, ok func() bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	for tick := time.NewTicker(20 * time.Millisecond); !ok(); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			out, _, _ := r.ferrox("status", "--json")
			r.t.Fatalf("it never came to: %s\n%s", what, out)
		}
	}
}

// abortAtEnd ends whatever a failed test left behind.
func (r *testRepo) abortAtEnd() {
	r.t.Cleanup(func() {
		if r.t.Failed() {
			r.ferrox("abort", "--why", "the test failed")
		}
	})
}
