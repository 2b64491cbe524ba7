//go:build linux

package process

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ferrox/engine"
	"ferrox/lanes"
)

func TestRunLeavesItsRecord(t *testing.T) {
	t.Parallel()
	b := newBench(t, `cat; echo out; echo err >&2; pwd; umask`)
	before := time.Now().Add(-time.Second)
	id := b.start()
	if found, known := b.runner.Find(b.spec.Dir); !known || found != id || !id.Known() {
		t.Fatalf("Find = %+v %v, want %+v", found, known, id)
	}
	exit := b.wait(id)
	if exit.Code != 0 || exit.Signal != "" || exit.Failure != "" || exit.Terminated || exit.Lost || len(exit.Ended) > 0 {
		t.Errorf("exit = %+v", exit)
	}
	if exit.EndedAt.Before(before) || exit.EndedAt.After(time.Now().Add(time.Second)) {
		t.Errorf("ended at %s", exit.EndedAt)
	}
	if want := "do it\nout\nerr\n" + b.spec.Cwd + "\n"; !strings.HasPrefix(exit.Tail, want) {
		t.Errorf("tail = %q, want %q", exit.Tail, want)
	}
	if b.runner.Alive(id) {
		t.Error("alive after Wait")
	}
	if rec, _ := ReadShim(b.spec.Dir); !rec.Worker.Known() || rec.Worker.PID == id.PID {
		t.Errorf("worker = %+v", rec.Worker)
	}
	if exists(b.spec.Socket) {
		t.Error("the socket is still there")
	}
}

func TestW21_HowAWorkerEnded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script, signal, tail string
		code                 int
	}{
		"not found by its shell": {script: "no-such-program --flag", code: 127, tail: "not found"},
		"exit 141":               {script: "echo bye; exit 141", code: 141, tail: "bye"},
		"SIGSEGV":                {script: "echo bye; kill -SEGV $$", code: -1, signal: "SIGSEGV", tail: "bye"},
		"claim and exit 1":       {script: "touch .DONE; exit 1", code: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exit := newBench(t, c.script).finish()
			if exit.Code != c.code || exit.Signal != c.signal || !strings.Contains(exit.Tail, c.tail) || exit.Failure != "" {
				t.Errorf("exit = %+v", exit)
			}
		})
	}
}

func TestF129_SpawnFailureIsRecorded(t *testing.T) {
	t.Parallel()
	plain := func(b *bench) string {
		ok(b, os.WriteFile(b.tree("plain"), []byte("echo no\n"), 0o644))
		return b.tree("plain")
	}
	for name, c := range map[string]struct {
		change  func(*bench)
		code    int
		failure string
	}{
		"missing command":  {func(b *bench) { b.spec.Argv = []string{"no-such-program", "--flag"} }, 127, `no command "no-such-program" in PATH`},
		"missing path":     {func(b *bench) { b.spec.Argv = []string{"./no-such-program"} }, 127, "no such file"},
		"not executable":   {func(b *bench) { b.spec.Argv = []string{plain(b)} }, 126, "permission denied"},
		"no program":       {func(b *bench) { b.spec.Argv = []string{plain(b)}; ok(b, os.Chmod(b.tree("plain"), 0o755)) }, 126, "exec format"},
		"a folder":         {func(b *bench) { b.spec.Argv = []string{b.spec.Cwd} }, 126, "permission denied"},
		"no command":       {func(b *bench) { b.spec.Argv = nil }, 127, "no command given"},
		"no worktree":      {func(b *bench) { ok(b, os.Remove(b.spec.Cwd)) }, 126, "no worktree"},
		"no prompt":        {func(b *bench) { ok(b, os.Remove(b.spec.Prompt)) }, 126, "prompt"},
		"socket elsewhere": {func(b *bench) { b.spec.Socket = b.tree("no/such/folder") }, 126, "listen"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "")
			c.change(b)
			exit := b.finish()
			if exit.Code != c.code || !strings.Contains(exit.Failure, c.failure) || exit.Lost {
				t.Errorf("exit = %+v", exit)
			}
		})
	}
}

func TestF132_CommandIsFoundInTheWorkersPath(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	bin := t.TempDir()
	ok(t, os.WriteFile(filepath.Join(bin, "agent"), []byte("#!/bin/sh\necho ours\n"), 0o755))
	ok(t, os.WriteFile(b.tree("agent"), []byte("#!/bin/sh\necho the lane's\n"), 0o755))
	b.spec.Argv = []string{"agent"}
	b.spec.Env = append(b.spec.Env, "PATH=.::"+bin)
	if exit := b.finish(); exit.Tail != "ours\n" {
		t.Errorf("exit = %+v", exit)
	}
}

func TestLaneLockKeepsASecondWorkerOut(t *testing.T) {
	t.Parallel()
	b := newBench(t, `echo $$ >pid; exec sleep 1000`)
	id := b.start()
	second := b.spec
	second.Run, second.Dir = "run-2", filepath.Join(filepath.Dir(b.spec.Dir), "run-2")
	if _, err := b.runner.Start(context.Background(), second); !errors.Is(err, engine.ErrLaneBusy) {
		t.Errorf("second start: %v", err)
	}
	if _, found := b.runner.Find(second.Dir); found {
		t.Error("the second shim left a record")
	}
	// The same run started again must neither start a worker nor touch the record of the first.
	if _, err := b.runner.Start(context.Background(), b.spec); !errors.Is(err, engine.ErrLaneBusy) {
		t.Errorf("same run again: %v", err)
	}
	if found, _ := b.runner.Find(b.spec.Dir); found != id {
		t.Errorf("record changed to %+v", found)
	}
	ok(t, b.runner.Terminate(id))
	if exit := b.wait(id); !exit.Terminated || exit.Signal != "SIGTERM" {
		t.Errorf("exit = %+v", exit)
	}
	if _, err := b.runner.Start(context.Background(), b.spec); err == nil || errors.Is(err, engine.ErrLaneBusy) {
		t.Errorf("ended run started again: %v", err)
	}
}

func TestF103_ShimOfADeadEngineIsAdopted(t *testing.T) {
	t.Parallel()
	b := newBench(t, `echo begun >begun; until test -e go; do sleep 0.01; done; echo late; exit 7`)
	file := filepath.Join(t.TempDir(), "spec")
	ok(t, writeJSON(file, b.spec))
	engine := exec.Command("/proc/self/exe", "engine", file)
	hold, err := engine.StdinPipe()
	ok(t, err)
	defer hold.Close()
	out, err := engine.StdoutPipe()
	ok(t, err)
	ok(t, engine.Start())
	var id lanes.Identity
	ok(t, json.NewDecoder(out).Decode(&id))
	ok(t, engine.Process.Kill())
	engine.Wait()

	found, known := b.runner.Find(b.spec.Dir)
	if !known || found != id || !b.runner.Alive(id) {
		t.Fatalf("Find = %+v %v, alive %v; want %+v", found, known, b.runner.Alive(id), id)
	}
	b.see("begun", 1)
	ok(t, os.WriteFile(b.tree("go"), nil, 0o600))
	if exit := b.wait(id); exit.Code != 7 || exit.Tail != "late\n" {
		t.Errorf("exit = %+v", exit)
	}
}

func TestKilledShimIsLostAndSwept(t *testing.T) {
	t.Parallel()
	b := newBench(t, `echo $$ >>pids
		sh -c 'echo $$ >>pids; sleep 1000' &
		env -i sh -c 'echo $$ >>pids; sleep 1000' &
		setsid sh -c 'echo $$ >>pids; sleep 1000 & wait' &
		(env -i sh -c 'echo $$ >>pids; sleep 1000; exit' &)
		wait`)
	id := b.start()
	pids := b.see("pids", 5)
	signalIdentity(t, id, unix.SIGKILL)
	if exit := b.wait(id); !exit.Lost || exit.Code != -1 {
		t.Errorf("exit = %+v", exit)
	}
	names, err := b.runner.Sweep(context.Background(), b.spec.Token)
	ok(t, err)
	for _, p := range pids {
		if !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, p+" ") }) {
			t.Errorf("%s is not among the swept %q", p, names)
		}
		b.eventually("swept process gone", func() bool { return !running(p) })
	}
	b.eventually("swept children reaped", func() bool {
		_, err := b.runner.ReapOrphans()
		return err == nil && !slices.ContainsFunc(pids, present)
	})
	// The lane is free again.
	b.spec.Dir, b.spec.Argv = b.spec.Dir+"-2", []string{"true"}
	b.spec.Socket = filepath.Join(b.spec.Dir, "s")
	if exit := b.finish(); exit.Code != 0 {
		t.Errorf("next run: %+v", exit)
	}
}

func TestOrphansAreReapedAndOwnChildrenAreNot(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command("/proc/self/exe", "orphans", "-").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestWaitKnowsARecycledNumber(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	self, err := Self()
	ok(t, err)
	self.Start++ // the same number, another process
	if b.runner.Alive(self) {
		t.Error("alive")
	}
	if exit := b.wait(self); !exit.Lost {
		t.Errorf("exit = %+v", exit)
	}
	ok(t, b.runner.Terminate(self)) // must not reach us
	self.Start--
	self.Boot = "another boot"
	if b.runner.Alive(self) {
		t.Error("alive after a reboot")
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	b := newBench(t, "exec sleep 1000")
	id := b.start()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { _, err := b.runner.Wait(ctx, id, b.spec.Dir); done <- err }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Wait: %v", err)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	b.runner.Exe, b.runner.Args = "/bin/sh", []string{"-c", "exec sleep 1000"} // never ready
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := b.runner.Start(ctx, b.spec); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Start: %v", err)
	} // and the shim was told to end: the cleanup waits for it
}

func TestF130_ExitRecordIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, "exit 3")
	inTheWay := filepath.Join(b.spec.Dir, exitFile, "x")
	ok(t, os.MkdirAll(inTheWay, 0o700))
	id := b.start()
	b.eventually("refused once", func() bool { return strings.Contains(b.log(), "leave exit record") })
	ok(t, os.RemoveAll(filepath.Dir(inTheWay)))
	if exit := b.wait(id); exit.Code != 3 || exit.Lost {
		t.Errorf("exit = %+v", exit)
	}
}

// A shim of another pid namespace can't be seen, but its lane's lock can.
func TestWaitForAShimElsewhere(t *testing.T) {
	t.Parallel()
	b := newBench(t, "exec sleep 1000")
	id := b.start()
	unseen := id
	unseen.PIDNS++
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := b.runner.Wait(ctx, unseen, b.spec.Dir); !errors.Is(err, engine.ErrLaneBusy) {
		t.Errorf("Wait: %v", err)
	}
	ok(t, b.runner.Terminate(id))
	b.wait(id)
	if exit := b.wait(unseen); !exit.Terminated {
		t.Errorf("exit = %+v", exit)
	}
}

// Only what belongs to the run is swept: not the session of a shell that handed the token to one command.
func TestSweepSparesAForeignSession(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	cmd := exec.Command("sh", "-c", `FERROX_TOKEN="$0" sleep 1000; echo spared`, b.spec.Token)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.StdoutPipe()
	ok(t, err)
	ok(t, cmd.Start())
	b.eventually("token carried", func() bool {
		left, err := b.runner.carriers(b.spec.Token)
		return err == nil && len(left) == 1
	})
	names, err := b.runner.Sweep(context.Background(), b.spec.Token)
	ok(t, err)
	said, err := io.ReadAll(out)
	ok(t, err)
	if cmd.Wait(); len(names) != 1 || !strings.HasSuffix(names[0], " sleep") || string(said) != "spared\n" {
		t.Errorf("swept %q, shell said %q", names, said)
	}
}

func TestStartTellsWhyAShimFailed(t *testing.T) {
	t.Parallel()
	b := newBench(t, "")
	b.runner.Exe, b.runner.Args = "/bin/sh", []string{"-c", "echo no such verb >&2; exit 2"}
	if _, err := b.runner.Start(context.Background(), b.spec); err == nil || !strings.Contains(err.Error(), "no such verb") {
		t.Errorf("Start: %v", err)
	}
}

func signalIdentity(t testing.TB, id lanes.Identity, sig unix.Signal) {
	t.Helper()
	g, err := grabIdentity(id)
	ok(t, err)
	ok(t, errors.Join(g.signal(sig), g.close()))
}

// running reports whether a process with that number runs.
func running(pid string) bool {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return false
	}
	s, err := readStat(n)
	return err == nil && !s.dead()
}

// present reports whether there is a process with that number, be it dead.
func present(pid string) bool { return exists("/proc/" + pid) }
