package storetest

import (
	"sync"
	"testing"

	"ferrox/engine"
	"ferrox/lanes"
)

func leaseFences(t *testing.T, open func(testing.TB) engine.Store) {
	s := open(t)
	ctx := t.Context()
	end := func(fence int64, n int) error {
		return s.Update(ctx, func(tx engine.Tx) error { return tx.EndLease(ctx, fence, later(n), "why") })
	}
	is(t, "end of a lease that never was", end(1, 0), engine.ErrConflict)

	const takers = 6
	fences := make([]int64, takers)
	stores := []engine.Store{s, open(t)}
	var wg sync.WaitGroup
	for i := range takers {
		wg.Go(func() {
			_ = stores[i%2].Update(ctx, func(tx engine.Tx) error {
				l, err := tx.TakeLease(ctx, lanes.Lease{Fence: 77, Owner: lanes.Identity{PID: i + 1}, TakenAt: start()})
				fences[i] = l.Fence
				return err
			})
		})
	}
	wg.Wait()
	seen := map[int64]bool{}
	for _, f := range fences {
		seen[f] = true
	}
	for f := range int64(takers) {
		if !seen[f+1] {
			t.Fatalf("fencing numbers %v are not 1 to %d", fences, takers)
		}
	}

	is(t, "end of an older lease", end(takers-1, 1), engine.ErrConflict)
	is(t, "end", end(takers, 2), nil)
	is(t, "end again", end(takers, 3), nil)
	view(t, s, func(r engine.Reader) error {
		l, err := r.Lease(ctx)
		if l.Fence != takers || !l.EndedAt.Equal(later(2)) || l.Reason != "why" {
			t.Errorf("F166: the first end did not stay: %+v", l)
		}
		return err
	})
}

func requestOnce(t *testing.T, open func(testing.TB) engine.Store) {
	s := open(t)
	ctx := t.Context()
	put := func(r lanes.Request) error {
		return s.Update(ctx, func(tx engine.Tx) error { return tx.PutRequest(ctx, r) })
	}
	asked := lanes.Request{ID: "q2", Verb: "pause", Args: "{}", CreatedAt: later(1)}
	is(t, "ask", put(asked), nil)
	is(t, "ask again", put(asked), engine.ErrConflict)
	is(t, "ask another", put(lanes.Request{ID: "q1", Verb: "rule", CreatedAt: later(2)}), nil)
	pending := func() []string {
		var l []lanes.Request
		view(t, s, func(r engine.Reader) (err error) { l, err = r.PendingRequests(ctx); return err })
		return ids(l, func(r lanes.Request) string { return r.ID })
	}
	same(t, "pending", []string{"q2", "q1"}, pending())

	answered := lanes.Request{ID: "q2", Verb: "other", Done: true, Exit: 3, Answer: `{"ok":1}`, DoneAt: later(3)}
	is(t, "answer", put(answered), nil)
	is(t, "answer again", put(answered), engine.ErrConflict)
	same(t, "pending", []string{"q1"}, pending())

	asked.Done, asked.Exit, asked.Answer, asked.DoneAt = true, 3, `{"ok":1}`, later(3)
	view(t, s, func(r engine.Reader) error {
		got, err := r.Request(ctx, "q2")
		same(t, "request", asked, got)
		return err
	})
}

func supervisorOnce(t *testing.T, open func(testing.TB) engine.Store) {
	s := open(t)
	ctx := t.Context()
	a := lanes.Identity{PID: 7, Start: 1, Boot: "x", PIDNS: 2}
	b := a
	b.Start = 2 // the same number, given out again
	update(t, s, func(tx engine.Tx) error {
		_ = tx.AddSupervisor(ctx, b, later(1))
		_ = tx.AddSupervisor(ctx, b, later(9))
		return tx.AddSupervisor(ctx, a, later(2))
	})
	view(t, s, func(r engine.Reader) error {
		l, err := r.Supervisors(ctx)
		same(t, "supervisors", []lanes.Identity{b, a}, l)
		return err
	})
}
