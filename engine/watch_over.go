package engine

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ferrox/lanes"
	"ferrox/lanes/packet"
)

// watchOver is what the engine knows of one live worker, and what it waits for.
type watchOver struct {
	r       *runner
	u       unit
	clock   lanes.Stopwatch // working time and quiet time, monotonic
	claimed time.Duration   // monotonic: when the claim was first seen; 0 before
	waited  time.Duration   // how long the open hold had been open when this engine first saw it
	pulse   string          // what "it did something" is compared with
	pulseAt time.Time       // wall: when it last did something, to compare with the times of files
	newest  time.Time       // the newest file that counted as a sign of life
	endedBy string          // why it was told to end; "" before
}

func (r *runner) watchOver(ctx context.Context, u unit) *watchOver {
	w := &watchOver{r: r, u: u, pulseAt: r.Clock.Now()}
	w.clock = lanes.NewStopwatch(w.workedBefore(ctx), r.Clock.Monotonic())
	if err := r.Watch.Watch(u.taskDir()); err != nil {
		r.Logger.Warn("watch the packet folder", "task", u.task.ID, "error", err) // the slow look finds the claim too
	}
	return w
}

func (w *watchOver) close() { w.r.Watch.Unwatch(w.u.taskDir()) }

// workedBefore is how long the run had worked before this engine came to watch it: by the log, and never longer than its
// shim has lived by a clock that nobody sets.
func (w *watchOver) workedBefore(ctx context.Context) time.Duration {
	worked := time.Duration(0)
	err := w.r.Store.View(ctx, func(rd Reader) error {
		events, err := rd.Events(ctx, EventFilter{Batch: w.u.run.Batch, Task: w.u.run.Task})
		worked = lanes.Working(marksOf(events, w.u.run.ID), w.r.Clock.Now())
		return err
	})
	if err != nil {
		w.r.Logger.Warn("read how long the worker has worked", "task", w.u.task.ID, "error", err)
	}
	if age, known := w.r.Workers.Age(w.u.run.Shim); known {
		worked = min(worked, age)
	}
	return worked
}

// marksOf reads the clocks of one run from its task's log.
func marksOf(events []lanes.Event, run lanes.RunID) (marks []lanes.Mark) {
	for _, ev := range events {
		switch {
		case ev.Name == "worker-starting" && ev.Ref == string(run):
			marks = []lanes.Mark{{Kind: lanes.MarkBegan, At: ev.At}}
		case ev.Name == "worker-exited" && ev.Ref == string(run):
			marks = append(marks, lanes.Mark{Kind: lanes.MarkEnded, At: ev.At})
		case ev.Name == "hold-opened":
			marks = append(marks, lanes.Mark{Kind: lanes.MarkHeld, Hold: lanes.HoldID(ev.Ref), At: ev.At})
		case ev.Name == "hold-released", ev.Name == "hold-cancelled":
			marks = append(marks, lanes.Mark{Kind: lanes.MarkFreed, Hold: lanes.HoldID(ev.Ref), At: ev.At})
		}
	}
	return marks
}

// look decides whether the worker has to go, tells it so, and says how long to wait before the next look.
func (w *watchOver) look(ctx context.Context) time.Duration {
	if w.endedBy != "" {
		return slow
	}
	if u, err := w.r.unit(ctx, w.u.task.ID); err == nil {
		w.u.holds = u.holds
	}
	why, next := w.due()
	if why == "" {
		return max(next, time.Millisecond)
	}
	if err := w.r.Workers.Terminate(w.u.run.Shim); err != nil {
		w.r.Logger.Warn("end the worker", "task", w.u.task.ID, "error", err)
		return slow
	}
	w.endedBy = why
	return slow
}

// due returns why the worker has to go now, or how long until that could change. Limits of work run on the stopwatch, and
// stand still while a hold is open; a deadline is an instant of the wall clock.
func (w *watchOver) due() (why string, next time.Duration) {
	if why := w.r.halted(); why != "" {
		return why, 0
	}
	if why := w.r.endingWhy(w.u.task.ID); why != "" {
		return why, 0
	}
	next = slow
	wait := func(name string, left time.Duration) {
		if left <= 0 && why == "" {
			why = name
		}
		next = min(next, left)
	}
	now, set := w.r.Clock.Monotonic(), w.r.set.Runner
	open, since, due := heldOpen(w.u.holds)
	w.tick(now, open, since)
	if open {
		wait("quiesce", set.HoldQuiesce-w.waited-w.clock.Held)
		wait("deadline", due.Sub(w.r.Clock.Now()))
	} else {
		wait("stall", set.StallTimeout-w.clock.Quiet)
		wait("wall-clock", set.Worker.MaxWallClock-w.clock.Worked)
	}
	if w.claimSeen(now) {
		wait("finish", set.FinishGrace-(now-w.claimed))
	}
	return why, next
}

// tick moves the stopwatch on. A hold that was open before this engine looked has been waiting since then, but no longer
// than the worker has lived.
func (w *watchOver) tick(now time.Duration, open bool, since time.Time) {
	w.clock = w.clock.At(now, open, !open && w.moved())
	if open && w.clock.Held == 0 {
		w.waited = max(0, w.r.Clock.Now().Sub(since))
		if age, known := w.r.Workers.Age(w.u.run.Shim); known {
			w.waited = min(w.waited, age)
		}
	}
	if !open && w.clock.Quiet >= w.r.set.Runner.StallTimeout && w.filesMoved() {
		w.clock = w.clock.At(now, open, true)
	}
}

func (w *watchOver) claimSeen(now time.Duration) bool {
	id, err := claimIdentity(w.u.claimFile())
	if err != nil || id == "" || id == w.u.run.DoneBefore {
		w.claimed = 0
		return false
	}
	if w.claimed == 0 {
		w.claimed = max(now, 1)
	}
	return true
}

// moved reports whether the worker did something since the last look: output, commits, staged files, its STATUS.md.
func (w *watchOver) moved() bool {
	pulse := w.signs()
	if pulse == w.pulse {
		return false
	}
	w.pulse, w.pulseAt = pulse, w.r.Clock.Now()
	return true
}

// filesMoved looks at the worker's files one by one, once all else has been quiet for so long that it would be stalled. A
// file that was written since the last sign of life is one, whatever the clock was set to in between, and counts once.
func (w *watchOver) filesMoved() bool {
	wall, newest := w.r.Clock.Now(), newestFile(w.u.lane.Worktree)
	since := w.pulseAt
	if quiet := wall.Add(-w.clock.Quiet); quiet.Before(since) {
		since = quiet
	}
	if newest.Before(since) || newest.Equal(w.newest) {
		return false
	}
	w.newest, w.pulseAt = newest, wall
	return true
}

func (w *watchOver) signs() string {
	signs := w.r.Workers.LastOutput(w.u.run.Dir).String()
	git := gitDir(w.u.lane.Worktree)
	for _, f := range []string{filepath.Join(w.u.taskDir(), packet.StatusName), filepath.Join(git, "logs", "HEAD"), filepath.Join(git, "index")} {
		if info, err := os.Lstat(f); err == nil {
			signs += " " + info.ModTime().String()
		}
	}
	return signs
}

// gitDir is the folder that git keeps for a linked worktree.
func gitDir(worktree string) string {
	link, err := os.ReadFile(filepath.Join(worktree, ".git"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.TrimPrefix(string(link), "gitdir:"))
}

// newestFile is the latest change of any file in a worktree.
func newestFile(dir string) (newest time.Time) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
		return nil
	})
	return newest
}
