package sqlite

import (
	"database/sql/driver"
	"testing"
	"time"

	sqlite3 "github.com/mattn/go-sqlite3"
)

// bare is the driver alone, with the store's schema and statements.
type bare struct {
	begin, commit, hold, message, event, task driver.Stmt

	holdArgs, messageArgs, eventArgs, taskArgs []driver.Value
	spent                                      time.Duration
}

func newBare(b *testing.B) *bare {
	b.Helper()
	path := newFile(b)
	s := newStoreAt(b, path, Options{})
	seed(b, s)
	r := firstRuling()
	r.next(0)
	if err := r.store(b.Context(), s); err != nil {
		b.Fatal(err)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	raw, err := (&sqlite3.SQLiteDriver{}).Open(dataSource(path, write, defaultPatience))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = raw.Close() })
	c := raw.(*sqlite3.SQLiteConn)
	return &bare{
		begin:   prepare(b, c, "BEGIN IMMEDIATE"),
		commit:  prepare(b, c, "COMMIT"),
		hold:    prepare(b, c, holds.texts().updates),
		message: prepare(b, c, messages.texts().inserts),
		event:   prepare(b, c, appendEvent()),
		task:    prepare(b, c, tasks.texts().updates),

		holdArgs:    keyLast(values(b, holds.fields(&r.hold)), holds.keys),
		messageArgs: values(b, messages.fields(&r.message)),
		eventArgs:   values(b, events.fields(&r.event)[1:]),
		taskArgs:    keyLast(values(b, tasks.fields(&r.task)), tasks.keys),
	}
}

func keyLast(v []driver.Value, keys int) []driver.Value {
	return append(append([]driver.Value{}, v[keys:]...), v[:keys]...)
}

// replay writes the n-th ruling, and minds that every row was changed: the cost of a refused statement is another.
func (r *bare) replay(b *testing.B, n int) {
	b.Helper()
	var next ruling
	next.next(n)
	r.messageArgs[0] = string(next.message.ID)
	r.holdArgs[len(r.holdArgs)-holds.keys-1] = int64(n + 1)
	r.taskArgs[len(r.taskArgs)-tasks.keys-1] = int64(n + 1)

	began := time.Now()
	execute(b, r.begin, nil)
	execute(b, r.hold, r.holdArgs)
	execute(b, r.message, r.messageArgs)
	answered(b, r.event, r.eventArgs)
	execute(b, r.task, r.taskArgs)
	execute(b, r.commit, nil)
	r.spent += time.Since(began)
}

func execute(b *testing.B, st driver.Stmt, args []driver.Value) {
	b.Helper()
	//lint:ignore SA1019 the driver's plain calls are the floor that is measured against
	res, err := st.Exec(args)
	if err != nil {
		b.Fatal(err)
	}
	if changed, _ := res.RowsAffected(); args != nil && changed != 1 {
		b.Fatalf("%d rows changed", changed)
	}
}

// answered runs a statement that returns one number.
func answered(b *testing.B, st driver.Stmt, args []driver.Value) {
	b.Helper()
	//lint:ignore SA1019 the driver's plain calls are the floor that is measured against
	rows, err := st.Query(args)
	if err != nil {
		b.Fatal(err)
	}
	if err := rows.Next(make([]driver.Value, 1)); err != nil {
		b.Fatal(err)
	}
	if err := rows.Close(); err != nil {
		b.Fatal(err)
	}
}
