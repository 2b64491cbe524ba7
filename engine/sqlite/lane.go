package sqlite

import (
	"context"
	"strconv"

	"ferrox/lanes"
)

var laneTable = newTable("lane", "lanes", 2, "batch number state task worktree branch base head version",
	func(l *lanes.Lane) []any {
		return []any{
			&l.Batch, &l.Number, &l.State, &l.Task, &l.Worktree, &l.Branch, &l.Base, &l.Head, &l.Version,
		}
	})

func laneName(batch lanes.BatchID, n lanes.Number) string {
	return strconv.Itoa(int(n)) + " of " + string(batch)
}

func (r *reader) Lane(ctx context.Context, batch lanes.BatchID, n lanes.Number) (lanes.Lane, error) {
	return get(ctx, r, laneTable, where("batch = ? AND number = ?", batch, n), laneName(batch, n))
}

func (r *reader) Lanes(ctx context.Context, batch lanes.BatchID) ([]lanes.Lane, error) {
	return find(ctx, r, laneTable, where("batch = ?", batch), " ORDER BY number")
}

func (r *reader) LanesAfter(ctx context.Context, batch lanes.BatchID, after lanes.Number, limit int) ([]lanes.Lane, error) {
	q := where("batch = ?", batch)
	q.add("number > ?", after)
	return find(ctx, r, laneTable, q, " ORDER BY number LIMIT "+q.hole(limit))
}

func (t *tx) PutLane(ctx context.Context, l lanes.Lane) (int64, error) {
	return put(ctx, t, laneTable, &l, &l.Version, laneName(l.Batch, l.Number))
}
