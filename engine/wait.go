package engine

import (
	"context"
	"time"

	"ferrox/lanes"
)

// followPoll is how often a command that follows looks whether somebody has committed.
const followPoll = 100 * time.Millisecond

// Waited is the answer of `ferrox wait`.
type Waited struct {
	Batch lanes.BatchID `json:"batch"`
	Phase lanes.Phase   `json:"phase"`
	For   string        `json:"for"` // hold or end: what it waited for
	Holds []HoldView    `json:"holds"`
	Exit  int           `json:"exit"`
}

// Wait returns when a batch has an open hold (forHold), or when its engine has ended.
func (e *Engine) Wait(ctx context.Context, id lanes.BatchID, forHold bool) (Waited, error) {
	b, err := e.BatchOf(ctx, id)
	if err != nil {
		return Waited{}, err
	}
	w := Waited{Batch: b.ID, For: "end"}
	if forHold {
		w.For = "hold"
	}
	for {
		done, err := e.waited(ctx, &w, forHold)
		if done || err != nil {
			return w, err
		}
		fire, stop := e.Clock.After(followPoll)
		select {
		case <-fire:
		case <-ctx.Done():
			stop()
			return w, refuse(ExitFailed, "timeout", "ferrox status "+string(b.ID), "timeout: batch %s is still %s", b.ID, w.Phase)
		}
		stop()
	}
}

// waited looks once. A batch whose engine died without parking is no end that anybody waited for.
func (e *Engine) waited(ctx context.Context, w *Waited, forHold bool) (bool, error) {
	ctx = context.WithoutCancel(ctx)
	v, err := e.Status(ctx, w.Batch)
	if err != nil {
		return false, err
	}
	w.Phase, w.Holds = v.Phase, v.Holds
	for _, h := range v.Holds {
		if forHold && h.State == "open" {
			return true, nil
		}
	}
	if v.Engine.State == "alive" {
		return false, nil
	}
	switch v.Phase {
	case lanes.PhaseCompleted:
		w.Exit = ExitDone
	case lanes.PhaseFailed, lanes.PhaseAborted:
		w.Exit = ExitFailed
	case lanes.PhasePaused:
		w.Exit = ExitParked
	case lanes.PhaseRunning:
		if again, err := e.Status(ctx, w.Batch); err != nil || again.Phase != v.Phase || again.Engine.State == "alive" {
			return false, err // it ended, or began, between the two looks
		}
		return true, refuse(ExitFailed, "engine-dead", "ferrox resume "+string(w.Batch), "the engine of batch %s died", w.Batch)
	}
	return true, nil
}
