package sqlite

import (
	"context"
	"fmt"
	"strings"
	"time"

	"ferrox/engine"
	"ferrox/lanes"
)

var effects = newTable("effect", "effects", 1,
	"key batch kind task lane payload state outcome created_at settled_at",
	func(e *lanes.Effect) []any {
		return []any{
			&e.Key, &e.Batch, &e.Kind, &e.Task, &e.Lane, &e.Payload, &e.State, &e.Outcome,
			instant{&e.CreatedAt},
			instant{&e.SettledAt},
		}
	})

func (r *reader) Effect(ctx context.Context, key string) (lanes.Effect, error) {
	return get(ctx, r, effects, where("key = ?", key), key)
}

func (r *reader) Effects(ctx context.Context, batch lanes.BatchID, pendingOnly bool) ([]lanes.Effect, error) {
	q := where("batch = ?", batch)
	if pendingOnly {
		q.add("state = ?", lanes.EffectPending)
	}
	return find(ctx, r, effects, q, " ORDER BY seq")
}

func (r *reader) EffectsOf(ctx context.Context, batch lanes.BatchID, kind lanes.EffectKind) ([]lanes.Effect, error) {
	q := where("batch = ?", batch)
	q.add("kind = ?", kind)
	return find(ctx, r, effects, q, " ORDER BY seq")
}

func (t *tx) AddEffect(ctx context.Context, e lanes.Effect) error {
	e.State, e.Outcome, e.SettledAt = lanes.EffectPending, "", time.Time{}
	return add(ctx, t, effects, &e, e.Key)
}

const settleEffect = `UPDATE effects SET state = $1, outcome = $2, settled_at = $3 WHERE key = $4 AND state = $5`

// SettleEffect keeps the first outcome and instant: a repeat in the same state changes nothing.
func (t *tx) SettleEffect(ctx context.Context, key string, state lanes.EffectState, outcome string, at time.Time) error {
	attempt := "settle effect " + key
	if err := t.usable(ctx, attempt); err != nil {
		return err
	}
	t.writes = append(t.writes, "settled "+kindOf(key))
	n, err := t.session.exec(settleEffect, state, outcome, micros(at), key, lanes.EffectPending)
	if err != nil {
		return t.fail(explain(attempt, err))
	}
	if n == 1 {
		return nil
	}
	was, err := t.Effect(ctx, key)
	if err != nil {
		return fmt.Errorf("%s: %w", attempt, err)
	}
	if was.State != state {
		return fmt.Errorf("%s as %s: %w: it is settled as %s; decide anew", attempt, state, engine.ErrConflict, was.State)
	}
	return nil
}

// kindOf is the first part of an effect's key.
func kindOf(key string) string {
	kind, _, _ := strings.Cut(key, "/")
	return kind
}
