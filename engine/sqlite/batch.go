package sqlite

import (
	"context"

	"ferrox/lanes"
)

var batches = newTable("batch", "batches", 1,
	`id phase cause why pausing base base_ref integration head lane_limit lanes_dir worker hold_timeout_us review_level
	settings settings_digest signers signers_digest created_at ended_at version`,
	func(b *lanes.Batch) []any {
		return []any{
			&b.ID, &b.Phase, &b.Cause, &b.Why, &b.Pausing, &b.Base, &b.BaseRef, &b.Integration, &b.Head, &b.LaneLimit,
			&b.LanesDir, &b.Worker,
			span{&b.HoldTimeout},
			&b.ReviewLevel,
			&b.Settings, &b.SettingsDigest, &b.Signers, &b.SignersDigest,
			instant{&b.CreatedAt},
			instant{&b.EndedAt},
			&b.Version,
		}
	})

func (r *reader) Batch(ctx context.Context, id lanes.BatchID) (lanes.Batch, error) {
	return get(ctx, r, batches, where("id = ?", id), string(id))
}

func (r *reader) Batches(ctx context.Context) ([]lanes.Batch, error) {
	return find(ctx, r, batches, &filter{}, " ORDER BY seq DESC")
}

func (t *tx) PutBatch(ctx context.Context, b lanes.Batch) (int64, error) {
	return put(ctx, t, batches, &b, &b.Version, string(b.ID))
}
