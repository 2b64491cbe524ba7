package sqlite

import (
	"context"

	"ferrox/lanes"
)

var tasks = newTable("task", "tasks", 2,
	`batch id seq title size path depends_on scoped scope review_level gates finished
	state lane iteration spent no_progress steps_done steps_total boxes empty authorized merge reasons feedback
	retry_at started_at ended_at version`,
	func(t *lanes.Task) []any {
		return []any{
			&t.Batch, &t.ID, &t.Seq, &t.Title, &t.Size, &t.Path,
			list[lanes.TaskID]{&t.DependsOn},
			&t.Scoped,
			list[string]{&t.Scope},
			&t.ReviewLevel,
			list[lanes.GateFact]{&t.Gates},
			&t.Finished,
			&t.State, &t.Lane, &t.Iteration, &t.Spent, &t.NoProgress, &t.StepsDone, &t.StepsTotal, &t.Boxes, &t.Empty,
			&t.Authorized, &t.Merge,
			list[lanes.Reason]{&t.Reasons},
			&t.Feedback,
			instant{&t.RetryAt},
			instant{&t.StartedAt},
			instant{&t.EndedAt},
			&t.Version,
		}
	})

func (r *reader) Task(ctx context.Context, batch lanes.BatchID, id lanes.TaskID) (lanes.Task, error) {
	return get(ctx, r, tasks, where("batch = ? AND id = ?", batch, id), string(id))
}

func (r *reader) Tasks(ctx context.Context, batch lanes.BatchID) ([]lanes.Task, error) {
	return find(ctx, r, tasks, where("batch = ?", batch), " ORDER BY seq, id")
}

func (r *reader) TasksIn(ctx context.Context, batch lanes.BatchID, states ...lanes.TaskState) ([]lanes.Task, error) {
	if len(states) == 0 {
		return nil, nil
	}
	q := where("batch = ?", batch)
	among(q, "state", states)
	return find(ctx, r, tasks, q, " ORDER BY seq, id")
}

func (r *reader) TaskPaths(ctx context.Context, batch lanes.BatchID) ([]string, error) {
	const attempt = "list packet folders"
	if err := r.usable(ctx, attempt); err != nil {
		return nil, err
	}
	rows, err := r.session.query("SELECT path FROM tasks WHERE batch = $1 ORDER BY seq, id", batch)
	if err != nil {
		return nil, r.fail(explain(attempt, err))
	}
	defer rows.Close()
	var paths []string
	for rows.Next() {
		var path string
		if err := rows.Scan(&path); err != nil {
			return nil, r.fail(explain(attempt, err))
		}
		paths = append(paths, path)
	}
	if err := rows.Err(); err != nil {
		return nil, r.fail(explain(attempt, err))
	}
	return paths, nil
}

func (r *reader) CountTasks(ctx context.Context, batch lanes.BatchID) (map[lanes.TaskState]int, error) {
	const attempt = "count tasks"
	if err := r.usable(ctx, attempt); err != nil {
		return nil, err
	}
	rows, err := r.session.query("SELECT state, count(*) FROM tasks WHERE batch = $1 GROUP BY state", batch)
	if err != nil {
		return nil, r.fail(explain(attempt, err))
	}
	defer rows.Close()
	counts := map[lanes.TaskState]int{}
	for rows.Next() {
		var state lanes.TaskState
		var n int
		if err := rows.Scan(&state, &n); err != nil {
			return nil, r.fail(explain(attempt, err))
		}
		counts[state] = n
	}
	if err := rows.Err(); err != nil {
		return nil, r.fail(explain(attempt, err))
	}
	return counts, nil
}

func (r *reader) HoldsSlot(ctx context.Context, batch lanes.BatchID) (bool, error) {
	const attempt = "look for held tasks"
	if err := r.usable(ctx, attempt); err != nil {
		return false, err
	}
	n, err := r.session.number(`SELECT EXISTS (
		SELECT 1 FROM tasks LEFT JOIN lanes ON lanes.batch = tasks.batch AND lanes.number = tasks.lane
		WHERE tasks.batch = $1 AND tasks.state = $2 AND lanes.state IS NOT $3)`, batch, lanes.TaskHeld, lanes.LaneParked)
	if err != nil {
		return false, r.fail(explain(attempt, err))
	}
	return n != 0, nil
}

func (t *tx) PutTask(ctx context.Context, task lanes.Task) (int64, error) {
	return put(ctx, t, tasks, &task, &task.Version, string(task.ID))
}
