package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"ferrox/engine"
	"ferrox/hold"
	"ferrox/lanes"
)

func versionsAreCompared(t *testing.T, open func(testing.TB) engine.Store) {
	s := withBatch(t, open)
	ctx := t.Context()
	ghost := aHold("ghost")
	ghost.Version = 1
	is(t, "update of a row that is not there", putHold(ctx, s, ghost), engine.ErrConflict)

	h := aHold("h1")
	is(t, "insert", putHold(ctx, s, h), nil)
	is(t, "insert again", putHold(ctx, s, h), engine.ErrConflict)
	h.Version, h.Gate = 1, "first"
	is(t, "update", putHold(ctx, s, h), nil)
	h.Gate = "second"
	is(t, "update on a stale version", putHold(ctx, s, h), engine.ErrConflict)
	if got := holdOf(t, s, "h1"); got.Gate != "first" || got.Version != 2 {
		t.Errorf("gate %q at version %d, want the first write at 2", got.Gate, got.Version)
	}

	// A conflict is an answer: the transaction goes on.
	update(t, s, func(tx engine.Tx) error {
		_, err := tx.PutHold(ctx, aHold("h1"))
		is(t, "conflict inside", err, engine.ErrConflict)
		_, err = tx.PutHold(ctx, aHold("h2"))
		return err
	})
	holdOf(t, s, "h2")
}

func oneWinnerPerVersion(t *testing.T, open func(testing.TB) engine.Store) {
	first := withBatch(t, open)
	is(t, "put", putHold(t.Context(), first, aHold("h1")), nil)

	const writers, rounds = 8, 3
	stores := []engine.Store{first, open(t)}
	for round := range int64(rounds) {
		errs := make([]error, writers)
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				h := aHold("h1")
				h.Version, h.Lane = round+1, lanes.Number(w)
				errs[w] = putHold(t.Context(), stores[w%len(stores)], h)
			})
		}
		wg.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
				continue
			}
			is(t, "loser", err, engine.ErrConflict)
		}
		if won != 1 {
			t.Fatalf("round %d: %d winners, want 1", round, won)
		}
	}
}

var errRefused = errors.New("refused by the test")

func failedUpdateLeavesNothing(t *testing.T, open func(testing.TB) engine.Store) {
	s := withBatch(t, open)
	ctx := t.Context()
	err := s.Update(ctx, func(tx engine.Tx) error {
		if _, err := tx.PutHold(ctx, aHold("h1")); err != nil {
			return err
		}
		if _, err := tx.Hold(ctx, "h1"); err != nil {
			t.Errorf("a transaction does not see its own write: %v", err)
		}
		return errRefused
	})
	is(t, "Update", err, errRefused)
	missing(t, s, "h1")
	missing(t, open(t), "h1")

	// A child without its parent fails, and a function that swallows the fault commits nothing.
	err = s.Update(ctx, func(tx engine.Tx) error {
		_, _ = tx.PutHold(ctx, aHold("h1"))
		orphan := aHold("h2")
		orphan.Batch = "nobody"
		_, _ = tx.PutHold(ctx, orphan)
		_, _ = tx.PutHold(ctx, aHold("h3"))
		return nil
	})
	if err == nil {
		t.Error("a child without its parent was stored")
	}
	for _, id := range []lanes.HoldID{"h1", "h2", "h3"} {
		missing(t, s, id)
	}
	is(t, "F176 write after a failed one", putHold(ctx, s, aHold("h4")), nil)
}

func cancelledUpdateLeavesNothing(t *testing.T, open func(testing.TB) engine.Store) {
	s := withBatch(t, open)
	for name, fn := range map[string]func(engine.Tx, context.CancelFunc) error{
		"noticed": func(tx engine.Tx, cancel context.CancelFunc) error {
			_, _ = tx.PutHold(t.Context(), aHold("h1"))
			cancel()
			ctx, done := context.WithCancel(t.Context())
			done()
			_, err := tx.PutHold(ctx, aHold("h2"))
			return err
		},
		"unnoticed": func(tx engine.Tx, cancel context.CancelFunc) error {
			_, err := tx.PutHold(t.Context(), aHold("h1"))
			cancel()
			return err
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		is(t, name, s.Update(ctx, func(tx engine.Tx) error { return fn(tx, cancel) }), context.Canceled)
		missing(t, s, "h1")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	is(t, "View", s.View(ctx, func(r engine.Reader) error {
		_, err := r.Batches(ctx)
		return err
	}), context.Canceled)
	is(t, "write afterwards", putHold(t.Context(), s, aHold("h1")), nil)
	is(t, "write of another afterwards", putHold(t.Context(), open(t), aHold("h2")), nil)
}

func panicLeavesNothing(t *testing.T, open func(testing.TB) engine.Store) {
	s := withBatch(t, open)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = s.Update(t.Context(), func(tx engine.Tx) error {
			_, _ = tx.PutHold(t.Context(), aHold("h1"))
			panic("in the middle")
		})
	}()
	missing(t, s, "h1")
	is(t, "write afterwards", putHold(t.Context(), s, aHold("h1")), nil)
}

func transactionEndsWithItsFunction(t *testing.T, open func(testing.TB) engine.Store) {
	s := withBatch(t, open)
	ctx := t.Context()
	var kept engine.Tx
	update(t, s, func(tx engine.Tx) error { kept = tx; return nil })
	if _, err := kept.PutHold(ctx, aHold("h1")); err == nil {
		t.Error("a transaction that is over took a write")
	}
	var read engine.Reader
	view(t, s, func(r engine.Reader) error { read = r; return nil })
	if _, err := read.Batches(ctx); err == nil {
		t.Error("a snapshot that is over was read")
	}
	missing(t, s, "h1")
}

func viewIsOneSnapshot(t *testing.T, open func(testing.TB) engine.Store) {
	s := withBatch(t, open)
	ctx := t.Context()
	count := func(r engine.Reader) int {
		l, err := r.Holds(ctx, engine.HoldFilter{})
		is(t, "Holds", err, nil)
		return len(l)
	}
	view(t, s, func(r engine.Reader) error {
		before := count(r)
		is(t, "write beside a View", putHold(ctx, s, aHold("h1")), nil)
		if after := count(r); after != before {
			t.Errorf("a View saw %d holds, then %d", before, after)
		}
		return nil
	})
	view(t, s, func(r engine.Reader) error {
		if n := count(r); n != 1 {
			t.Errorf("a View that began after the commit sees %d holds, want 1", n)
		}
		return nil
	})
}

// reopenSeesAll is a crash: the first store is not closed.
func reopenSeesAll(t *testing.T, open func(testing.TB) engine.Store) {
	s := withBatch(t, open)
	want := []lanes.HoldID{"W14", "F021", "h3"}
	for _, id := range want {
		is(t, "put", putHold(t.Context(), s, aHold(id)), nil)
		holdOf(t, open(t), id)
	}
	view(t, open(t), func(r engine.Reader) error {
		l, err := r.Holds(t.Context(), engine.HoldFilter{})
		same(t, "holds", want, ids(l, func(h hold.Record) lanes.HoldID { return h.ID }))
		return err
	})
}

func dataVersionTellsOfCommits(t *testing.T, open func(testing.TB) engine.Store) {
	s, other := withBatch(t, open), open(t)
	version := func() int64 {
		v, err := s.DataVersion(t.Context())
		is(t, "DataVersion", err, nil)
		return v
	}
	v := version()
	if again := version(); again != v {
		t.Errorf("went from %d to %d without a commit", v, again)
	}
	for i, writer := range []engine.Store{other, s, other} {
		is(t, "put", putHold(t.Context(), writer, aHold(lanes.HoldID(rune('a'+i)))), nil)
		next := version()
		if next == v {
			t.Errorf("commit %d did not change it", i)
		}
		v = next
	}
}
