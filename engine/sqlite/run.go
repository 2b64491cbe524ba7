package sqlite

import (
	"context"

	"ferrox/engine"
	"ferrox/lanes"
)

var runs = newTable("run", "runs", 1,
	`id batch task lane iteration state dir token shim_pid shim_start shim_boot shim_pidns worker_pid
	started_at ended_at exit_code signal failure ended_by head_before done_before rulings opened_hold outcome version`,
	func(r *lanes.Run) []any {
		return []any{
			&r.ID, &r.Batch, &r.Task, &r.Lane, &r.Iteration, &r.State, &r.Dir, &r.Token,
			&r.Shim.PID,
			unsigned{&r.Shim.Start},
			&r.Shim.Boot,
			unsigned{&r.Shim.PIDNS},
			&r.WorkerPID,
			instant{&r.StartedAt},
			instant{&r.EndedAt},
			&r.ExitCode, &r.Signal, &r.Failure, &r.EndedBy, &r.HeadBefore,
			&r.DoneBefore,
			list[lanes.MessageID]{&r.Rulings},
			&r.OpenedHold, &r.Outcome, &r.Version,
		}
	})

func (r *reader) Run(ctx context.Context, id lanes.RunID) (lanes.Run, error) {
	return get(ctx, r, runs, where("id = ?", id), string(id))
}

func (r *reader) Runs(ctx context.Context, f engine.RunFilter) ([]lanes.Run, error) {
	q := &filter{}
	equal(q, "batch", f.Batch)
	equal(q, "task", f.Task)
	equal(q, "lane", f.Lane)
	among(q, "state", f.States)
	among(q, "shim_pid", f.Shims)
	equal(q, "token", f.Token)
	return find(ctx, r, runs, q, " ORDER BY seq")
}

func (t *tx) PutRun(ctx context.Context, r lanes.Run) (int64, error) {
	return put(ctx, t, runs, &r, &r.Version, string(r.ID))
}
