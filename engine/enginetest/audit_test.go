package enginetest

import (
	"context"
	"errors"
	"strings"

	"ferrox/engine"
	"ferrox/hold"
	"ferrox/lanes"
)

// audit is a transaction that is watched: what may never change does not, and what may change only for a reason has it.
type audit struct {
	engine.Tx
	p      *proc
	spent  []lanes.Task // tasks whose budget moved
	judged map[lanes.TaskID]lanes.Run
	landed []lanes.Task
	events []string
}

func newAudit(t engine.Tx, p *proc) *audit {
	return &audit{Tx: t, p: p, judged: map[lanes.TaskID]lanes.Run{}}
}

// name is what the commit is about.
func (a *audit) name() string {
	if len(a.events) == 0 {
		return "(no event)"
	}
	return strings.Join(a.events, ", ")
}

func (a *audit) refuse(format string, args ...any) { a.p.w.violate(format, args...) }

func (a *audit) Task(ctx context.Context, b lanes.BatchID, id lanes.TaskID) (lanes.Task, error) {
	a.p.w.turns.label(string(id))
	return a.Tx.Task(ctx, b, id)
}

func (a *audit) AppendEvent(ctx context.Context, e lanes.Event) (int64, error) {
	a.events = append(a.events, e.Name+" "+string(e.Task))
	return a.Tx.AppendEvent(ctx, e)
}

func (a *audit) PutBatch(ctx context.Context, b lanes.Batch) (int64, error) {
	was, err := a.Tx.Batch(ctx, b.ID)
	if err == nil && was.Phase != b.Phase {
		switch was.Phase {
		case lanes.PhaseCompleted, lanes.PhaseAborted:
			a.refuse("batch leaves %s for %s", was.Phase, b.Phase)
		case lanes.PhaseRunning, lanes.PhasePaused, lanes.PhaseFailed:
		}
	}
	return a.Tx.PutBatch(ctx, b)
}

func (a *audit) PutTask(ctx context.Context, t lanes.Task) (int64, error) {
	was, err := a.Tx.Task(ctx, t.Batch, t.ID)
	if err == nil {
		if was.State == lanes.TaskSucceeded && t.State != was.State {
			a.refuse("task %s leaves %s for %s", t.ID, was.State, t.State)
		}
		if was.Merge != "" && t.Merge != was.Merge {
			a.refuse("task %s landed as %s, and now as %s", t.ID, was.Merge, t.Merge)
		}
		if t.Spent > was.Spent || t.NoProgress > was.NoProgress {
			a.spent = append(a.spent, t)
		}
		if t.State == lanes.TaskSucceeded && was.State != t.State {
			a.landed = append(a.landed, t)
		}
	}
	return a.Tx.PutTask(ctx, t)
}

func (a *audit) PutRun(ctx context.Context, r lanes.Run) (int64, error) {
	was, err := a.Tx.Run(ctx, r.ID)
	if err == nil && was.State == lanes.RunJudged && r.State != was.State {
		a.refuse("run %s of %s is judged, and now %s", r.ID, r.Task, r.State)
	}
	if err == nil && was.State != r.State && r.State == lanes.RunJudged {
		a.judged[r.Task] = r
	}
	return a.Tx.PutRun(ctx, r)
}

func (a *audit) PutHold(ctx context.Context, h hold.Record) (int64, error) {
	was, err := a.Tx.Hold(ctx, h.ID)
	if err == nil {
		a.compareHolds(was, h)
	}
	return a.Tx.PutHold(ctx, h)
}

func (a *audit) compareHolds(was, h hold.Record) {
	if !h.Deadline.Equal(was.Deadline) && a.p.verb != "extend" {
		a.refuse("the deadline of hold %s moves from %v to %v, and nobody extended it", h.ID, was.Deadline, h.Deadline)
	}
	if was.Ruling != "" && h.Ruling != was.Ruling {
		a.refuse("hold %s was ruled on by %s, and now by %q", h.ID, was.Ruling, h.Ruling)
	}
	if was.Delivery == hold.DeliveryAcknowledged && h.Delivery != was.Delivery {
		a.refuse("hold %s was acknowledged, and now is %s", h.ID, h.Delivery)
	}
	if was.State == hold.Cancelled && h.State != was.State {
		a.refuse("hold %s was cancelled, and now is %s", h.ID, h.State)
	}
}

// finish looks at the whole transaction, with everything in it that is about to be committed.
func (a *audit) finish(ctx context.Context) {
	for _, t := range a.spent {
		run, judged := a.judged[t.ID]
		switch {
		case !judged:
			a.refuse("a budget of %s moves, and no run of it has ended", t.ID)
		case run.OpenedHold:
			a.refuse("a budget of %s moves for run %s, which opened a hold", t.ID, run.ID)
		case run.EndedBy == "park" || run.EndedBy == "outage":
			a.refuse("a budget of %s moves for run %s, which was ended by %s", t.ID, run.ID, run.EndedBy)
		}
	}
	for _, t := range a.landed {
		holds, err := a.Tx.Holds(ctx, engine.HoldFilter{Batch: t.Batch, Task: t.ID})
		if err != nil {
			a.refuse("read the holds of %s: %v", t.ID, err)
		}
		for _, h := range holds {
			if h.Unresolved() {
				a.refuse("%s lands over hold %s, which is %s, delivery %s", t.ID, h.ID, h.State, h.Delivery)
			}
		}
		a.p.w.checkLanded(t)
	}
	for _, t := range a.started(ctx) {
		a.refuse("%s", t)
	}
}

// started finds lanes that two runs count as theirs.
func (a *audit) started(ctx context.Context) (found []string) {
	runs, err := a.Tx.Runs(ctx, engine.RunFilter{Batch: batchID, States: []lanes.RunState{lanes.RunStarting, lanes.RunRunning}})
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return []string{err.Error()}
	}
	lane := map[lanes.Number]lanes.RunID{}
	for _, r := range runs {
		if other := lane[r.Lane]; other != "" {
			found = append(found, "runs "+string(other)+" and "+string(r.ID)+" share a lane")
		}
		lane[r.Lane] = r.ID
	}
	return found
}
