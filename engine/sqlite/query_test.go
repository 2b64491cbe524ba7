package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"ferrox/engine"
	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/mailbox"
)

// No query that is asked while a batch runs looks at every row: a hundred thousand old holds cost an open one nothing.
func TestQueriesUseAnIndex(t *testing.T) {
	t.Parallel()
	s := newStoreAt(t, newFile(t), Options{})
	ctx := t.Context()
	queries := map[string]func(engine.Reader){
		"unresolved": func(r engine.Reader) { _, _ = r.Holds(ctx, engine.HoldFilter{Unresolved: true}) },
		"unresolved of a task": func(r engine.Reader) {
			_, _ = r.Holds(ctx, engine.HoldFilter{Batch: "b", Task: "t", Unresolved: true})
		},
		"holds by prefix": func(r engine.Reader) { _, _ = r.Holds(ctx, engine.HoldFilter{Prefix: "01"}) },
		"hold of ruling":  func(r engine.Reader) { _, _ = r.Holds(ctx, engine.HoldFilter{Ruling: "m"}) },
		"hold":            func(r engine.Reader) { _, _ = r.Hold(ctx, "h") },
		"task":            func(r engine.Reader) { _, _ = r.Task(ctx, "b", "t") },
		"tasks":           func(r engine.Reader) { _, _ = r.Tasks(ctx, "b") },
		"lane":            func(r engine.Reader) { _, _ = r.Lane(ctx, "b", 1) },
		"runs of a task":  func(r engine.Reader) { _, _ = r.Runs(ctx, engine.RunFilter{Batch: "b", Task: "t"}) },
		"runs alive": func(r engine.Reader) {
			_, _ = r.Runs(ctx, engine.RunFilter{Batch: "b", States: []lanes.RunState{lanes.RunRunning, lanes.RunExited}})
		},
		"run by token":       func(r engine.Reader) { _, _ = r.Runs(ctx, engine.RunFilter{Token: "t"}) },
		"replies":            func(r engine.Reader) { _, _ = r.Messages(ctx, engine.MessageFilter{ReplyTo: "h"}) },
		"messages of a task": func(r engine.Reader) { _, _ = r.Messages(ctx, engine.MessageFilter{Batch: "b", Task: "t"}) },
		"newest events":      func(r engine.Reader) { _, _ = r.Events(ctx, engine.EventFilter{Batch: "b", Limit: 10}) },
		"later events":       func(r engine.Reader) { _, _ = r.Events(ctx, engine.EventFilter{After: 5}) },
		"events of a task":   func(r engine.Reader) { _, _ = r.Events(ctx, engine.EventFilter{Batch: "b", Task: "t"}) },
		"pending effects":    func(r engine.Reader) { _, _ = r.Effects(ctx, "b", true) },
		"effect":             func(r engine.Reader) { _, _ = r.Effect(ctx, "k") },
		"pending requests":   func(r engine.Reader) { _, _ = r.PendingRequests(ctx) },
	}
	for name, ask := range queries {
		for _, step := range planOf(t, s, ask) {
			if strings.HasPrefix(step, "SCAN") || strings.Contains(step, "TEMP B-TREE") && strings.HasPrefix(name, "newest") {
				t.Errorf("%s: %s", name, step)
			}
		}
	}
}

// planOf returns SQLite's plan for the one query that ask makes.
func planOf(t *testing.T, s *Store, ask func(engine.Reader)) []string {
	t.Helper()
	c, err := dial(t.Context(), s.readers.db)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	ask(&reader{session: c})

	var plan []string
	for text := range c.statements {
		holes := make([]any, strings.Count(text, "$"))
		rows, err := c.conn.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+text, holes...)
		if err != nil {
			t.Fatal(err)
		}
		plan = append(plan, details(t, rows)...)
	}
	if len(plan) == 0 {
		t.Fatal("no query was made")
	}
	return plan
}

func details(t *testing.T, rows *sql.Rows) []string {
	t.Helper()
	defer rows.Close()
	var found []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		found = append(found, detail)
	}
	return found
}

// ruling is what a ruling writes: the hold, the message, an event and the task.
type ruling struct {
	hold    hold.Record
	message mailbox.Message
	event   lanes.Event
	task    lanes.Task
}

func firstRuling() ruling {
	text := strings.Repeat("Use the second way. ", 20)
	now := time.UnixMicro(1_700_000_000_000_000)
	return ruling{
		hold:    hold.Record{ID: "h1", Batch: "b1", Task: "TP-1", State: hold.Open, Question: text, OpenedAt: now, RulingText: text},
		message: mailbox.Message{Batch: "b1", Task: "TP-1", Type: mailbox.TypeRuling, ReplyTo: "h1", Text: text, CreatedAt: now},
		event:   lanes.Event{Batch: "b1", Task: "TP-1", Name: "hold-released", Text: "ruled", At: now},
		task:    lanes.Task{Batch: "b1", ID: "TP-1", State: lanes.TaskHeld, Scope: []string{"a/**", "b.go"}},
	}
}

func (r *ruling) next(n int) { r.message.ID = lanes.MessageID(fmt.Sprintf("m%09d", n)) }

func (r *ruling) store(ctx context.Context, s *Store) error {
	return s.Update(ctx, func(w engine.Tx) (err error) {
		if r.hold.Version, err = w.PutHold(ctx, r.hold); err != nil {
			return err
		}
		if err := w.AddMessage(ctx, r.message); err != nil {
			return err
		}
		if _, err := w.AppendEvent(ctx, r.event); err != nil {
			return err
		}
		r.task.Version, err = w.PutTask(ctx, r.task)
		return err
	})
}
