package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ferrox/engine"
	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/mailbox"
)

const batchID lanes.BatchID = "b1"

// update runs fn in a transaction that has to succeed.
func update(t testing.TB, s engine.Store, fn func(engine.Tx) error) {
	t.Helper()
	if err := s.Update(t.Context(), fn); err != nil {
		t.Fatalf("Update: %v", err)
	}
}

// view runs fn on a snapshot and has to succeed.
func view(t testing.TB, s engine.Store, fn func(engine.Reader) error) {
	t.Helper()
	if err := s.View(t.Context(), fn); err != nil {
		t.Fatalf("View: %v", err)
	}
}

// withBatch opens a store that has a batch, which every other record belongs to.
func withBatch(t testing.TB, open func(testing.TB) engine.Store) engine.Store {
	t.Helper()
	s := open(t)
	addBatch(t, s, batchID)
	return s
}

func addBatch(t testing.TB, s engine.Store, id lanes.BatchID) {
	t.Helper()
	update(t, s, func(tx engine.Tx) error {
		_, err := tx.PutBatch(t.Context(), lanes.Batch{ID: id, Phase: lanes.PhaseRunning, CreatedAt: start()})
		return err
	})
}

// same fails when what was read is not what was written.
func same[R any](t testing.TB, what string, want, got R) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s differs (-written +read):\n%s", what, diff)
	}
}

// is fails when an error is not of the kind wanted.
func is(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error is %v, want %v", what, err, want)
	}
}

// ids returns the ids of records.
func ids[R any, I any](records []R, id func(R) I) []I {
	found := []I{}
	for _, r := range records {
		found = append(found, id(r))
	}
	return found
}

func aHold(id lanes.HoldID) hold.Record {
	return hold.Record{ID: id, Batch: batchID, Task: "TP-1", State: hold.Open, OpenedAt: start()}
}

func aMessage(id lanes.MessageID) mailbox.Message {
	return mailbox.Message{ID: id, Batch: batchID, Task: "TP-1", Type: mailbox.TypeEscalate, CreatedAt: start()}
}

func anEffect(key string) lanes.Effect {
	return lanes.Effect{Key: key, Batch: batchID, Kind: lanes.EffectSpawn, Payload: "{}", CreatedAt: start()}
}

func putHold(ctx context.Context, s engine.Store, h hold.Record) error {
	return s.Update(ctx, func(tx engine.Tx) error {
		_, err := tx.PutHold(ctx, h)
		return err
	})
}

func holdOf(t testing.TB, s engine.Store, id lanes.HoldID) hold.Record {
	t.Helper()
	var h hold.Record
	view(t, s, func(r engine.Reader) (err error) {
		h, err = r.Hold(t.Context(), id)
		return err
	})
	return h
}

func missing(t testing.TB, s engine.Store, id lanes.HoldID) {
	t.Helper()
	err := s.View(t.Context(), func(r engine.Reader) error {
		_, err := r.Hold(t.Context(), id)
		return err
	})
	is(t, "hold "+string(id)+" that should not be there", err, engine.ErrNotFound)
}

func later(n int) time.Time { return start().Add(time.Duration(n) * time.Second) }
