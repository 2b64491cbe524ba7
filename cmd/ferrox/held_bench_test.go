package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ferrox/engine"
	"ferrox/engine/sqlite"
	"ferrox/hold"
	"ferrox/lanes"
)

// The marks for batches in which very much is held.
const (
	idleMark   = 0.001 // of a core
	resumeMark = time.Second
	memoryMark = 64 << 20 // bytes resident, with 100,000 holds
)

// idleFor is how long the idle engine is watched.
const idleFor = 20 * time.Second

// BenchmarkHeld resumes a batch in which all tasks but one are held, and then watches the engine wait.
func BenchmarkHeld(b *testing.B) {
	worker := `if [ "$FERROX_RULINGS" = "" ]; then ferrox escalate "first or second?"; exit 0; fi
ferrox ack $FERROX_RULINGS; ` + benchWorker
	for _, n := range []int{10_000, 100_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for range b.N {
				repo := benchRepo(b, 1, 1, "", worker)
				shell(b, repo, "ferrox run batch --no-wait >run.log || test $? = 3")
				first := heldTasks(b, repo)[0]
				multiply(b, filepath.Join(repo, ".git", "ferrox", "ferrox.db"), n)
				shell(b, repo, "ferrox rule --reply-to "+first+" approve")
				watchIdle(b, repo)
				for _, args := range []string{"holds", "lanes", "status", "holds --json", "status --json"} {
					b.Logf("ferrox %s: %v", args, timed(b, repo, "ferrox "+args+" >/dev/null"))
				}
			}
		})
	}
}

// multiply copies the one held task, its lane, run and hold, until there are n of each.
func multiply(b *testing.B, path string, n int) {
	b.Helper()
	ctx := b.Context()
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	var batch lanes.Batch
	var t lanes.Task
	var l lanes.Lane
	var run lanes.Run
	var h hold.Record
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	must(s.View(ctx, func(r engine.Reader) error {
		all, err := r.Batches(ctx)
		must(err)
		batch = all[0]
		t, err = r.Task(ctx, batch.ID, "T-1")
		must(err)
		l, err = r.Lane(ctx, batch.ID, 1)
		must(err)
		runs, err := r.Runs(ctx, engine.RunFilter{})
		must(err)
		holds, err := r.Holds(ctx, engine.HoldFilter{})
		must(err)
		run, h = runs[0], holds[0]
		return nil
	}))
	for from := 2; from <= n; from += 5_000 {
		must(s.Update(ctx, func(tx engine.Tx) error {
			for i := from; i < min(from+5_000, n+1); i++ {
				t.ID, t.Seq, t.Lane, t.Path, t.Version = lanes.TaskID(fmt.Sprintf("T-%d", i)), i, lanes.Number(i), fmt.Sprintf("tasks/T-%d-x", i), 0
				l.Number, l.Task, l.Worktree, l.Branch, l.Version = t.Lane, t.ID, fmt.Sprintf("%s/lane-%d", batch.LanesDir, i), fmt.Sprintf("ferrox/%s/lane-%d", batch.ID, i), 0
				run.ID, run.Task, run.Lane, run.Token, run.Version = lanes.RunID(engine.NewID()), t.ID, t.Lane, engine.NewID(), 0
				h.ID, h.Task, h.Lane, h.Run, h.Version = lanes.HoldID(engine.NewID()), t.ID, t.Lane, run.ID, 0
				_, err1 := tx.PutTask(ctx, t)
				_, err2 := tx.PutLane(ctx, l)
				_, err3 := tx.PutRun(ctx, run)
				_, err4 := tx.PutHold(ctx, h)
				for _, err := range []error{err1, err2, err3, err4} {
					must(err)
				}
			}
			return nil
		}))
	}
}

// watchIdle starts an engine on a batch with one ruling to deliver, waits until that task has landed, and watches what the
// engine takes after that.
func watchIdle(b *testing.B, repo string) {
	b.Helper()
	cmd := exec.Command(binary, "resume")
	cmd.Dir = repo
	began := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	}()
	shell(b, repo, "until ferrox log | grep -q ' landed '; do :; done")
	first := eventAfter(b, repo, "worker-starting", began).Sub(began)
	<-time.After(3 * time.Second) // whatever is kept for a moment is given up
	before := spent(b, cmd.Process.Pid)
	<-time.After(idleFor)
	share := float64(spent(b, cmd.Process.Pid)-before) / float64(idleFor)
	now, most := resident(b, cmd.Process.Pid)
	b.ReportMetric(share*100, "idle-%")
	b.ReportMetric(float64(first.Milliseconds()), "resume-ms")
	b.ReportMetric(float64(most)/(1<<20), "peak-MiB")
	b.Logf("idle engine: %.3f %% of a core (mark < %.1f %%): %s", share*100, idleMark*100, met(share < idleMark))
	b.Logf("resume to the first decision: %v (mark < %v): %s", first, resumeMark, met(first < resumeMark))
	b.Logf("memory: %d MiB resident, %d MiB at most (mark < %d MiB): %s", now>>20, most>>20, memoryMark>>20, met(most < memoryMark))
}

// eventAfter returns when an event of that name first happened after an instant.
func eventAfter(b *testing.B, repo, name string, since time.Time) (at time.Time) {
	b.Helper()
	for _, ev := range logged(b, repo) {
		if ts, err := time.Parse(time.RFC3339Nano, ev.TS); err == nil && ev.Event == name && ts.After(since) && at.IsZero() {
			at = ts
		}
	}
	if at.IsZero() {
		b.Fatalf("no event %s after %v", name, since)
	}
	return at
}

// spent is the time that all threads of a process were on a core.
func spent(b *testing.B, pid int) (total time.Duration) {
	b.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		b.Fatalf("process %d is gone: %v", pid, err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			continue // a thread that ended
		}
		ns, err := strconv.ParseInt(strings.Fields(string(data))[0], 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		total += time.Duration(ns)
	}
	return total
}

// resident is what a process has in memory now, and had at most, in bytes.
func resident(b *testing.B, pid int) (now, most int64) {
	b.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		kib, _ := strconv.ParseInt(f[1], 10, 64)
		switch f[0] {
		case "VmRSS:":
			now = kib << 10
		case "VmHWM:":
			most = kib << 10
		}
	}
	return now, most
}
