package sqlite

import (
	"context"
	"fmt"
	"sync"

	"ferrox/engine"
	"ferrox/lanes"
)

var requests = newTable("request", "requests", 1, "id verb batch args done exit answer created_at done_at",
	func(r *lanes.Request) []any {
		return []any{
			&r.ID, &r.Verb, &r.Batch, &r.Args, &r.Done, &r.Exit, &r.Answer, instant{&r.CreatedAt}, instant{&r.DoneAt},
		}
	})

func (r *reader) Request(ctx context.Context, id string) (lanes.Request, error) {
	return get(ctx, r, requests, where("id = ?", id), id)
}

func (r *reader) PendingRequests(ctx context.Context) ([]lanes.Request, error) {
	return find(ctx, r, requests, where("done = ?", false), " ORDER BY seq")
}

// putRequest completes a row that waits; what was asked and when stays as it was.
var putRequest = sync.OnceValue(func() string {
	return insertText(requests.name, requests.texts().columns) + ` ON CONFLICT (id) DO UPDATE
	SET done = excluded.done, exit = excluded.exit, answer = excluded.answer, done_at = excluded.done_at
	WHERE requests.done = 0 AND excluded.done = 1 RETURNING seq`
})

// PutRequest refuses a second request of the same id that is not done with ErrConflict too: the first one is waiting.
func (t *tx) PutRequest(ctx context.Context, r lanes.Request) error {
	attempt := "write request " + r.ID
	t.writes = append(t.writes, "request")
	_, found, err := t.returned(ctx, attempt, putRequest(), requests.fields(&r)...)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("%s: %w: it exists already; read its answer", attempt, engine.ErrConflict)
	}
	return nil
}
