package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ferrox/engine"
)

// program names another program than the one that TestMain builds.
const program = "FERROX_TEST_PROGRAM"

// TestCrash_CutDown is a small part of the crashes, for the sound program and for broken ones. F072.
func TestCrash_CutDown(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a run of a batch for every crash")
	}
	t.Run("taken for dead", takenForDead)
	calm := newCrashRun(t, "")
	calm.drive()
	at := "shim: commit hold-opened before#1"
	t.Run(testName(at), func(t *testing.T) { crashAt(t, at, calm.result(), true) })
}

// takenForDead stops an engine, takes its lock away, lets another one finish its work, and wakes it up: it may write nothing.
func takenForDead(t *testing.T) {
	r := newTestRepo(t, "", map[string]string{"A": `echo A >>"$FERROX_WORKTREE/../../up"; until [ -e "$FERROX_WORKTREE/../../go" ]; do sleep 0.05; done; finish A.txt`}, nil)
	r.abortAtEnd()
	first := r.command(binary, "run", "batch", "--batch", "x")
	var said bytes.Buffer
	first.Stderr = &said
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Process.Kill() }()
	r.becomes("a worker that runs, and is recorded: the engine has nothing to write", func() bool {
		var v struct {
			Lanes []struct{ Worker struct{ PID int } }
		}
		out, _, _ := r.ferrox("status", "--json")
		return json.Unmarshal([]byte(out), &v) == nil && len(v.Lanes) == 1 && v.Lanes[0].Worker.PID > 0 && len(r.lines("up")) == 1
	})
	if err := first.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(r.dir, ".git", "ferrox", "engine.lock")); err != nil {
		t.Fatal(err)
	}
	second := r.command(binary, "resume", "x")
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	r.becomes("another engine that has begun", func() bool { return r.count("started", "") == 2 })
	r.write("r.lanes/go", "")
	if err := second.Wait(); err != nil {
		t.Errorf("the second engine: %v", err)
	}
	if err := first.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := first.Wait(); first.ProcessState.ExitCode() != engine.ExitBusy || !strings.Contains(said.String(), "another engine owns this repository") {
		t.Errorf("the first engine: %v\n%s", err, said.String())
	}
	if n := r.count("worker-exited", "A"); n != 1 {
		t.Errorf("the end of the worker was recorded %d times", n)
	}
}

// count is how many events of that name there are.
func (r *testRepo) count(name, task string) (n int) {
	r.t.Helper()
	r.store(func(ctx context.Context, rd engine.Reader) error {
		events, err := rd.Events(ctx, engine.EventFilter{Batch: "x"})
		for _, e := range events {
			if e.Name == name && (task == "" || string(e.Task) == task) {
				n++
			}
		}
		return err
	})
	return n
}

// TestCrash_BrokenPrograms builds programs that break one promise each. The cut-down crashes have to notice.
func TestCrash_BrokenPrograms(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("three builds of the program")
	}
	for tag, notice := range map[string]string{
		"brokenack":    "was answered and is gone",
		"brokenresume": "C has landed past its hold",
		"brokenfence":  "the first engine: ",
	} {
		t.Run(tag, func(t *testing.T) {
			t.Parallel()
			broken := filepath.Join(t.TempDir(), "ferrox")
			if out, err := buildProgram(broken, "-tags", tag); err != nil {
				t.Fatalf("build: %v\n%s", err, out)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, os.Args[0], "-test.run", "^TestCrash_CutDown$", "-test.failfast")
			cmd.Env = append(os.Environ(), program+"="+broken)
			out, err := cmd.CombinedOutput()
			if err == nil || !bytes.Contains(out, []byte(notice)) {
				t.Errorf("the broken program: %v, and nobody noticed: %s", err, out)
			}
		})
	}
}
