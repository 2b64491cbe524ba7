package storetest

import (
	"testing"

	"ferrox/engine"
	"ferrox/lanes"
)

func effectKeys(t *testing.T, s engine.Store, pendingOnly bool) []string {
	t.Helper()
	var keys []string
	view(t, s, func(r engine.Reader) error {
		l, err := r.Effects(t.Context(), batchID, pendingOnly)
		keys = ids(l, func(e lanes.Effect) string { return e.Key })
		return err
	})
	return keys
}

func effectsFollowTheirRecord(t *testing.T, open func(testing.TB) engine.Store) {
	s := withBatch(t, open)
	ctx := t.Context()
	decide := func(h lanes.HoldID, outcome error, keys ...string) error {
		return s.Update(ctx, func(tx engine.Tx) error {
			if _, err := tx.PutHold(ctx, aHold(h)); err != nil {
				return err
			}
			for _, k := range keys {
				if err := tx.AddEffect(ctx, anEffect(k)); err != nil {
					return err
				}
			}
			return outcome
		})
	}
	is(t, "decision", decide("h1", nil, "z", "a"), nil)
	is(t, "decision that failed", decide("h2", errRefused, "lost"), errRefused)
	is(t, "decision whose effect is there already", decide("h3", nil, "n", "z"), engine.ErrConflict)
	is(t, "decision", decide("h4", nil, "m"), nil)

	missing(t, s, "h2")
	missing(t, s, "h3")
	same(t, "effects in order", []string{"z", "a", "m"}, effectKeys(t, s, true))
}

// settledTwiceIsOnce covers F166 too: what ended keeps its first end.
func settledTwiceIsOnce(t *testing.T, open func(testing.TB) engine.Store) {
	s := withBatch(t, open)
	ctx := t.Context()
	update(t, s, func(tx engine.Tx) error {
		_ = tx.AddEffect(ctx, anEffect("b"))
		return tx.AddEffect(ctx, anEffect("a"))
	})
	settle := func(state lanes.EffectState, outcome string, n int) error {
		return s.Update(ctx, func(tx engine.Tx) error { return tx.SettleEffect(ctx, "b", state, outcome, later(n)) })
	}
	is(t, "settle", settle(lanes.EffectDone, "spawned", 1), nil)
	is(t, "settle again", settle(lanes.EffectDone, "spawned again", 2), nil)
	is(t, "settle in another way", settle(lanes.EffectAbandoned, "lost", 3), engine.ErrConflict)

	view(t, s, func(r engine.Reader) error {
		e, err := r.Effect(ctx, "b")
		if e.State != lanes.EffectDone || e.Outcome != "spawned" || !e.SettledAt.Equal(later(1)) {
			t.Errorf("F166: the first end did not stay: %+v", e)
		}
		return err
	})
	same(t, "pending", []string{"a"}, effectKeys(t, s, true))
	same(t, "all", []string{"b", "a"}, effectKeys(t, s, false))
	is(t, "add a settled key again", s.Update(ctx, func(tx engine.Tx) error {
		return tx.AddEffect(ctx, anEffect("b"))
	}), engine.ErrConflict)
}

func eventsAscend(t *testing.T, open func(testing.TB) engine.Store) {
	s := withBatch(t, open)
	ctx := t.Context()
	var last int64
	for i := range 6 {
		update(t, s, func(tx engine.Tx) error {
			// The clock goes backwards; the order stays that of the commits.
			e := lanes.Event{Seq: 99, At: later(-i), Batch: batchID, Task: lanes.TaskID([]string{"TP-1", "TP-2"}[i%2])}
			e.Name = string(rune('a' + i))
			seq, err := tx.AppendEvent(ctx, e)
			if seq <= last {
				t.Errorf("event %s has number %d after %d", e.Name, seq, last)
			}
			last = seq
			return err
		})
	}
	_ = s.Update(ctx, func(tx engine.Tx) error {
		_, _ = tx.AppendEvent(ctx, lanes.Event{Name: "lost"})
		return errRefused
	})
	update(t, s, func(tx engine.Tx) error {
		_, err := tx.AppendEvent(ctx, lanes.Event{Name: "g", Type: "engine"}) // before any batch
		return err
	})
	for want, f := range map[string]engine.EventFilter{
		"abcdefg": {},
		"abcdef":  {Batch: batchID},
		"bdf":     {Batch: batchID, Task: "TP-2"},
		"fg":      {After: last - 1},
		"efg":     {Limit: 3},
		"df":      {Task: "TP-2", Limit: 2},
		"bg":      {Names: []string{"b", "g", "nothing"}},
		"d":       {Batch: batchID, Task: "TP-2", Names: []string{"c", "d"}},
		"f":       {Batch: batchID, After: last - 2, Limit: 1},
	} {
		view(t, s, func(r engine.Reader) error {
			l, err := r.Events(ctx, f)
			got := ""
			for _, e := range l {
				got += e.Name
			}
			if got != want {
				t.Errorf("%+v yields %q, want %q", f, got, want)
			}
			return err
		})
	}
}

func messagesNeverChange(t *testing.T, open func(testing.TB) engine.Store) {
	s := withBatch(t, open)
	ctx := t.Context()
	m := aMessage("m1")
	m.Text = "first"
	update(t, s, func(tx engine.Tx) error { return tx.AddMessage(ctx, m) })
	m.Text = "second"
	is(t, "add again", s.Update(ctx, func(tx engine.Tx) error { return tx.AddMessage(ctx, m) }), engine.ErrConflict)
	view(t, s, func(r engine.Reader) error {
		got, err := r.Message(ctx, "m1")
		if got.Text != "first" {
			t.Errorf("text became %q", got.Text)
		}
		return err
	})
}
