package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ferrox/gates"
	"ferrox/hold"
	"ferrox/lanes"
)

// BatchOf returns a batch by id, or the newest one for "".
func (e *Engine) BatchOf(ctx context.Context, id lanes.BatchID) (b lanes.Batch, err error) {
	err = e.Store.View(ctx, func(r Reader) error {
		b, err = batchOf(ctx, r, id)
		return err
	})
	return b, err
}

func batchOf(ctx context.Context, r Reader, id lanes.BatchID) (lanes.Batch, error) {
	if id != "" {
		b, err := r.Batch(ctx, id)
		if errors.Is(err, ErrNotFound) {
			return b, refuse(ExitNotFound, "not-found", "ferrox batches", "there is no batch %q", id)
		}
		return b, err
	}
	all, err := r.Batches(ctx)
	if err != nil {
		return lanes.Batch{}, err
	}
	if len(all) == 0 {
		return lanes.Batch{}, refuse(ExitNotFound, "not-found", "ferrox run batch", "there is no batch here yet")
	}
	return all[0], nil
}

// Status shows one batch, from one snapshot.
func (e *Engine) Status(ctx context.Context, id lanes.BatchID) (StatusView, error) {
	var v StatusView
	var b lanes.Batch
	var rows []lanes.Task
	var bound []lanes.Lane
	var integrated bool
	err := e.Store.View(ctx, func(r Reader) (err error) {
		if b, err = batchOf(ctx, r, id); err != nil {
			return err
		}
		if v, err = e.statusOf(ctx, r, b); err != nil {
			return err
		}
		if rows, err = r.Tasks(ctx, b.ID); err != nil {
			return err
		}
		if bound, err = r.Lanes(ctx, b.ID); err != nil {
			return err
		}
		integrated, err = isIntegrated(ctx, r, b.ID)
		return err
	})
	if err != nil {
		return v, err
	}
	e.compareBranches(ctx, b, rows, bound, &v)
	if v.Engine, err = e.EngineState(ctx, b.ID); err != nil {
		return v, err
	}
	v.Next = whatNext(v, integrated)
	return v, nil
}

// compareBranches fills in what git says of the branches. It comes after the snapshot: git is asked while no transaction waits.
func (e *Engine) compareBranches(ctx context.Context, b lanes.Batch, tasks []lanes.Task, bound []lanes.Lane, v *StatusView) {
	var br *branches
	br, v.BranchState = e.branchesOf(ctx, b)
	own := map[lanes.Number]lanes.Lane{}
	for _, l := range bound {
		own[l.Number] = l
	}
	for i, t := range tasks {
		l := own[t.Lane]
		if l.Task != t.ID {
			l = lanes.Lane{} // the lane has another task by now
		}
		v.Tasks[i].BranchState = br.task(ctx, t, l)
	}
}

// isIntegrated says whether a branch has everything that landed. Whatever a batch does after that is a handful of events.
func isIntegrated(ctx context.Context, r Reader, b lanes.BatchID) (bool, error) {
	events, err := r.Events(ctx, EventFilter{Batch: b, Limit: 50})
	for _, ev := range slices.Backward(events) {
		if ev.Name == "integrated" || ev.Name == "landed" {
			return ev.Name == "integrated", err
		}
	}
	return false, err
}

func (e *Engine) statusOf(ctx context.Context, r Reader, b lanes.Batch) (StatusView, error) {
	v := StatusView{
		Batch: b.ID, Phase: b.Phase, PauseCause: string(b.Cause), Why: b.Why, Base: b.Base, IntegrationBranch: b.Integration,
		IntegrationHead: b.Head, CreatedAt: stamp(b.CreatedAt), EndedAt: stamp(b.EndedAt), Tasks: []TaskView{},
	}
	tasks, err := r.Tasks(ctx, b.ID)
	if err != nil {
		return v, err
	}
	holds, err := r.Holds(ctx, HoldFilter{Batch: b.ID, Unresolved: true})
	if err != nil {
		return v, err
	}
	citations, err := citationsOf(ctx, r, b.ID, "")
	if err != nil {
		return v, err
	}
	held := map[lanes.TaskID][]hold.Record{}
	for _, h := range holds {
		held[h.Task] = append(held[h.Task], h)
	}
	for _, t := range tasks {
		view := e.viewHeldTask(b, t, held[t.ID])
		view.Citations = textsOf(citations[t.ID])
		v.Tasks = append(v.Tasks, view)
	}
	if v.Lanes, err = e.lanesOf(ctx, r, b.ID); err != nil {
		return v, err
	}
	v.Holds = e.viewHolds(holds)
	return v, nil
}

// viewHeldTask shows a task with what its own unresolved holds stand against. That is asked anew each time and never stored.
func (e *Engine) viewHeldTask(b lanes.Batch, t lanes.Task, holds []hold.Record) TaskView {
	v := viewTask(t)
	if t.State.Ended() {
		return v // its stored reasons say why it ended
	}
	_, reasons := gates.Complete(gates.Facts{Path: gates.PathPause, Now: e.Clock.Now(), Batch: b, Task: t, Holds: holds})
	for _, re := range v.Reasons {
		if re.Code != lanes.CodeHoldOpen && re.Code != lanes.CodeHoldUnacknowledged {
			reasons = append(reasons, re)
		}
	}
	v.Reasons = append([]lanes.Reason{}, reasons...) // what is empty is [], never null
	return v
}

func (e *Engine) lanesOf(ctx context.Context, r Reader, b lanes.BatchID) ([]LaneView, error) {
	views := []LaneView{}
	rows, err := r.Lanes(ctx, b)
	if err != nil {
		return nil, err
	}
	runs, err := r.Runs(ctx, RunFilter{Batch: b})
	if err != nil {
		return nil, err
	}
	last := map[lanes.Number]*lanes.Run{}
	for i := range runs {
		last[runs[i].Lane] = &runs[i]
	}
	for _, l := range rows {
		views = append(views, viewLane(l, last[l.Number], e.Workers.Alive))
	}
	return views, nil
}

func (e *Engine) viewHolds(rows []hold.Record) []HoldView {
	views, now := make([]HoldView, 0, len(rows)), e.Clock.Now()
	for _, h := range rows {
		views = append(views, viewHold(h, now))
	}
	return views
}

// Lanes lists a batch's lanes; heldOnly leaves out those whose task is not held.
func (e *Engine) Lanes(ctx context.Context, id lanes.BatchID, heldOnly bool) ([]LaneView, error) {
	v, err := e.Status(ctx, id)
	if err != nil || !heldOnly {
		return v.Lanes, err
	}
	waits := map[lanes.TaskID]bool{}
	for _, t := range v.Tasks {
		waits[t.ID] = t.State == lanes.TaskHeld
	}
	held := []LaneView{}
	for _, l := range v.Lanes {
		if waits[l.Task] {
			held = append(held, l)
		}
	}
	return held, nil
}

// Holds lists the unresolved holds of every batch, or all holds.
func (e *Engine) Holds(ctx context.Context, all bool) (v []HoldView, err error) {
	err = e.Store.View(ctx, func(r Reader) error {
		rows, err := r.Holds(ctx, HoldFilter{Unresolved: !all})
		v = e.viewHolds(rows)
		return err
	})
	return v, err
}

// BatchView is one line of `ferrox batches`.
type BatchView struct {
	Batch      lanes.BatchID `json:"batch"`
	Phase      lanes.Phase   `json:"phase"`
	PauseCause string        `json:"pause_cause,omitempty"`
	Tasks      int           `json:"tasks"`
	Succeeded  int           `json:"succeeded"`
	Held       int           `json:"held"`
	CreatedAt  string        `json:"created_at"`
	EndedAt    string        `json:"ended_at,omitempty"`
	Branch     string        `json:"integration_branch"`
}

// Batches lists all batches, newest first.
func (e *Engine) Batches(ctx context.Context) ([]BatchView, error) {
	views := []BatchView{}
	err := e.Store.View(ctx, func(r Reader) error {
		all, err := r.Batches(ctx)
		if err != nil {
			return err
		}
		for _, b := range all {
			tasks, err := r.Tasks(ctx, b.ID)
			if err != nil {
				return err
			}
			v := BatchView{Batch: b.ID, Phase: b.Phase, PauseCause: string(b.Cause), Tasks: len(tasks), CreatedAt: stamp(b.CreatedAt), EndedAt: stamp(b.EndedAt), Branch: b.Integration}
			for _, t := range tasks {
				if t.State == lanes.TaskSucceeded {
					v.Succeeded++
				}
				if t.State == lanes.TaskHeld {
					v.Held++
				}
			}
			views = append(views, v)
		}
		return nil
	})
	return views, err
}

// Log lists events.
func (e *Engine) Log(ctx context.Context, f EventFilter) ([]EventView, error) {
	views := []EventView{}
	err := e.Store.View(ctx, func(r Reader) error {
		events, err := r.Events(ctx, f)
		for _, ev := range events {
			views = append(views, ViewEvent(ev))
		}
		return err
	})
	return views, err
}

// whatNext says what happens next, or what to type.
func whatNext(v StatusView, integrated bool) []string {
	next := []string{}
	stalled := map[lanes.TaskID]bool{}
	for _, t := range v.Tasks {
		if stalled[t.ID] = t.State == lanes.TaskStalled; stalled[t.ID] && len(t.Reasons) > 0 && t.Reasons[0].Next != "" {
			next = append(next, t.Reasons[0].Next)
		}
	}
	for _, h := range v.Holds {
		switch h.State {
		case hold.Open:
			next = append(next, fmt.Sprintf("ferrox rule --reply-to %s -m TEXT", h.ID))
		case hold.Released:
			if stalled[h.Task] {
				continue // it goes on once it is retried
			}
			next = append(next, fmt.Sprintf("%s goes on with ruling %s", h.Task, h.Ruling.ID))
		case hold.Cancelled:
		}
	}
	switch {
	case v.Phase == lanes.PhasePaused && v.Engine.State != "alive", v.Phase == lanes.PhaseRunning && v.Engine.State != "alive":
		next = append(next, "ferrox resume "+string(v.Batch))
	case v.Phase == lanes.PhasePaused:
		next = append(next, "ferrox resume "+string(v.Batch)+" (the engine is alive and waits)")
	case v.Phase == lanes.PhaseFailed:
		next = append(next, "ferrox retry TASK, then ferrox resume "+string(v.Batch))
	case v.Phase == lanes.PhaseCompleted && (integrated || v.BranchState == BranchMerged):
		next = append(next, "ferrox clean "+string(v.Batch))
	case v.Phase == lanes.PhaseCompleted && v.BranchState == BranchEmpty:
		next = append(next, "ferrox clean "+string(v.Batch)+" (nothing to integrate: the branch has no commits over its base)")
	case v.Phase == lanes.PhaseCompleted && v.BranchState == BranchAhead:
		next = append(next, "ferrox integrate "+string(v.Batch)+" --into BRANCH")
	}
	return next
}
