package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"ferrox/engine/crash"
	"ferrox/gates"
	"ferrox/gates/epoch"
	"ferrox/gates/halting"
	"ferrox/lanes"
	"ferrox/lanes/packet"
	"ferrox/mailbox"
)

// iterationGate is the gate that bounds the runs of one task. It counts only where the settings name it; the runner's own
// budgets count always.
const iterationGate = "iteration"

// firedCap is a fired iteration gate, and what followed when rescope.check was asked.
type firedCap struct {
	decision halting.CapDecision
	entry    halting.Entry
	open     []packet.OpenStep
	rescope  halting.RescopeDecision
	refused  []lanes.Reason // why the passing subset could not be shipped
}

func millis(t time.Time) epoch.Millis { return epoch.Millis(t.UnixMilli()) }

// askCap asks gate.cap-check about a run that did not land. Nil means: go on. Runs that opened a hold, and runs that
// ferrox or the machine cut short, count nothing.
func (r *runner) askCap(ctx context.Context, u unit) (*firedCap, error) {
	limits, named := r.set.Halting.Gates[iterationGate]
	if !named || u.run == nil || u.run.OpenedHold || interrupted(*u.run) || u.task.State != lanes.TaskRunning {
		return nil, nil
	}
	worked, err := r.worked(ctx, u)
	if err != nil {
		return nil, err
	}
	now := r.Clock.Now()
	q := halting.CapQuery{
		Gate: iterationGate, Increment: string(u.task.ID), Passes: float64(u.task.Spent + 1), Start: millis(now.Add(-worked)), Now: millis(now),
	}
	c := &firedCap{decision: halting.CheckCap(limits, q)}
	entry, fired := c.decision.Entry(q)
	if !fired {
		return nil, nil
	}
	c.entry = entry
	progress, err := progressOf(u)
	if err != nil {
		return nil, fmt.Errorf("measure what is open of %s: %w", u.task.ID, err)
	}
	c.open = progress.Open
	if halting.Outcome(c.decision.Decision) == halting.OutcomeRescope {
		c.rescope, err = r.rescope(ctx, u, progress)
	}
	return c, err
}

// worked is the working time of the runs that count since the gate last fired: waiting for a person is not in it.
func (r *runner) worked(ctx context.Context, u unit) (total time.Duration, err error) {
	var runs []lanes.Run
	err = r.Store.View(ctx, func(rd Reader) (err error) {
		runs, err = rd.Runs(ctx, RunFilter{Batch: r.id, Task: u.task.ID})
		return err
	})
	left := u.task.Spent + 1
	for i := len(runs) - 1; i >= 0 && left > 0; i-- {
		if run := runs[i]; !run.OpenedHold && !interrupted(run) {
			total += run.EndedAt.Sub(run.StartedAt)
			left--
		}
	}
	return total, err
}

// rescope asks rescope.check for what is left of a task. The attempt is counted in its file before the decision is
// committed; when a crash came in between, the attempt that was counted is used now.
func (r *runner) rescope(ctx context.Context, u unit, p packet.Progress) (halting.RescopeDecision, error) {
	used := 0
	err := r.Store.View(ctx, func(rd Reader) error {
		events, err := rd.Events(ctx, EventFilter{Task: u.task.ID})
		for _, ev := range events {
			if ev.Name == "task-rescoped" {
				used++
			}
		}
		return err
	})
	if err != nil {
		return halting.RescopeDecision{}, err
	}
	counted, err := r.Planning.RescopeAttempts(ctx, string(u.task.ID))
	if err != nil {
		return halting.RescopeDecision{}, err
	}
	if counted > used {
		return halting.RescopeDecision{Decision: halting.RescopeAllowed, Attempt: float64(counted), Increment: string(u.task.ID)}, nil
	}
	open := 0
	for _, s := range p.Open {
		open += max(s.Unticked, 1)
	}
	return r.Planning.Rescope(ctx, r.set.Halting.Rescope.MaxAttempts, halting.RescopeQuery{
		Increment: string(u.task.ID), PrevSize: float64(p.Boxes + open), NewSize: float64(open), Now: millis(r.Clock.Now()),
	})
}

// ships reports whether the fired gate asks to land what passes.
func (c *firedCap) ships() bool {
	return c != nil && halting.Outcome(c.decision.Decision) == halting.OutcomeShip
}

// ship lands what a task has finished and leaves the rest to the backlog. Everything but the claim and the open steps
// must be as for any other landing.
func (r *runner) ship(ctx context.Context, u unit) (verdict, error) {
	return r.land(ctx, gates.PathShip, u)
}

// applyCap carries out a fired gate in the transaction that closes the run. It reports whether the task goes on.
func (r *runner) applyCap(ctx context.Context, tx Tx, t *lanes.Task, c *firedCap) (bool, error) {
	what := fmt.Sprintf("gate %s fired (%s)", iterationGate, c.decision.Trigger)
	switch halting.Outcome(c.decision.Decision) {
	case halting.OutcomeEscalate:
		return false, r.escalateCap(ctx, tx, t, c, what)
	case halting.OutcomeRescope:
		if c.rescope.Decision == halting.RescopeAllowed {
			return true, r.goOnRescoped(ctx, tx, t, c, what)
		}
		what += ", and " + string(c.rescope.Decision) + ": what is open is not smaller, or the attempts are used up"
	case halting.OutcomeShip:
		what += ", and what passes could not be landed"
	}
	reasons := append([]lanes.Reason{{
		Code: lanes.CodeCapFired, Ref: iterationGate, Clears: "operator", Next: "ferrox retry " + string(t.ID), Text: what,
	}}, c.refused...)
	return false, r.endTaskTx(ctx, tx, *t, lanes.Stall, append(reasons, t.Reasons...))
}

// escalateCap opens a hold: a person decides whether the task gets another round.
func (r *runner) escalateCap(ctx context.Context, tx Tx, t *lanes.Task, c *firedCap, what string) error {
	t.Spent, t.NoProgress = 0, 0
	if _, err := tx.PutTask(ctx, *t); err != nil {
		return err
	}
	m := r.message(r.id, t.ID, t.Lane, mailbox.TypeEscalate, mailbox.RoleEngine)
	m.By, m.Gate = "ferrox", iterationGate
	m.Text = fmt.Sprintf("%s.\n\nOpen:\n%s\nA ruling gives %s another round; abort ends it.", what, openList(c.open), t.ID)
	if _, err := r.openHold(ctx, tx, m, ""); err != nil {
		return err
	}
	held, err := tx.Task(ctx, r.id, t.ID)
	return errors.Join(err, r.moveLane(ctx, tx, held, lanes.Wait))
}

func (r *runner) goOnRescoped(ctx context.Context, tx Tx, t *lanes.Task, c *firedCap, what string) error {
	t.Spent, t.NoProgress = 0, 0
	t.Feedback = strings.TrimSpace(fmt.Sprintf("%s. Finish only what is open, and nothing beyond it:\n%s\n%s", what, openList(c.open), t.Feedback))
	return errors.Join(second(tx.PutTask(ctx, *t)), r.event(ctx, tx, lanes.Event{
		Batch: r.id, Type: "task", Task: t.ID, Lane: t.Lane, Name: "task-rescoped", Ref: iterationGate,
		Text: fmt.Sprintf("%s; rescope attempt %v", what, c.rescope.Attempt),
	}))
}

func openList(open []packet.OpenStep) string {
	var b strings.Builder
	for _, s := range open {
		fmt.Fprintf(&b, "- Step %d: %s (%s)\n", s.Number, s.Name, s.Why)
	}
	return b.String()
}

// backlogIntent is the payload of a backlog effect.
type backlogIntent struct {
	Path string       `json:"path"`
	Rows []BacklogRow `json:"rows"`
}

// oweBacklog records that open steps have to be filed, in the transaction that leaves them out.
func (r *runner) oweBacklog(ctx context.Context, tx Tx, t lanes.Task, open []packet.OpenStep) error {
	intent := backlogIntent{Path: r.set.Strength.BacklogPath}
	for _, s := range open {
		intent.Rows = append(intent.Rows, BacklogRow{
			ID: fmt.Sprintf("FX-%s-%d", t.ID, s.Number), From: string(t.ID), Item: fmt.Sprintf("Step %d: %s (batch %s) age_days=0", s.Number, s.Name, r.id),
		})
	}
	if len(intent.Rows) == 0 {
		intent.Rows = []BacklogRow{{ID: "FX-" + string(t.ID), From: string(t.ID), Item: firstLine(t.Title) + fmt.Sprintf(" (batch %s) age_days=0", r.id)}}
	}
	payload, err := json.Marshal(intent)
	if err != nil {
		return err
	}
	return tx.AddEffect(ctx, lanes.Effect{
		Key: backlogKey(r.id, t.ID), Batch: r.id, Kind: lanes.EffectBacklog, Task: t.ID, Lane: t.Lane, Payload: string(payload), CreatedAt: r.Clock.Now(),
	})
}

func backlogKey(b lanes.BatchID, t lanes.TaskID) string {
	return "backlog/" + string(b) + "/" + string(t)
}

// fileBacklog carries out an owed backlog entry. Rows that are there already are left alone.
func (r *runner) fileBacklog(ctx context.Context, key string) error {
	var e lanes.Effect
	err := r.Store.View(ctx, func(rd Reader) (err error) {
		e, err = rd.Effect(ctx, key)
		return err
	})
	if errors.Is(err, ErrNotFound) || err == nil && e.State != lanes.EffectPending {
		return nil
	}
	if err != nil {
		return err
	}
	var intent backlogIntent
	if err := json.Unmarshal([]byte(e.Payload), &intent); err != nil {
		return err
	}
	after := crash.Around("file backlog")
	err = r.Planning.FileBacklog(ctx, intent.Path, intent.Rows)
	after()
	if err != nil {
		return fmt.Errorf("file what was left out: %w", err)
	}
	return r.commit(ctx, func(tx Tx) error {
		return tx.SettleEffect(ctx, key, lanes.EffectDone, intent.Path, r.Clock.Now())
	})
}
