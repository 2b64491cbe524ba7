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

func (t *tx) PutTask(ctx context.Context, task lanes.Task) (int64, error) {
	return put(ctx, t, tasks, &task, &task.Version, string(task.ID))
}
