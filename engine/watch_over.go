package engine

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ferrox/lanes/packet"
)

// watchOver is what the engine knows of one live worker, and what it waits for.
type watchOver struct {
	r       *runner
	u       unit
	began   time.Duration // monotonic: when this engine began to watch
	ran     time.Duration // how long the run had been running by then
	claimed time.Duration // monotonic: when the claim was first seen; 0 before
	active  time.Duration // monotonic: when it last did something
	pulse   string        // what "something" is compared with
	endedBy string        // why it was told to end; "" before
}

func (r *runner) watchOver(u unit) *watchOver {
	now := r.Clock.Monotonic()
	w := &watchOver{r: r, u: u, began: now, active: now, ran: max(0, r.Clock.Now().Sub(u.run.StartedAt))}
	if err := r.Watch.Watch(u.taskDir()); err != nil {
		r.Logger.Warn("watch the packet folder", "task", u.task.ID, "error", err) // the slow look finds the claim too
	}
	return w
}

func (w *watchOver) close() { w.r.Watch.Unwatch(w.u.taskDir()) }

// look decides whether the worker has to go, tells it so, and says how long to wait before the next look.
func (w *watchOver) look(ctx context.Context) time.Duration {
	if w.endedBy != "" {
		return slow
	}
	if u, err := w.r.unit(ctx, w.u.task.ID); err == nil {
		w.u.holds = u.holds
	}
	now := w.r.Clock.Monotonic()
	why, next := w.due(now)
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

// due returns why the worker has to go now, or how long until that could change.
func (w *watchOver) due(now time.Duration) (why string, next time.Duration) {
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
	set := w.r.set.Runner
	if open, since, due := heldOpen(w.u.holds); open {
		wall := w.r.Clock.Now()
		wait("quiesce", set.HoldQuiesce-wall.Sub(since))
		wait("deadline", due.Sub(wall))
	} else {
		w.feelPulse(now)
		wait("stall", set.StallTimeout-(now-w.active))
		wait("wall-clock", set.Worker.MaxWallClock-w.ran-(now-w.began))
	}
	if w.claimSeen(now) {
		wait("finish", set.FinishGrace-(now-w.claimed))
	}
	return why, next
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

// feelPulse notes that the worker did something: output, commits, staged files, its STATUS.md. When all that has been
// quiet for so long that the worker would be stalled, its files are looked at one by one.
func (w *watchOver) feelPulse(now time.Duration) {
	if pulse := w.signs(); pulse != w.pulse {
		w.pulse, w.active = pulse, now
	}
	limit := w.r.set.Runner.StallTimeout
	if now-w.active >= limit && w.r.Clock.Now().Sub(newestFile(w.u.lane.Worktree)) < limit {
		w.active = now
	}
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
