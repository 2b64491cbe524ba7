package sqlite

import (
	"context"
	"fmt"
	"time"

	"ferrox/engine"
	"ferrox/lanes"
)

var leases = newTable("lease", "leases", 1,
	"fence owner_pid owner_start owner_boot owner_pidns batch taken_at ended_at reason",
	func(l *lanes.Lease) []any {
		return []any{
			&l.Fence, &l.Owner.PID,
			unsigned{&l.Owner.Start},
			&l.Owner.Boot,
			unsigned{&l.Owner.PIDNS},
			&l.Batch,
			instant{&l.TakenAt},
			instant{&l.EndedAt},
			&l.Reason,
		}
	})

const newestLease = " ORDER BY fence DESC LIMIT 1"

func (r *reader) Lease(ctx context.Context) (lanes.Lease, error) {
	found, err := find(ctx, r, leases, &filter{}, newestLease)
	if err != nil {
		return lanes.Lease{}, err
	}
	if len(found) == 0 {
		return lanes.Lease{}, fmt.Errorf("read lease: %w", engine.ErrNotFound)
	}
	return found[0], nil
}

func (t *tx) TakeLease(ctx context.Context, l lanes.Lease) (lanes.Lease, error) {
	last, err := find(ctx, &t.reader, leases, &filter{}, newestLease)
	if err != nil {
		return lanes.Lease{}, err
	}
	l.Fence = 1
	if len(last) == 1 {
		l.Fence = last[0].Fence + 1
	}
	if err := add(ctx, t, leases, &l, fmt.Sprint(l.Fence)); err != nil {
		return lanes.Lease{}, err
	}
	l.TakenAt, l.EndedAt = stored(l.TakenAt), stored(l.EndedAt)
	return l, nil
}

const endLease = `UPDATE leases SET ended_at = $1, reason = $2 WHERE fence = $3 AND ended_at = 0`

// EndLease keeps the first end: ending the lease again changes nothing.
func (t *tx) EndLease(ctx context.Context, fence int64, at time.Time, reason string) error {
	attempt := fmt.Sprintf("end lease %d", fence)
	last, err := find(ctx, &t.reader, leases, &filter{}, newestLease)
	if err != nil {
		return fmt.Errorf("%s: %w", attempt, err)
	}
	if len(last) == 0 || last[0].Fence != fence {
		return fmt.Errorf("%s: %w: another engine took it; stop writing", attempt, engine.ErrConflict)
	}
	t.writes = append(t.writes, "lease end")
	if _, err := t.session.exec(endLease, micros(at), reason, fence); err != nil {
		return t.fail(explain(attempt, err))
	}
	return nil
}
