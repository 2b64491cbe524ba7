package lanes

import (
	"fmt"
	"time"
)

// Budget bounds how long ferrox goes on with a task by itself.
type Budget struct {
	MaxIterations   int           // runs that count; runs that opened a hold do not
	NoProgressLimit int           // runs in a row that did nothing
	BackoffInitial  time.Duration // before the run after the first that did nothing
	BackoffMax      time.Duration
}

// RunFacts is what a finished run came to.
type RunFacts struct {
	OpenedHold     bool   // it escalated
	Interrupted    bool   // ferrox sent it home to go on later, or the machine went down with it; a killed shim is neither
	HeadMoved      bool   // the lane has commits that it did not have before
	BoxesTicked    bool   // more boxes are ticked than before
	Acknowledged   bool   // it acknowledged a ruling
	Unacknowledged string // hold whose ruling was in its prompt and was not acknowledged; "" for none
	Claimed        bool   // it left a .DONE, whatever became of that
	Failure        string // why the command could not be started
	Signal         string // the signal that killed it, "" when it exited or when ferrox ended it
	ExitCode       int
	EndedBy        string // "" by itself
	Tail           string // last output, for the record
}

// Did reports whether the run did anything. One that left a ruling unacknowledged did not, whatever else it did.
func (r RunFacts) Did() bool {
	return r.Unacknowledged == "" && (r.HeadMoved || r.BoxesTicked || r.Acknowledged)
}

// Spend books a finished run that did not land on the task's budgets and says what follows: the task goes on (after
// RetryAt), is stalled, or has failed. A run that opened a hold, or that was interrupted, moves no budget.
func (b Budget) Spend(t Task, r RunFacts, now time.Time) (Task, Input) {
	if r.Failure != "" {
		return t.because(Reason{
			Code: CodeWorkerFailed, Ref: fmt.Sprintf("exit %d", r.ExitCode), Clears: "operator", Next: "ferrox retry " + string(t.ID),
			Text: "the worker command could not be started: " + r.Failure,
		}), Fail
	}
	if r.OpenedHold || r.Interrupted {
		t.RetryAt = time.Time{}
		return t, Start
	}
	t.Spent++
	if r.Did() {
		t.NoProgress = 0
	} else {
		t.NoProgress++
	}
	switch {
	case b.NoProgressLimit > 0 && t.NoProgress >= b.NoProgressLimit:
		return b.idle(t, r)
	case b.MaxIterations > 0 && t.Spent >= b.MaxIterations:
		return t.because(Reason{
			Code: CodeCapFired, Ref: "max_iterations", Clears: "operator", Next: "ferrox retry " + string(t.ID),
			Text: fmt.Sprintf("%d runs and no claim that holds", t.Spent),
		}), Stall
	}
	t.RetryAt = now.Add(b.backoff(t.NoProgress))
	return t, Start
}

// idle ends a task whose runs did nothing: failed when the last one crashed, stalled otherwise.
func (b Budget) idle(t Task, r RunFacts) (Task, Input) {
	reason := Reason{Code: CodeNoProgress, Ref: "no_progress_limit", Clears: "operator", Next: "ferrox output " + string(t.ID)}
	reason.Text = fmt.Sprintf("%d runs in a row did nothing; the last one %s", t.NoProgress, r.how())
	if r.Unacknowledged != "" {
		reason.Code, reason.Ref, reason.Next = CodeHoldUnacknowledged, r.Unacknowledged, "ferrox retry "+string(t.ID)
		reason.Text = fmt.Sprintf("%d runs in a row ended without acknowledging the ruling in their prompt", t.NoProgress)
		return t.because(reason), Stall
	}
	if r.crashed() {
		reason.Code = CodeWorkerFailed
		if r.Tail != "" {
			reason.Text += ": " + r.Tail
		}
		return t.because(reason), Fail
	}
	return t.because(reason), Stall
}

func (r RunFacts) crashed() bool {
	return r.EndedBy == "" && !r.Claimed && (r.Signal != "" || r.ExitCode >= 126)
}

func (r RunFacts) how() string {
	switch {
	case r.EndedBy != "":
		return "was ended (" + r.EndedBy + ")"
	case r.Signal != "":
		return "was killed by " + r.Signal
	default:
		return fmt.Sprintf("exited with %d", r.ExitCode)
	}
}

func (b Budget) backoff(idle int) time.Duration {
	if idle == 0 {
		return 0
	}
	d := b.BackoffInitial
	for range idle - 1 {
		if d *= 2; d >= b.BackoffMax {
			return b.BackoffMax
		}
	}
	return min(d, b.BackoffMax)
}

// because puts the reason that ended the task before those that stood.
func (t Task) because(r Reason) Task {
	t.Reasons = append([]Reason{r}, t.Reasons...)
	return t
}
