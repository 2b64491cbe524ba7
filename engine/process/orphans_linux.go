package process

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// orphanAge is how long a dead child must have been nobody's before it is reaped.
const orphanAge = 5 * time.Second

// orphan is a dead child that nobody seems to wait for.
type orphan struct {
	start uint64
	since time.Time
	swept bool // killed by Sweep: known to be an orphan
}

// ReapOrphans takes dead children off the process table that came to a subreaper from elsewhere, and returns how many.
// Call it now and then. Children that this program started are never touched: they share its session or are known
// shims of this Runner; should one have a session of its own, whoever waits for it has some seconds.
func (r *Runner) ReapOrphans() (int, error) { return r.reapOrphans(orphanAge) }

func (r *Runner) reapOrphans(age time.Duration) (int, error) {
	all, err := everyProcess()
	if err != nil {
		return 0, err
	}
	session, err := unix.Getsid(0)
	if err != nil {
		return 0, err
	}
	r.takeSwept()
	r.mu.Lock()
	defer r.mu.Unlock()
	reaped, seen := 0, make(map[int]orphan)
	for _, s := range all {
		if s.ppid != os.Getpid() || !s.dead() || s.session == session || r.shims[s.pid] {
			continue
		}
		o, known := r.orphans[s.pid]
		if !known || o.start != s.start {
			o = orphan{start: s.start, since: time.Now()}
		}
		if time.Since(o.since) >= age && reap(s.pid) {
			reaped++
			continue
		}
		seen[s.pid] = o
	}
	r.orphans = seen
	return reaped, nil
}

// waitedFor reports whether a goroutine of this runner reaps that child.
func (r *Runner) waitedFor(pid int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.shims[pid]
}

// takeSoon remembers a process that a sweep killed. It is ours to reap once its parents are gone as well.
func (r *Runner) takeSoon(s stat) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.orphans == nil {
		r.orphans = make(map[int]orphan)
	}
	r.orphans[s.pid] = orphan{start: s.start, since: time.Now(), swept: true}
}

// takeSwept reaps what sweeps killed, as far as it has ended and is ours, and forgets what others reaped.
func (r *Runner) takeSwept() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for pid, o := range r.orphans {
		if !o.swept {
			continue
		}
		s, err := readStat(pid)
		if errors.Is(err, errGone) || s.start != o.start || (s.dead() && reap(pid)) {
			delete(r.orphans, pid)
		}
	}
}
