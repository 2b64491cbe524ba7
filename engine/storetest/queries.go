package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"ferrox/engine"
	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/mailbox"
)

func lists(t *testing.T, open func(testing.TB) engine.Store) {
	s := open(t)
	ctx := t.Context()
	for _, b := range []lanes.BatchID{"b9", "b1", "b5"} {
		addBatch(t, s, b)
	}
	update(t, s, func(tx engine.Tx) error {
		for i, id := range []lanes.TaskID{"TP-9", "TP-1"} {
			_, _ = tx.PutTask(ctx, lanes.Task{Batch: "b1", ID: id, Seq: i})
		}
		for _, n := range []lanes.Number{10, 2} {
			_, _ = tx.PutLane(ctx, lanes.Lane{Batch: "b1", Number: n})
		}
		for i, id := range []lanes.RunID{"z", "y", "x"} {
			r := lanes.Run{ID: id, Batch: "b1", Task: "TP-1", Lane: lanes.Number(i + 1), Token: "t" + string(id)}
			r.Shim.PID = 101 + i
			r.State = []lanes.RunState{lanes.RunExited, lanes.RunRunning, lanes.RunJudged}[i]
			_, _ = tx.PutRun(ctx, r)
		}
		for i, id := range []lanes.MessageID{"n2", "n1", "m3"} {
			m := aMessage(id)
			m.Type = []mailbox.Type{mailbox.TypeEscalate, mailbox.TypeRuling, mailbox.TypeInfo}[i]
			m.ReplyTo = []string{"", "n2", "n2"}[i]
			_ = tx.AddMessage(ctx, m)
		}
		return nil
	})
	view(t, s, func(r engine.Reader) error {
		b, _ := r.Batches(ctx)
		same(t, "batches", []lanes.BatchID{"b5", "b1", "b9"}, ids(b, func(b lanes.Batch) lanes.BatchID { return b.ID }))
		k, _ := r.Tasks(ctx, "b1")
		same(t, "tasks", []lanes.TaskID{"TP-9", "TP-1"}, ids(k, func(k lanes.Task) lanes.TaskID { return k.ID }))
		l, _ := r.Lanes(ctx, "b1")
		same(t, "lanes", []lanes.Number{2, 10}, ids(l, func(l lanes.Lane) lanes.Number { return l.Number }))
		none, _ := r.Tasks(ctx, "b5")
		same(t, "tasks of another batch", 0, len(none))
		runLists(t, r)
		messageLists(t, r)
		return nil
	})
}

func runLists(t *testing.T, r engine.Reader) {
	t.Helper()
	for want, f := range map[string]engine.RunFilter{
		"zyx": {Batch: "b1", Task: "TP-1"},
		"":    {Batch: "b5"},
		"y":   {Lane: 2},
		"zx":  {States: []lanes.RunState{lanes.RunJudged, lanes.RunExited}},
		"yx":  {Shims: []int{102, 103}},
		"x":   {Token: "tx", States: []lanes.RunState{lanes.RunJudged}},
	} {
		l, err := r.Runs(t.Context(), f)
		got := ""
		for _, run := range l {
			got += string(run.ID)
		}
		if got != want || err != nil {
			t.Errorf("runs %+v: %q, %v, want %q", f, got, err, want)
		}
	}
}

func messageLists(t *testing.T, r engine.Reader) {
	t.Helper()
	for want, f := range map[string]engine.MessageFilter{
		"n2n1m3": {Batch: "b1", Task: "TP-1"},
		"n1m3":   {ReplyTo: "n2"},
		"n2n1":   {Prefix: "n"},
		"n2m3":   {Types: []mailbox.Type{mailbox.TypeInfo, mailbox.TypeEscalate}},
		"m3":     {Types: []mailbox.Type{mailbox.TypeInfo}, ReplyTo: "n2", Prefix: "m3"},
		"":       {Task: "TP-2"},
	} {
		l, err := r.Messages(t.Context(), f)
		got := ""
		for _, m := range l {
			got += string(m.ID)
		}
		if got != want || err != nil {
			t.Errorf("messages %+v: %q, %v, want %q", f, got, err, want)
		}
	}
}

// unresolvedHolds puts every state with every delivery, and one delivery that is not known yet, and holds the filter to
// hold.Record.Unresolved: a hold that a query forgets would let its task complete.
func unresolvedHolds(t *testing.T, open func(testing.TB) engine.Store) {
	s := withBatch(t, open)
	ctx := t.Context()
	want := []lanes.HoldID{}
	update(t, s, func(tx engine.Tx) error {
		for _, state := range []hold.State{hold.Open, hold.Released, hold.Cancelled} {
			for _, delivery := range []hold.Delivery{
				hold.DeliveryNone, hold.DeliveryPending, hold.DeliveryInFlight, hold.DeliveryAcknowledged, "", "zz-later",
			} {
				h := aHold(lanes.HoldID(string(state) + "/" + string(delivery)))
				h.State, h.Delivery, h.Ruling = state, delivery, lanes.MessageID("ruling of "+h.ID)
				if h.Unresolved() {
					want = append(want, h.ID)
				}
				if _, err := tx.PutHold(ctx, h); err != nil {
					return err
				}
			}
		}
		return nil
	})
	view(t, s, func(r engine.Reader) error {
		id := func(h hold.Record) lanes.HoldID { return h.ID }
		for _, f := range []engine.HoldFilter{{Unresolved: true}, {Batch: batchID, Task: "TP-1", Unresolved: true}} {
			l, err := r.Holds(ctx, f)
			is(t, "Holds", err, nil)
			got := ids(l, id)
			same(t, "unresolved holds", want, got)
		}
		all, _ := r.Holds(ctx, engine.HoldFilter{Batch: batchID})
		same(t, "all holds", 18, len(all))
		other, _ := r.Holds(ctx, engine.HoldFilter{Task: "TP-2"})
		same(t, "holds of another task", 0, len(other))
		ruled, err := r.Holds(ctx, engine.HoldFilter{Ruling: "ruling of open/none"})
		same(t, "hold of a ruling", []lanes.HoldID{"open/none"}, ids(ruled, id))
		ruled, err2 := r.Holds(ctx, engine.HoldFilter{Batch: batchID, Ruled: true})
		same(t, "holds with a ruling", len(all), len(ruled))
		return errors.Join(err, err2)
	})
}

func prefixMindsCase(t *testing.T, open func(testing.TB) engine.Store) {
	s := withBatch(t, open)
	ctx := t.Context()
	all := []lanes.HoldID{"01AB", "01Ab", "01AC", "01B", "01A", "0%A", "0_A", "01A\xff\xff", "\xffq"}
	update(t, s, func(tx engine.Tx) error {
		for _, id := range all {
			if _, err := tx.PutHold(ctx, aHold(id)); err != nil {
				return err
			}
		}
		return nil
	})
	for prefix, want := range map[string][]lanes.HoldID{
		"01A":     {"01AB", "01Ab", "01AC", "01A", "01A\xff\xff"},
		"01AB":    {"01AB"},
		"0%":      {"0%A"},
		"0_":      {"0_A"},
		"01A\xff": {"01A\xff\xff"},
		"\xff":    {"\xffq"},
		"02":      {},
		"":        all,
	} {
		view(t, s, func(r engine.Reader) error {
			l, err := r.Holds(ctx, engine.HoldFilter{Prefix: prefix})
			got := ids(l, func(h hold.Record) lanes.HoldID { return h.ID })
			if !slices.Equal(got, want) {
				t.Errorf("prefix %q yields %q, want %q", prefix, got, want)
			}
			return err
		})
	}
}

// looks checks what an engine asks at each look, with tasks in every kind of rest.
func looks(t *testing.T, open func(testing.TB) engine.Store) {
	s := open(t)
	ctx, at := t.Context(), start()
	addBatch(t, s, "b1")
	addBatch(t, s, "b2")
	view(t, s, func(r engine.Reader) error {
		slot, err := r.HoldsSlot(ctx, "b1")
		same(t, "no task holds a slot", false, slot || err != nil)
		_, err = r.OldestQuiet(ctx, "b1")
		is(t, "oldest of none", err, engine.ErrNotFound)
		return nil
	})
	put := func(batch lanes.BatchID, n int, task lanes.TaskState, lane lanes.LaneState, h hold.Record) {
		t.Helper()
		id := lanes.TaskID(fmt.Sprintf("T-%d", n))
		h.ID, h.Batch, h.Task, h.Lane = lanes.HoldID(fmt.Sprintf("%s-h%d", batch, n)), batch, id, lanes.Number(n)
		update(t, s, func(tx engine.Tx) error {
			_, err1 := tx.PutTask(ctx, lanes.Task{Batch: batch, ID: id, Seq: -n, State: task, Lane: lanes.Number(n)})
			_, err2 := tx.PutLane(ctx, lanes.Lane{Batch: batch, Number: lanes.Number(n), Task: id, State: lane})
			_, err3 := tx.PutHold(ctx, h)
			return errors.Join(err1, err2, err3)
		})
	}
	hours := func(n int) time.Time { return at.Add(time.Duration(n) * time.Hour) }
	put("b1", 1, lanes.TaskHeld, lanes.LaneParked, hold.Record{State: hold.Open, OpenedAt: hours(-9), Deadline: hours(1), ExpiredAt: at})
	put("b1", 2, lanes.TaskHeld, lanes.LaneParked, hold.Record{State: hold.Open, OpenedAt: hours(-8), Deadline: hours(5)})
	view(t, s, func(r engine.Reader) error {
		slot, err := r.HoldsSlot(ctx, "b1")
		same(t, "parked lanes have no slot", false, slot || err != nil)
		return nil
	})
	put("b1", 3, lanes.TaskHeld, lanes.LaneHeld, hold.Record{State: hold.Open, OpenedAt: hours(-1), Deadline: hours(4)})
	put("b1", 4, lanes.TaskHeld, lanes.LaneHeld, hold.Record{State: hold.Open, OpenedAt: hours(-2), Deadline: hours(6)})
	put("b1", 5, lanes.TaskRunning, lanes.LaneRunning, hold.Record{State: hold.Released, OpenedAt: hours(-7), Deadline: hours(2)})
	put("b2", 6, lanes.TaskHeld, lanes.LaneHeld, hold.Record{State: hold.Open, OpenedAt: hours(-9), Deadline: hours(0)})
	view(t, s, func(r engine.Reader) error {
		slot, err := r.HoldsSlot(ctx, "b1")
		same(t, "a held lane has a slot", true, slot && err == nil)
		in, err := r.TasksIn(ctx, "b1", lanes.TaskRunning, lanes.TaskHeld)
		same(t, "tasks in two states", []lanes.TaskID{"T-5", "T-4", "T-3", "T-2", "T-1"}, ids(in, func(t lanes.Task) lanes.TaskID { return t.ID }))
		none, err2 := r.TasksIn(ctx, "b1")
		same(t, "tasks in no state", 0, len(none))
		paths, err7 := r.TaskPaths(ctx, "b1")
		same(t, "packet folders", len(in), len(paths))
		same(t, "folder of the first task", in[0].Path, paths[0])
		ruled, err8 := r.Holds(ctx, engine.HoldFilter{Batch: "b1", Ruled: true})
		same(t, "holds without a ruling are no ruled ones", 0, len(ruled))
		n, err3 := r.CountTasks(ctx, "b1")
		same(t, "counts", map[lanes.TaskState]int{lanes.TaskHeld: 4, lanes.TaskRunning: 1}, n)
		due, err4 := r.NextDeadlines(ctx, "b1", 2)
		same(t, "next deadlines", []lanes.HoldID{"b1-h3", "b1-h2"}, ids(due, func(h hold.Record) lanes.HoldID { return h.ID }))
		oldest, err5 := r.OldestQuiet(ctx, "b1")
		page, err6 := r.LanesAfter(ctx, "b1", 2, 2)
		same(t, "lanes after the second", []lanes.Number{3, 4}, ids(page, func(l lanes.Lane) lanes.Number { return l.Number }))
		same(t, "oldest in a held lane", lanes.HoldID("b1-h4"), oldest.ID)
		return errors.Join(err, err2, err3, err4, err5, err6, err7, err8)
	})
}
