//go:build linux

package process

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ferrox/engine"
	"ferrox/lanes"
)

// patience bounds everything that a test waits for.
const patience = 30 * time.Second

// bench is a lane, a run's folder and a runner, with a spec that a test completes.
type bench struct {
	testing.TB
	runner *Runner
	spec   engine.WorkerSpec
}

// newBench prepares a run of `sh -c SCRIPT`. In the script, $T is this test binary and $W the worktree.
func newBench(t testing.TB, script string) *bench {
	t.Helper()
	root := t.TempDir()
	exe, err := os.Executable()
	ok(t, err)
	tree, store := filepath.Join(root, "tree"), filepath.Join(root, "store")
	ok(t, errors.Join(os.Mkdir(tree, 0o755), os.Mkdir(store, 0o755)))
	prompt := filepath.Join(root, "prompt")
	ok(t, os.WriteFile(prompt, []byte("do it\n"), 0o600))
	run := filepath.Join(root, "run")
	token := "token-" + filepath.Base(filepath.Dir(root)) + filepath.Base(root)
	spec := engine.WorkerSpec{
		Run: "run-1", Dir: run, LaneLock: filepath.Join(root, "lane.lock"), Argv: []string{"sh", "-c", script}, Cwd: tree,
		Prompt: prompt, Socket: filepath.Join(run, "s"), Spool: filepath.Join(tree, ".ferrox", "spool"), Token: token,
		KillGrace: 10 * time.Second, Store: store,
	}
	spec.Env = []string{
		"PATH=" + os.Getenv("PATH"), "T=" + exe, "W=" + tree,
		"FERROX_SOCKET=" + spec.Socket, "FERROX_TOKEN=" + token, "FERROX_WORKTREE=" + tree,
	}
	b := &bench{TB: t, runner: new(Runner), spec: spec}
	t.Cleanup(b.clean)
	return b
}

// clean leaves nothing running, whatever the test came to.
func (b *bench) clean() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if rec, found := ReadShim(b.spec.Dir); found {
		if g, err := grabIdentity(rec.Identity); err == nil {
			g.signal(unix.SIGKILL)
			g.wait(ctx)
			g.close()
		}
	}
	if _, err := b.runner.Sweep(ctx, b.spec.Token); err != nil {
		b.Error(err)
	}
	b.eventually("shims reaped", func() bool {
		b.runner.mu.Lock()
		defer b.runner.mu.Unlock()
		return len(b.runner.shims) == 0
	})
}

func (b *bench) start() lanes.Identity {
	b.Helper()
	id, err := b.runner.Start(context.Background(), b.spec)
	ok(b, err)
	return id
}

func (b *bench) wait(id lanes.Identity) engine.WorkerExit {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	exit, err := b.runner.Wait(ctx, id, b.spec.Dir)
	if err != nil {
		b.Fatalf("%v\n%s", err, b.log())
	}
	return exit
}

// finish runs the worker to its end.
func (b *bench) finish() engine.WorkerExit {
	b.Helper()
	return b.wait(b.start())
}

func (b *bench) log() string {
	l, _ := os.ReadFile(filepath.Join(b.spec.Dir, shimLog))
	return string(l)
}

func (b *bench) tree(name string) string { return filepath.Join(b.spec.Cwd, name) }

func (b *bench) read(name string) string {
	b.Helper()
	s, err := os.ReadFile(b.tree(name))
	ok(b, err)
	return string(s)
}

// see waits until a file of the worktree holds at least n lines and returns them.
func (b *bench) see(name string, n int) []string {
	b.Helper()
	var lines []string
	b.eventually(name, func() bool {
		s, _ := os.ReadFile(b.tree(name))
		lines = strings.Fields(string(s))
		return len(lines) >= n
	})
	return lines
}

func (b *bench) eventually(what string, cond func() bool) {
	b.Helper()
	if err := poll(context.Background(), patience, cond); err != nil {
		b.Fatalf("%s: never; shim log: %s", what, b.log())
	}
}

// env is the worker's environment as Call reads it.
func (b *bench) env(name string) string {
	last := ""
	for _, e := range b.spec.Env {
		if v, found := strings.CutPrefix(e, name+"="); found {
			last = v
		}
	}
	return last
}

// poll looks until cond holds or the time is up.
func poll(ctx context.Context, limit time.Duration, cond func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func monotonic() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0
	}
	return ts.Nano()
}
