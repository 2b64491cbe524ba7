package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"ferrox/lanes"
)

// once fills out with the answer that a request id was given before. It reports whether there was one.
func once(ctx context.Context, r Reader, id string, out any) (bool, error) {
	if id == "" {
		return false, nil
	}
	return onceRaw(ctx, r, requestKey(id), out)
}

func onceRaw(ctx context.Context, r Reader, id string, out any) (bool, error) {
	old, err := r.Request(ctx, id)
	if errors.Is(err, ErrNotFound) || err == nil && !old.Done {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if old.Exit != ExitDone {
		var no Error
		if err := json.Unmarshal([]byte(old.Answer), &no); err != nil {
			return true, fmt.Errorf("read the answer of request %s: %w", id, err)
		}
		return true, &no
	}
	return true, json.Unmarshal([]byte(old.Answer), out)
}

// remember keeps the answer to a request id, in the transaction of its effect.
func (e *Engine) remember(ctx context.Context, tx Tx, id, verb string, answer any) error {
	if id == "" {
		return nil
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	now := e.Clock.Now()
	return tx.PutRequest(ctx, lanes.Request{
		ID: requestKey(id), Verb: verb, Done: true, Answer: string(body), CreatedAt: now, DoneAt: now,
	})
}

// requestKey keeps people's request ids apart from those that ferrox makes.
func requestKey(id string) string { return "user/" + id }
