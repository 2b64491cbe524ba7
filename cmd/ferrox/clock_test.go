package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ferrox/engine"
	"ferrox/engine/process"
	"ferrox/engine/watch"
	"ferrox/lanes"
	"ferrox/mailbox"
)

// setClock is the machine's clock, but somebody sets its wall time, and time passes as he likes.
type setClock struct {
	engine.Clock
	by, passed atomic.Int64
}

func (c *setClock) Now() time.Time { return c.Clock.Now().Add(time.Duration(c.by.Load())) }

func (c *setClock) Monotonic() time.Duration {
	return c.Clock.Monotonic() + time.Duration(c.passed.Load())
}
func (c *setClock) set(d time.Duration) { c.by.Store(int64(d)) }

// pass lets time go by, for clocks of both kinds.
func (c *setClock) pass(d time.Duration) {
	c.by.Add(int64(d))
	c.passed.Add(int64(d))
}

// askedAge is a port to workers that counts how often the age of one was asked for: when a run is first watched, and when its
// hold is first seen.
type askedAge struct {
	engine.Workers
	mu    sync.Mutex
	times map[int]int
}

func (w *askedAge) Age(id lanes.Identity) (time.Duration, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.times[id.PID]++
	return w.Workers.Age(id)
}

func (w *askedAge) of(pid int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.times[pid]
}

// here is an engine in this process, on real everything but the wall clock. Its end is like that of a killed one: workers go
// on.
type here struct {
	t       *testing.T
	repo    *testRepo
	clock   *setClock
	workers *askedAge
	limit   time.Duration // of one command of the settings
	e       *opened
	stop    context.CancelFunc
	ended   chan engine.Outcome
}

func newHere(t *testing.T, repo *testRepo) *here {
	t.Helper()
	repo.git("config", "user.name", "Tess")
	repo.git("config", "user.email", "tess@example.org")
	return &here{t: t, repo: repo, clock: &setClock{Clock: engine.SystemClock()}, limit: engine.CommandLimit, workers: &askedAge{Workers: &process.Runner{Exe: binary}, times: map[int]int{}}}
}

// start opens the repository anew and drives its batch: a fresh one, or the newest.
func (h *here) start(run func(ctx context.Context, e *opened) (engine.Outcome, error)) {
	h.t.Helper()
	ctx, stop := context.WithCancel(h.t.Context())
	a := &app{repo: h.repo.dir, stdout: io.Discard, stderr: io.Discard, env: h.repo.command("true").Env}
	e, err := a.open(ctx)
	if err != nil {
		h.t.Fatal(err)
	}
	e.Clock, e.Exe, e.Workers, e.Limit = h.clock, binary, h.workers, h.limit
	e.watch = watch.New(watch.Poll, e.Logger)
	e.Watch = e.watch
	bell := filepath.Join(e.Home, "bell")
	if err := watch.Ring(bell); err != nil {
		h.t.Fatal(err)
	}
	if err := e.watch.Watch(bell); err != nil {
		h.t.Fatal(err)
	}
	ended := make(chan engine.Outcome, 1)
	h.e, h.stop, h.ended = e, stop, ended
	go func() {
		out, err := run(ctx, e)
		if err != nil {
			out.Text = err.Error()
		}
		ended <- out
	}()
}

// leave ends the engine as a crash does.
func (h *here) leave() engine.Outcome {
	h.stop()
	out := <-h.ended
	_ = h.e.close()
	return out
}

func (h *here) begin(o engine.StartOptions) {
	h.start(func(ctx context.Context, e *opened) (engine.Outcome, error) {
		return e.StartBatch(ctx, o, engine.RunOptions{}, func(lanes.Batch, []string) {})
	})
}

func (h *here) resume() {
	h.start(func(ctx context.Context, e *opened) (engine.Outcome, error) {
		return e.Resume(ctx, engine.ResumeOptions{}, engine.RunOptions{}, func(lanes.Batch, []string) {})
	})
}

// waits polls the status until ok.
func (h *here) waits(what string, ok func(v engine.StatusView) bool) engine.StatusView {
	h.t.Helper()
	var v engine.StatusView
	h.repo.becomes(what, func() bool {
		var err error
		v, err = h.e.Status(h.t.Context(), "")
		return err == nil && ok(v)
	})
	return v
}

// count is how many events of a name there are.
func (h *here) count(name string) (n int) {
	h.t.Helper()
	events, err := h.e.Log(h.t.Context(), engine.EventFilter{})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, ev := range events {
		if ev.Event == name {
			n++
		}
	}
	return n
}

func laneOf(v engine.StatusView, id lanes.TaskID) engine.LaneView {
	for _, l := range v.Lanes {
		if l.Task == id {
			return l
		}
	}
	return engine.LaneView{}
}

func taskOf(v engine.StatusView, id lanes.TaskID) engine.TaskView {
	for _, t := range v.Tasks {
		if t.ID == id {
			return t
		}
	}
	return engine.TaskView{}
}

// TestW58_ClockIsSet sets the wall clock under a batch: a task that asked and left, one whose worker is at work all the
// time, one that asked and stayed. Back by hours nothing happens; forward past the deadline the hold expires, once, and
// parks; nothing is approved, and no worker that has worked for seconds is ended for having worked for hours, neither by the
// engine that started it nor by one that finds it after a restart.
func TestW58_ClockIsSet(t *testing.T) {
	t.Parallel()
	const wait = `
n=0; while [ ! -f "$FERROX_WORKTREE/../../go" ] && [ $n -lt 1200 ]; do sleep 0.05; n=$((n+1)); done
`
	repo := newTestRepo(t, `, "lanes": 3, "no_progress_limit": 1, "hold_quiesce": "3h"`, map[string]string{
		"A": `if [ "$FERROX_RULINGS" = "" ]; then ferrox escalate --gate g -m 'which?'; else finish A.txt; fi`,
		"B": `touch "$FERROX_WORKTREE/../../B"` + wait + "finish B.txt",
	}, nil)
	repo.abortAtEnd()
	h := newHere(t, repo)
	h.begin(engine.StartOptions{HoldTimeout: time.Hour})
	v := h.waits("A is held and quiet, B is at work", func(v engine.StatusView) bool {
		at, _ := os.Stat(repo.outside("B"))
		return taskOf(v, "A").State == lanes.TaskHeld && laneOf(v, "A").State == lanes.LaneHeld && at != nil
	})
	deadline := v.Holds[0].Deadline

	h.clock.set(-5 * time.Hour)
	h.looked()
	if v = h.status(); v.Holds[0].Expired || h.count("hold-expired") != 0 || taskOf(v, "B").State != lanes.TaskRunning {
		t.Fatalf("W58: set back by five hours: %+v", v)
	}

	h.clock.set(5 * time.Hour)
	v = h.waits("A's lane is parked", func(v engine.StatusView) bool { return laneOf(v, "A").State == lanes.LaneParked })
	if taskOf(v, "A").State != lanes.TaskHeld || taskOf(v, "B").State != lanes.TaskRunning || v.Holds[0].Deadline != deadline {
		t.Fatalf("W58: set forward by five hours: %+v", v)
	}
	h.looked()

	h.leave()
	h.resume()
	h.looked() // B was adopted: by the wall clock it has worked for ten hours
	h.clock.set(-5 * time.Hour)
	h.looked()
	if v = h.status(); h.count("hold-expired") != 1 || !v.Holds[0].Expired || taskOf(v, "B").Iteration != 1 || laneOf(v, "B").Worker.State != "running" {
		t.Fatalf("W58: set back again: %d expired, %+v", h.count("hold-expired"), v)
	}

	if _, err := h.e.Rule(t.Context(), engine.RuleRequest{Role: mailbox.RoleOperator, ReplyTo: string(v.Holds[0].ID), Verdict: mailbox.VerdictFix, Text: "the second"}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(repo.outside("go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out := <-h.ended
	if v = h.status(); out.Phase != lanes.PhaseCompleted || taskOf(v, "A").Iteration != 2 || taskOf(v, "B").Iteration != 1 {
		t.Errorf("W58: it ended as %+v: %+v", out, v)
	}
	_ = h.e.close()
}

func (h *here) status() engine.StatusView {
	h.t.Helper()
	v, err := h.e.Status(h.t.Context(), "")
	if err != nil {
		h.t.Fatal(err)
	}
	return v
}

// looked returns when the engine has read the clock since the call, twice. Every commit pokes the watched workers, too. The
// command that makes it commit is refused.
func (h *here) looked() {
	h.t.Helper()
	for range 2 {
		if _, err := h.e.Do(h.t.Context(), engine.Command{Verb: "retry", Task: "no-such-task"}); err == nil || !strings.Contains(err.Error(), "no-such-task") {
			h.t.Fatalf("a command for a task that is not there: %v", err)
		}
	}
}

// TestVerify_HasALimit: a verification that does not end is ended with all that it started, and its claim is refused as
// verify-failed. Nothing lands.
func TestVerify_HasALimit(t *testing.T) {
	t.Parallel()
	repo := newTestRepo(t, `, "no_progress_limit": 1, "verify": [["sh", "-c", "sleep 600 & echo $! >\"$FERROX_WORKTREE/../../pid\"; echo at it; wait"]]`,
		map[string]string{"A": `if [ "$FERROX_ITERATION" = 1 ]; then finish A.txt; fi`}, nil)
	repo.abortAtEnd()
	h := newHere(t, repo)
	h.limit = 3 * time.Second
	h.begin(engine.StartOptions{})
	out := <-h.ended
	v := h.status()
	if out.Phase != lanes.PhaseFailed || taskOf(v, "A").State != lanes.TaskStalled || v.IntegrationHead != v.Base {
		t.Errorf("it ended as %+v: %+v", out, v)
	}
	prompt, err := os.ReadFile(repo.outside(string(v.Batch) + "/prompt-A-2"))
	if err != nil || !strings.Contains(string(prompt), "verify-failed: the merged tree does not pass: it took longer than 3s") || !strings.Contains(string(prompt), "at it") {
		t.Errorf("the worker was not told: %v\n%s", err, prompt)
	}
	pid, err := os.ReadFile(repo.outside("pid"))
	if err != nil {
		t.Fatal(err)
	}
	repo.becomes("what the verification started is gone", func() bool { return repo.command("kill", "-0", strings.TrimSpace(string(pid))).Run() != nil })
	_ = h.e.close()
}

// TestW4_HeldTimeIsNotWorked: hours pass for a worker that asked and stayed, and for one that has nothing to wait for. The
// first goes on after its ruling as if nothing had been; the second is ended for its silence or for its hours.
func TestW4_HeldTimeIsNotWorked(t *testing.T) {
	t.Parallel()
	const wait = `
n=0; while [ ! -f "$FERROX_WORKTREE/../../go" ] && [ $n -lt 1200 ]; do sleep 0.05; n=$((n+1)); done
`
	repo := newTestRepo(t, `, "lanes": 2, "no_progress_limit": 1, "hold_quiesce": "24h"`, map[string]string{
		"A": `if [ "$FERROX_RULINGS" = "" ]; then ferrox escalate --gate g -m 'which?'` + wait + `else finish A.txt; fi`,
		"B": `touch "$FERROX_WORKTREE/../../B"; exec tail -f /dev/null`,
	}, nil)
	repo.abortAtEnd()
	h := newHere(t, repo)
	h.begin(engine.StartOptions{HoldTimeout: 24 * time.Hour})
	v := h.waits("A is held, and its engine has seen that; B is at work", func(v engine.StatusView) bool {
		_, err := os.Stat(repo.outside("B"))
		return taskOf(v, "A").State == lanes.TaskHeld && h.workers.of(laneOf(v, "A").Worker.PID) > 1 && err == nil
	})
	hold := string(v.Holds[0].ID)
	h.clock.pass(5 * time.Hour)
	h.waits("B is ended", func(v engine.StatusView) bool { return taskOf(v, "B").State == lanes.TaskStalled })
	h.looked()
	if _, err := h.e.Rule(t.Context(), engine.RuleRequest{Role: mailbox.RoleOperator, ReplyTo: hold, Verdict: mailbox.VerdictFix, Text: "the second"}); err != nil {
		t.Fatal(err)
	}
	h.looked()
	if err := os.WriteFile(repo.outside("go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out := <-h.ended
	first, err := h.e.RunOf(t.Context(), v.Batch, "A", 1)
	if v = h.status(); err != nil || first.EndedBy != "" || taskOf(v, "A").State != lanes.TaskSucceeded || taskOf(v, "A").Iteration != 2 {
		t.Errorf("W4: ended as %+v, A's first run by %q (%v): %+v", out, first.EndedBy, err, v)
	}
	_ = h.e.close()
}
