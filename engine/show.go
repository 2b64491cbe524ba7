package engine

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ferrox/lanes"
	"ferrox/mailbox"
)

// Show returns one record, whole: a hold or message by id (or an unambiguous start of it), a task by its id in the newest
// batch that has it, a lane as "lane-2" or "2", a run by id, an event as "#17".
func (e *Engine) Show(ctx context.Context, id string) (v any, err error) {
	err = e.Store.View(ctx, func(r Reader) error {
		for _, find := range []func(context.Context, Reader, string) (any, error){e.showEvent, e.showTask, e.showLane, e.showHold, e.showMessage, e.showRun} {
			if v, err = find(ctx, r, id); v != nil || err != nil {
				return err
			}
		}
		return refuse(ExitNotFound, "not-found", "ferrox status", "nothing here is called %q", id)
	})
	return v, err
}

func (e *Engine) showEvent(ctx context.Context, r Reader, id string) (any, error) {
	digits, ok := strings.CutPrefix(id, "#")
	seq, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil {
		return nil, nil
	}
	events, err := r.Events(ctx, EventFilter{After: seq - 1})
	if err != nil || len(events) == 0 || events[0].Seq != seq {
		return nil, err
	}
	return ViewEvent(events[0]), nil
}

func (e *Engine) showTask(ctx context.Context, r Reader, id string) (any, error) {
	batches, err := r.Batches(ctx)
	if err != nil {
		return nil, err
	}
	for _, b := range batches {
		t, err := r.Task(ctx, b.ID, lanes.TaskID(id))
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		runs, err := r.Runs(ctx, RunFilter{Batch: b.ID, Task: t.ID})
		if err != nil {
			return nil, err
		}
		citations, err := citationsOf(ctx, r, b.ID, t.ID)
		if err != nil {
			return nil, err
		}
		view := viewTask(t)
		view.Citations = textsOf(citations[t.ID])
		holds, err := r.Holds(ctx, HoldFilter{Batch: b.ID, Task: t.ID})
		return TaskDetail{TaskView: view, Batch: b.ID, Scope: t.Scope, Scoped: t.Scoped, Runs: viewRuns(runs), Holds: e.viewHolds(holds)}, err
	}
	return nil, nil
}

// TaskDetail is a task with its runs and holds.
type TaskDetail struct {
	TaskView
	Batch  lanes.BatchID `json:"batch"`
	Scoped bool          `json:"scoped"`
	Scope  []string      `json:"scope"`
	Runs   []RunView     `json:"runs"`
	Holds  []HoldView    `json:"holds"`
}

// RunView is one run of a worker as the outside sees it.
type RunView struct {
	ID        lanes.RunID       `json:"id"`
	Task      lanes.TaskID      `json:"task"`
	Lane      lanes.Number      `json:"lane"`
	Iteration int               `json:"iteration"`
	State     lanes.RunState    `json:"state"`
	Outcome   string            `json:"outcome,omitempty"`
	StartedAt string            `json:"started_at"`
	EndedAt   string            `json:"ended_at,omitempty"`
	ExitCode  int               `json:"exit_code"`
	Signal    string            `json:"signal,omitempty"`
	Failure   string            `json:"failure,omitempty"`
	EndedBy   string            `json:"ended_by,omitempty"`
	Rulings   []lanes.MessageID `json:"rulings"`
}

func viewRun(r lanes.Run) RunView {
	v := RunView{
		ID: r.ID, Task: r.Task, Lane: r.Lane, Iteration: r.Iteration, State: r.State, Outcome: r.Outcome, StartedAt: stamp(r.StartedAt),
		EndedAt: stamp(r.EndedAt), ExitCode: r.ExitCode, Signal: r.Signal, Failure: r.Failure, EndedBy: r.EndedBy, Rulings: r.Rulings,
	}
	if v.Rulings == nil {
		v.Rulings = []lanes.MessageID{}
	}
	return v
}

func viewRuns(runs []lanes.Run) []RunView {
	views := make([]RunView, 0, len(runs))
	for _, r := range runs {
		views = append(views, viewRun(r))
	}
	return views
}

func (e *Engine) showLane(ctx context.Context, r Reader, id string) (any, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(id, "lane-"))
	if err != nil {
		return nil, nil
	}
	b, err := batchOf(ctx, r, "")
	if err != nil {
		return nil, err
	}
	all, err := e.lanesOf(ctx, r, b.ID)
	i := slices.IndexFunc(all, func(l LaneView) bool { return int(l.Lane) == n })
	if err != nil || i < 0 {
		return nil, err
	}
	return all[i], nil
}

func (e *Engine) showHold(ctx context.Context, r Reader, id string) (any, error) {
	h, err := findHold(ctx, r, id)
	if err != nil || h.ID == "" {
		return nil, err
	}
	return viewHold(h, e.Clock.Now()), nil
}

// MessageView is one message as the outside sees it.
type MessageView struct {
	ID        lanes.MessageID `json:"id"`
	Type      string          `json:"type"`
	Batch     lanes.BatchID   `json:"batch"`
	Task      lanes.TaskID    `json:"task"`
	Role      string          `json:"role"`
	By        string          `json:"by"`
	ReplyTo   string          `json:"reply_to,omitempty"`
	Gate      string          `json:"gate,omitempty"`
	Verdict   string          `json:"verdict,omitempty"`
	Head      lanes.Commit    `json:"head,omitempty"`
	Text      string          `json:"text"`
	CreatedAt string          `json:"created_at"`
	Delivery  string          `json:"delivery,omitempty"` // steer and info: waiting, or what became of it; rulings: that of the hold
}

func (e *Engine) showMessage(ctx context.Context, r Reader, id string) (any, error) {
	found, err := r.Messages(ctx, MessageFilter{Prefix: strings.ToUpper(id)})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	if len(found) > 1 {
		return nil, refuse(ExitRefused, "ambiguous-id", "ferrox log", "%q fits %d messages", id, len(found))
	}
	m := found[0]
	v := MessageView{
		ID: m.ID, Type: string(m.Type), Batch: m.Batch, Task: m.Task, Role: string(m.Role), By: m.By, ReplyTo: m.ReplyTo, Gate: m.Gate,
		Verdict: string(m.Verdict), Head: m.Head, Text: m.Text, CreatedAt: stamp(m.CreatedAt),
	}
	v.Delivery, err = deliveryOf(ctx, r, m)
	return v, err
}

// deliveryOf says how far a message got; "" for those that are not delivered.
func deliveryOf(ctx context.Context, r Reader, m mailbox.Message) (string, error) {
	rule, _ := mailbox.RuleOf(m.Type)
	switch {
	case rule.Mail:
		owed, err := r.Effect(ctx, mailKey(m.ID))
		if err != nil || owed.State == lanes.EffectPending {
			return "waiting", err
		}
		return owed.Outcome, nil
	case m.Type == mailbox.TypeRuling:
		h, err := r.Hold(ctx, lanes.HoldID(m.ReplyTo))
		if err != nil || h.Ruling != m.ID {
			return "", err
		}
		return string(h.Delivery), nil
	}
	return "", nil
}

func (e *Engine) showRun(ctx context.Context, r Reader, id string) (any, error) {
	run, err := r.Run(ctx, lanes.RunID(strings.ToUpper(id)))
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return viewRun(run), nil
}

// RunOf finds a run of a task: the newest, or the one with that iteration.
func (e *Engine) RunOf(ctx context.Context, batch lanes.BatchID, task lanes.TaskID, iteration int) (run lanes.Run, err error) {
	err = e.Store.View(ctx, func(r Reader) error {
		b, err := batchOf(ctx, r, batch)
		if err != nil {
			return err
		}
		runs, err := r.Runs(ctx, RunFilter{Batch: b.ID, Task: task})
		if err != nil {
			return err
		}
		for _, candidate := range runs {
			if iteration == 0 || candidate.Iteration == iteration {
				run = candidate
			}
		}
		if run.ID == "" {
			return refuse(ExitNotFound, "not-found", "ferrox status "+string(b.ID), "no such run of %q in batch %s", task, b.ID)
		}
		return nil
	})
	return run, err
}

// Follow calls look, and again whenever somebody has committed, until it reports true or ctx ends.
func (e *Engine) Follow(ctx context.Context, look func() (bool, error)) error {
	seen := int64(-1)
	for {
		version, err := e.Store.DataVersion(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if version != seen {
			seen = version
			if done, err := look(); done || err != nil {
				return err
			}
		}
		fire, stop := e.Clock.After(followPoll)
		select {
		case <-fire:
		case <-ctx.Done():
			stop()
			return nil
		}
		stop()
	}
}

// LanesRoot is the folder of the lane worktrees by today's settings.
func (e *Engine) LanesRoot() string {
	set, _, _, err := e.LoadSettings()
	if err == nil && set.Runner.LanesDir != "" {
		if filepath.IsAbs(set.Runner.LanesDir) {
			return set.Runner.LanesDir
		}
		return filepath.Join(e.Root, set.Runner.LanesDir)
	}
	return filepath.Join(filepath.Dir(e.Root), filepath.Base(e.Root)+".lanes")
}
