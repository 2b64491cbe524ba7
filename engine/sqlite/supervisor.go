package sqlite

import (
	"context"
	"errors"
	"time"

	"ferrox/engine"
	"ferrox/lanes"
)

// supervisor is a row of its table.
type supervisor struct {
	lanes.Identity
	addedAt time.Time
}

var supervisors = newTable("supervisor", "supervisors", 4, "pid start boot pidns added_at",
	func(s *supervisor) []any {
		return []any{&s.PID, unsigned{&s.Start}, &s.Boot, unsigned{&s.PIDNS}, instant{&s.addedAt}}
	})

func (r *reader) Supervisors(ctx context.Context) ([]lanes.Identity, error) {
	rows, err := find(ctx, r, supervisors, &filter{}, " ORDER BY added_at, pid")
	if err != nil {
		return nil, err
	}
	var found []lanes.Identity
	for _, s := range rows {
		found = append(found, s.Identity)
	}
	return found, nil
}

// AddSupervisor changes nothing when the process is recorded already.
func (t *tx) AddSupervisor(ctx context.Context, i lanes.Identity, at time.Time) error {
	err := add(ctx, t, supervisors, &supervisor{i, at}, "process")
	if errors.Is(err, engine.ErrConflict) {
		return nil
	}
	return err
}
