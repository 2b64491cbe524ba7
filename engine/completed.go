package engine

import (
	"context"
	"fmt"

	"ferrox/lanes"
)

// completeTx closes a failed batch for good when the last task that kept it open has landed or was skipped at a person's
// word, in the transaction that says so. A batch that runs or is paused is closed by its engine.
func (r *runner) completeTx(ctx context.Context, tx Tx) error {
	b, err := tx.Batch(ctx, r.id)
	if err != nil || b.Phase != lanes.PhaseFailed {
		return err
	}
	tasks, err := tx.Tasks(ctx, r.id)
	if err != nil {
		return err
	}
	landed, closed := tally(tasks)
	if !closed {
		return nil
	}
	return r.endTx(ctx, tx, b, lanes.PhaseCompleted, landed, len(tasks))
}

// tally counts what landed, and reports whether every task has landed or was skipped.
func tally(tasks []lanes.Task) (landed int, closed bool) {
	closed = true
	for _, t := range tasks {
		switch t.State {
		case lanes.TaskSucceeded:
			landed++
		case lanes.TaskSkipped:
		case lanes.TaskPending, lanes.TaskRunning, lanes.TaskHeld, lanes.TaskStalled, lanes.TaskFailed, lanes.TaskBlocked:
			closed = false
		}
	}
	return landed, closed
}

// endTx records the end of a batch. What it says of the branch is what landed there, never more.
func (r *runner) endTx(ctx context.Context, tx Tx, b lanes.Batch, phase lanes.Phase, landed, all int) error {
	b.Phase, b.Cause, b.EndedAt = phase, "", r.Clock.Now()
	if _, err := tx.PutBatch(ctx, b); err != nil {
		return err
	}
	if err := r.closeLanes(ctx, tx); err != nil {
		return err
	}
	text := fmt.Sprintf("%d of %d tasks are in %s", landed, all, b.Integration)
	if b.Head == b.Base {
		text += ", which has no commits of this batch"
	}
	return r.event(ctx, tx, lanes.Event{Batch: r.id, Type: "engine", Name: "ended", Ref: string(phase), Text: text})
}
