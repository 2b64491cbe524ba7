package storetest

import (
	"strings"
	"testing"
	"time"

	"ferrox/engine"
	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/mailbox"
)

func missingIsNotFound(t *testing.T, open func(testing.TB) engine.Store) {
	s := open(t)
	ctx := t.Context()
	for name, read := range map[string]func(engine.Reader) error{
		"batch":   func(r engine.Reader) error { _, err := r.Batch(ctx, "x"); return err },
		"task":    func(r engine.Reader) error { _, err := r.Task(ctx, "x", "y"); return err },
		"lane":    func(r engine.Reader) error { _, err := r.Lane(ctx, "x", 1); return err },
		"run":     func(r engine.Reader) error { _, err := r.Run(ctx, "x"); return err },
		"hold":    func(r engine.Reader) error { _, err := r.Hold(ctx, "x"); return err },
		"message": func(r engine.Reader) error { _, err := r.Message(ctx, "x"); return err },
		"effect":  func(r engine.Reader) error { _, err := r.Effect(ctx, "x"); return err },
		"lease":   func(r engine.Reader) error { _, err := r.Lease(ctx); return err },
		"request": func(r engine.Reader) error { _, err := r.Request(ctx, "x"); return err },
	} {
		is(t, name, s.View(ctx, read), engine.ErrNotFound)
	}
	is(t, "settling", s.Update(ctx, func(tx engine.Tx) error {
		return tx.SettleEffect(ctx, "x", lanes.EffectDone, "", start())
	}), engine.ErrNotFound)
}

func emptyListIsNoError(t *testing.T, open func(testing.TB) engine.Store) {
	ctx := t.Context()
	view(t, open(t), func(r engine.Reader) error {
		for name, list := range map[string]func() (int, error){
			"batches":     func() (int, error) { l, err := r.Batches(ctx); return len(l), err },
			"tasks":       func() (int, error) { l, err := r.Tasks(ctx, "x"); return len(l), err },
			"lanes":       func() (int, error) { l, err := r.Lanes(ctx, "x"); return len(l), err },
			"runs":        func() (int, error) { l, err := r.Runs(ctx, engine.RunFilter{}); return len(l), err },
			"holds":       func() (int, error) { l, err := r.Holds(ctx, engine.HoldFilter{}); return len(l), err },
			"messages":    func() (int, error) { l, err := r.Messages(ctx, engine.MessageFilter{}); return len(l), err },
			"events":      func() (int, error) { l, err := r.Events(ctx, engine.EventFilter{}); return len(l), err },
			"effects":     func() (int, error) { l, err := r.Effects(ctx, "x", false); return len(l), err },
			"requests":    func() (int, error) { l, err := r.PendingRequests(ctx); return len(l), err },
			"supervisors": func() (int, error) { l, err := r.Supervisors(ctx); return len(l), err },
		} {
			if n, err := list(); n != 0 || err != nil {
				t.Errorf("%s: %d, %v", name, n, err)
			}
		}
		return nil
	})
}

// roundTrip writes a record of version 0, writes it again with every field changed, and reads it back both times.
func roundTrip[R any](
	t *testing.T, s engine.Store, what string, set func(r *R, version int64),
	put func(engine.Tx, R) (int64, error), read func(engine.Reader, R) (R, error),
) {
	t.Helper()
	f := &filler{}
	for version := range int64(2) {
		want := filled[R](f)
		set(&want, version)
		update(t, s, func(tx engine.Tx) error {
			v, err := put(tx, want)
			if v != version+1 {
				t.Errorf("%s: put returned version %d, want %d", what, v, version+1)
			}
			return err
		})
		set(&want, version+1)
		view(t, s, func(r engine.Reader) error {
			got, err := read(r, want)
			same(t, what, want, got)
			return err
		})
	}
}

func everyFieldRoundTrips(t *testing.T, open func(testing.TB) engine.Store) {
	s := withBatch(t, open)
	ctx := t.Context()
	roundTrip(t, s, "batch", func(b *lanes.Batch, v int64) { b.ID, b.Version = "b2", v },
		func(tx engine.Tx, b lanes.Batch) (int64, error) { return tx.PutBatch(ctx, b) },
		func(r engine.Reader, b lanes.Batch) (lanes.Batch, error) { return r.Batch(ctx, b.ID) })
	roundTrip(t, s, "task", func(k *lanes.Task, v int64) { k.Batch, k.ID, k.Version = batchID, "TP-1", v },
		func(tx engine.Tx, k lanes.Task) (int64, error) { return tx.PutTask(ctx, k) },
		func(r engine.Reader, k lanes.Task) (lanes.Task, error) { return r.Task(ctx, k.Batch, k.ID) })
	roundTrip(t, s, "lane", func(l *lanes.Lane, v int64) { l.Batch, l.Number, l.Version = batchID, 3, v },
		func(tx engine.Tx, l lanes.Lane) (int64, error) { return tx.PutLane(ctx, l) },
		func(r engine.Reader, l lanes.Lane) (lanes.Lane, error) { return r.Lane(ctx, l.Batch, l.Number) })
	roundTrip(t, s, "run", func(r *lanes.Run, v int64) { r.ID, r.Batch, r.Version = "r1", batchID, v },
		func(tx engine.Tx, r lanes.Run) (int64, error) { return tx.PutRun(ctx, r) },
		func(r engine.Reader, want lanes.Run) (lanes.Run, error) { return r.Run(ctx, want.ID) })
	roundTrip(t, s, "hold", func(h *hold.Record, v int64) { h.ID, h.Batch, h.Version, h.Unproven = "h1", batchID, v, "" },
		func(tx engine.Tx, h hold.Record) (int64, error) { return tx.PutHold(ctx, h) },
		func(r engine.Reader, h hold.Record) (hold.Record, error) { return r.Hold(ctx, h.ID) })
	mailRoundTrips(t, s)
	restRoundTrips(t, s)
}

func mailRoundTrips(t *testing.T, s engine.Store) {
	t.Helper()
	ctx := t.Context()
	f := &filler{}
	message, event, effect := filled[mailbox.Message](f), filled[lanes.Event](f), filled[lanes.Effect](f)
	message.Batch, effect.Batch = batchID, batchID
	update(t, s, func(tx engine.Tx) (err error) {
		if err := tx.AddMessage(ctx, message); err != nil {
			return err
		}
		if event.Seq, err = tx.AppendEvent(ctx, event); err != nil {
			return err
		}
		if err := tx.AddEffect(ctx, effect); err != nil {
			return err
		}
		return tx.SettleEffect(ctx, effect.Key, effect.State, effect.Outcome, effect.SettledAt)
	})
	view(t, s, func(r engine.Reader) error {
		m, err := r.Message(ctx, message.ID)
		same(t, "message", message, m)
		is(t, "message", err, nil)
		e, err := r.Events(ctx, engine.EventFilter{})
		same(t, "event", []lanes.Event{event}, e)
		is(t, "event", err, nil)
		k, err := r.Effect(ctx, effect.Key)
		same(t, "effect", effect, k)
		return err
	})
}

func restRoundTrips(t *testing.T, s engine.Store) {
	t.Helper()
	ctx := t.Context()
	f := &filler{}
	lease, request, supervisor := filled[lanes.Lease](f), filled[lanes.Request](f), filled[lanes.Identity](f)
	update(t, s, func(tx engine.Tx) error {
		taken, err := tx.TakeLease(ctx, lease)
		if err != nil {
			return err
		}
		lease.Fence = taken.Fence
		same(t, "lease returned", lease, taken)
		if err := tx.PutRequest(ctx, request); err != nil {
			return err
		}
		return tx.AddSupervisor(ctx, supervisor, start())
	})
	view(t, s, func(r engine.Reader) error {
		l, err := r.Lease(ctx)
		same(t, "lease", lease, l)
		is(t, "lease", err, nil)
		q, err := r.Request(ctx, request.ID)
		same(t, "request", request, q)
		is(t, "request", err, nil)
		i, err := r.Supervisors(ctx)
		same(t, "supervisors", []lanes.Identity{supervisor}, i)
		return err
	})
}

func textsAreByteExact(t *testing.T, open func(testing.TB) engine.Store) {
	s := withBatch(t, open)
	ctx := t.Context()
	texts := []string{
		strings.Repeat("long ruling, 300 KB. ", 15_000),
		"a\x00b", "\xff\xfe not UTF-8", "'; DROP TABLE holds; --", "  blanks \r\n\t ", "none", "NULL", "1e3", "\u2028 \U0001F6A2",
	}
	for i, text := range texts {
		m := aMessage(lanes.MessageID("m" + string(rune('a'+i))))
		m.Text = text
		update(t, s, func(tx engine.Tx) error { return tx.AddMessage(ctx, m) })
		view(t, s, func(r engine.Reader) error {
			got, err := r.Message(ctx, m.ID)
			if got.Text != text {
				t.Errorf("text %d came back as %.40q", i, got.Text)
			}
			return err
		})
	}
}

func timesAreWholeMicroseconds(t *testing.T, open func(testing.TB) engine.Store) {
	s := withBatch(t, open)
	east := time.FixedZone("east", 3*3600)
	h := aHold("h1")
	h.OpenedAt = time.Date(2026, 1, 2, 3, 4, 5, 999_999_999, east)
	h.Deadline = time.Date(1969, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
	h.RuledAt = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	is(t, "put", putHold(t.Context(), s, h), nil)

	got := holdOf(t, s, "h1")
	h.OpenedAt = time.Date(2026, 1, 2, 0, 4, 5, 999_999_000, time.UTC)
	h.Version = 1
	same(t, "hold", h, got)
	if got.OpenedAt.Location() != time.UTC {
		t.Errorf("instant is in %v, want UTC", got.OpenedAt.Location())
	}
	if !got.ExpiredAt.IsZero() {
		t.Errorf("an instant that was never set reads as %v", got.ExpiredAt)
	}
}
