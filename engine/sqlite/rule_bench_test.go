package sqlite

import (
	"database/sql/driver"
	"fmt"
	"io"
	"testing"
	"time"

	sqlite3 "github.com/mattn/go-sqlite3"

	"ferrox/engine"
	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/mailbox"
)

// statement is one statement that ran inside a ruling's transaction.
type statement struct {
	text string
	args []any
}

// BenchmarkRule accepts rulings as `ferrox rule` does, against the very statements of each replayed on the bare driver in
// one FULL transaction, on a copy of the database, in turn. The metric rule/floor is what counts.
func BenchmarkRule(b *testing.B) {
	path := newFile(b)
	seedHolds(b, path, b.N+1_000)
	s := newStoreAt(b, path, Options{})
	copied := path + ".copy"
	if err := s.Backup(b.Context(), copied); err != nil {
		b.Fatal(err)
	}
	floor := newReplay(b, copied)
	e := &engine.Engine{Store: s, Clock: engine.SystemClock(), NewID: engine.NewID, Lock: free{}}
	var spent, least time.Duration
	for n := range b.N {
		var ran []statement
		record(b, s, &ran)
		began := time.Now()
		_, err := e.Rule(b.Context(), engine.RuleRequest{Role: mailbox.RoleOperator, ReplyTo: holdName(n), Verdict: mailbox.VerdictFix, Text: "use the second"})
		spent += time.Since(began)
		if err != nil {
			b.Fatal(err)
		}
		least += floor.run(b, ran)
	}
	b.ReportMetric(float64(spent)/float64(b.N), "rule-ns/op")
	b.ReportMetric(float64(least)/float64(b.N), "floor-ns/op")
	b.ReportMetric(float64(spent)/float64(least), "rule/floor")
}

// free is a lock that nobody holds.
type free struct{}

func (free) TryLock() (bool, error) { return true, nil }
func (free) Unlock() error          { return nil }
func (free) Held() (bool, error)    { return false, nil }

func holdName(n int) string { return fmt.Sprintf("H%08d", n) }

func seedHolds(b *testing.B, path string, n int) {
	b.Helper()
	s := newStoreAt(b, path, Options{})
	ctx, now := b.Context(), time.Now().UTC().Truncate(time.Microsecond)
	err := s.Update(ctx, func(tx engine.Tx) error {
		if _, err := tx.PutBatch(ctx, lanes.Batch{ID: "b1", Phase: lanes.PhaseRunning, HoldTimeout: time.Hour, CreatedAt: now}); err != nil {
			return err
		}
		for i := range n {
			task := lanes.TaskID(fmt.Sprintf("T-%d", i))
			if _, err := tx.PutTask(ctx, lanes.Task{Batch: "b1", ID: task, Seq: i, State: lanes.TaskHeld, Path: "tasks/" + string(task)}); err != nil {
				return err
			}
			m := mailbox.Message{ID: lanes.MessageID(holdName(i)), Batch: "b1", Task: task, Text: "first or second?", CreatedAt: now}
			if _, err := tx.PutHold(ctx, hold.New(m, "", time.Hour)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// record notes the statements that run on the writer from now on.
func record(b *testing.B, s *Store, ran *[]statement) {
	b.Helper()
	c, err := s.writer.take(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	c.traced = func(text string, args []any) { *ran = append(*ran, statement{text, args}) }
	s.writer.put(c)
}

// replay is the bare driver on a copy of the database.
type replay struct {
	conn     *sqlite3.SQLiteConn
	prepared map[string]driver.Stmt
}

func newReplay(b *testing.B, path string) *replay {
	b.Helper()
	raw, err := (&sqlite3.SQLiteDriver{}).Open(dataSource(path, write, defaultPatience))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = raw.Close() })
	return &replay{conn: raw.(*sqlite3.SQLiteConn), prepared: map[string]driver.Stmt{}}
}

func (r *replay) run(b *testing.B, ran []statement) time.Duration {
	b.Helper()
	type call struct {
		st   driver.Stmt
		args []driver.Value
	}
	calls := make([]call, 0, len(ran))
	for _, s := range ran {
		st, ok := r.prepared[s.text]
		if !ok {
			st = prepare(b, r.conn, s.text)
			r.prepared[s.text] = st
		}
		calls = append(calls, call{st, values(b, s.args)})
	}
	began := time.Now()
	for _, c := range calls {
		//lint:ignore SA1019 the driver's plain calls are the floor that is measured against
		rows, err := c.st.Query(c.args)
		if err != nil {
			b.Fatal(err)
		}
		row := make([]driver.Value, len(rows.Columns()))
		for err = nil; err == nil; {
			err = rows.Next(row)
		}
		if err != io.EOF {
			b.Fatal(err)
		}
		if err := rows.Close(); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(began)
}
