package lanes

import "time"

// MarkKind is what happened at a mark.
type MarkKind string

// The marks that the clocks of a run turn on.
const (
	MarkBegan MarkKind = "began" // the run was decided on
	MarkHeld  MarkKind = "held"  // a hold was opened
	MarkFreed MarkKind = "freed" // a hold was ruled on or cancelled
	MarkEnded MarkKind = "ended" // the run's process tree has ended
)

// Mark is one instant in the life of a run. Marks are read from the log, in its order.
type Mark struct {
	Kind MarkKind
	Hold HoldID // of MarkHeld and MarkFreed
	At   time.Time
}

// Working is how long a run has worked by now, by its marks: from its beginning to its end, without the time in which a
// hold was open. A clock that was set back between two marks makes a stretch of it count as nothing, never as less.
func Working(marks []Mark, now time.Time) time.Duration {
	var total time.Duration
	var since time.Time // the working stretch that is under way; zero while there is none
	open := map[HoldID]bool{}
	stop := func(at time.Time) {
		if !since.IsZero() {
			total += max(0, at.Sub(since))
			since = time.Time{}
		}
	}
	running := false
	for _, m := range marks {
		switch m.Kind {
		case MarkBegan:
			running = true
		case MarkHeld:
			open[m.Hold] = true
		case MarkFreed:
			delete(open, m.Hold)
		case MarkEnded:
			running = false
		}
		if running && len(open) == 0 && since.IsZero() {
			since = m.At
		} else if !running || len(open) > 0 {
			stop(m.At)
		}
	}
	stop(now)
	return total
}

// Stopwatch measures one live run on a clock that neither jumps nor is set. Waiting for a person is in none of its times.
type Stopwatch struct {
	Worked time.Duration // how long the run has worked
	Quiet  time.Duration // how long it has worked since it last did something
	Held   time.Duration // how long it has been waiting, in one go
	held   bool
	last   time.Duration
}

// NewStopwatch starts at now, for a run that had worked for so long by then.
func NewStopwatch(worked, now time.Duration) Stopwatch { return Stopwatch{Worked: worked, last: now} }

// At is the stopwatch at a later look. held says whether a hold is open now, moved whether the run did something since the
// last look. What passed in between counts as what was found at its beginning.
func (s Stopwatch) At(now time.Duration, held, moved bool) Stopwatch {
	passed := max(0, now-s.last)
	if s.held {
		s.Held += passed
	} else {
		s.Worked += passed
		s.Quiet += passed
	}
	if moved || s.held || held {
		s.Quiet = 0 // a worker that waits has nothing to do: afterwards its time to be quiet begins anew
	}
	if !held {
		s.Held = 0
	}
	s.held, s.last = held, now
	return s
}

// Due reports whether a task's back-off is over. No back-off is longer than longest: an instant further away than that was
// written before the clock was set back, and holds nothing up.
func (t Task) Due(now time.Time, longest time.Duration) bool {
	wait := t.RetryAt.Sub(now)
	return wait <= 0 || wait > longest
}
