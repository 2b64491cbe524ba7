package sqlite

import (
	"context"
	"fmt"

	"ferrox/engine"
	"ferrox/hold"
	"ferrox/lanes"
)

var holds = newTable("hold", "holds", 1,
	`id batch task lane run gate question state reserved_for opened_at deadline expired_at
	ruling ruling_verdict ruling_text ruling_role ruling_by ruling_head ruling_signed ruled_at
	delivery delivery_run acknowledged_at noted_at cancelled_at cancel_reason version`,
	func(h *hold.Record) []any {
		return []any{
			&h.ID, &h.Batch, &h.Task, &h.Lane, &h.Run, &h.Gate, &h.Question, &h.State, &h.ReservedFor,
			instant{&h.OpenedAt},
			instant{&h.Deadline},
			instant{&h.ExpiredAt},
			&h.Ruling, &h.RulingVerdict, &h.RulingText, &h.RulingRole, &h.RulingBy, &h.RulingHead, &h.RulingSigned,
			instant{&h.RuledAt},
			&h.Delivery, &h.DeliveryRun,
			instant{&h.AcknowledgedAt},
			instant{&h.NotedAt},
			instant{&h.CancelledAt},
			&h.CancelReason, &h.Version,
		}
	})

func (r *reader) Hold(ctx context.Context, id lanes.HoldID) (hold.Record, error) {
	return get(ctx, r, holds, where("id = ?", id), string(id))
}

func (r *reader) Holds(ctx context.Context, f engine.HoldFilter) ([]hold.Record, error) {
	q := &filter{}
	equal(q, "batch", f.Batch)
	equal(q, "task", f.Task)
	equal(q, "ruling", f.Ruling)
	q.prefix("id", f.Prefix)
	if f.Ruled {
		q.add("ruling > ''")
	}
	if f.Unresolved {
		// hold.Record.Unresolved, with "not acknowledged" as two ranges that the index can answer.
		q.add("(state = ? OR (state = ? AND delivery < ?) OR (state = ? AND delivery > ?))",
			hold.Open, hold.Released, hold.DeliveryAcknowledged, hold.Released, hold.DeliveryAcknowledged)
	}
	return find(ctx, r, holds, q, " ORDER BY seq")
}

// The states stand in the texts, because an index of a part of the table is used for a text that names that part.

func (r *reader) NextDeadlines(ctx context.Context, batch lanes.BatchID, limit int) ([]hold.Record, error) {
	q := where("batch = ?", batch)
	q.add("state = 'open' AND expired_at = 0")
	return find(ctx, r, holds, q, " ORDER BY deadline, seq LIMIT "+q.hole(limit))
}

func (r *reader) OldestQuiet(ctx context.Context, batch lanes.BatchID) (hold.Record, error) {
	q := where("batch = ?", batch)
	q.add("state = 'open'")
	q.add("EXISTS (SELECT 1 FROM lanes WHERE lanes.batch = holds.batch AND lanes.number = holds.lane AND lanes.task = holds.task AND lanes.state = ?)", lanes.LaneHeld)
	found, err := find(ctx, r, holds, q, " ORDER BY opened_at, seq LIMIT 1")
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("read the oldest quiet hold of %s: %w", batch, engine.ErrNotFound)
	}
	if err != nil {
		return hold.Record{}, err
	}
	return found[0], nil
}

func (t *tx) PutHold(ctx context.Context, h hold.Record) (int64, error) {
	return put(ctx, t, holds, &h, &h.Version, string(h.ID))
}
