package sqlite

import (
	"context"
	"slices"
	"sync"

	"ferrox/engine"
	"ferrox/lanes"
)

var events = newTable("event", "events", 1, "seq at batch type task lane ref name text data",
	func(e *lanes.Event) []any {
		return []any{
			&e.Seq, instant{&e.At}, &e.Batch, &e.Type, &e.Task, &e.Lane, &e.Ref, &e.Name, &e.Text, &e.Data,
		}
	})

// appendEvent leaves seq to the database, which gives rising numbers because writers go one after the other.
var appendEvent = sync.OnceValue(func() string {
	return insertText(events.name, events.texts().columns[1:]) + " RETURNING seq"
})

func (r *reader) Events(ctx context.Context, f engine.EventFilter) ([]lanes.Event, error) {
	q := &filter{}
	equal(q, "batch", f.Batch)
	equal(q, "task", f.Task)
	among(q, "name", f.Names)
	if f.After > 0 {
		q.add("seq > ?", f.After)
	}
	if f.Limit <= 0 {
		return find(ctx, r, events, q, " ORDER BY seq")
	}
	tail := " ORDER BY seq DESC LIMIT " + q.hole(f.Limit)
	newest, err := find(ctx, r, events, q, tail)
	slices.Reverse(newest)
	return newest, err
}

func (t *tx) AppendEvent(ctx context.Context, e lanes.Event) (int64, error) {
	t.events = append(t.events, e.Name)
	seq, _, err := t.returned(ctx, "write event "+e.Name, appendEvent(), events.fields(&e)[1:]...)
	return seq, err
}
