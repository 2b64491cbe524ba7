package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"

	"ferrox/engine"
)

// table ties a record type to its table. fields returns pointers to the record's fields in the order of the columns; the
// same pointers are bound when writing and scanned into when reading, so the two cannot drift apart.
type table[R any] struct {
	kind   string // for people: "hold"
	name   string
	keys   int // the first columns are the key
	fields func(*R) []any
	texts  func() texts // built at first use: every start pays for what is built before main
}

// texts are the statements of a table.
type texts struct {
	columns []string
	selects string
	inserts string
	updates string // only where the last column is version
}

// newTable describes a table. columns are separated by blanks.
func newTable[R any](kind, name string, keys int, columns string, fields func(*R) []any) *table[R] {
	return &table[R]{kind: kind, name: name, keys: keys, fields: fields, texts: sync.OnceValue(func() texts {
		names := strings.Fields(columns)
		return texts{
			columns: names,
			selects: "SELECT " + strings.Join(names, ", ") + " FROM " + name,
			inserts: insertText(name, names) + " ON CONFLICT DO NOTHING",
			updates: updateText(name, names[:keys], names[keys:]),
		}
	})}
}

// insertText returns an INSERT of one row.
func insertText(name string, columns []string) string {
	holes := make([]string, len(columns))
	for i := range columns {
		holes[i] = fmt.Sprintf("$%d", i+1)
	}
	return "INSERT INTO " + name + " (" + strings.Join(columns, ", ") + ") VALUES (" + strings.Join(holes, ", ") + ")"
}

// updateText returns the compare-and-set. Numbers appear in rising order, because SQLite numbers parameters by their first
// appearance; the key comes last.
func updateText(name string, keys, others []string) string {
	var b strings.Builder
	b.WriteString("UPDATE " + name + " SET ")
	for i, c := range others {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s = $%d", c, i+1)
	}
	fmt.Fprintf(&b, " WHERE version = $%d - 1", len(others))
	for i, c := range keys {
		fmt.Fprintf(&b, " AND %s = $%d", c, len(others)+i+1)
	}
	return b.String()
}

// get reads the one row that the filter picks. id is for the error.
func get[R any](ctx context.Context, r *reader, t *table[R], f *filter, id string) (R, error) {
	rows, err := find(ctx, r, t, f, "")
	if err != nil {
		var none R
		return none, err
	}
	if len(rows) == 0 {
		var none R
		return none, fmt.Errorf("read %s %s: %w", t.kind, id, engine.ErrNotFound)
	}
	return rows[0], nil
}

// find reads the rows that the filter picks. tail is ORDER BY and the like.
func find[R any](ctx context.Context, r *reader, t *table[R], f *filter, tail string) ([]R, error) {
	attempt := "read " + t.kind + " records"
	if err := r.usable(ctx, attempt); err != nil {
		return nil, err
	}
	rows, err := r.session.query(t.texts().selects+f.text()+tail, f.args...)
	if err != nil {
		return nil, r.fail(explain(attempt, err))
	}
	defer rows.Close()
	found, err := scan(ctx, t, rows)
	if err != nil && ctx.Err() == nil {
		return nil, r.fail(explain(attempt, err))
	}
	if err != nil {
		return nil, explain(attempt, err)
	}
	return found, nil
}

func scan[R any](ctx context.Context, t *table[R], rows *sql.Rows) ([]R, error) {
	var found []R
	var record R
	fields := t.fields(&record)
	for rows.Next() {
		var zero R
		record = zero
		if err := rows.Scan(fields...); err != nil {
			return nil, err
		}
		found = append(found, record)
		if len(found)%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return found, rows.Err()
}

// put inserts a record whose version is 0 and otherwise updates the row that still has that version. It returns the new
// version. version points into record.
func put[R any](ctx context.Context, t *tx, tab *table[R], record *R, version *int64, id string) (int64, error) {
	attempt := "write " + tab.kind + " " + id
	if err := t.usable(ctx, attempt); err != nil {
		return 0, err
	}
	t.writes = append(t.writes, tab.kind)
	expected := *version
	*version++

	text, args := tab.texts().inserts, tab.fields(record)
	if expected != 0 {
		text, args = tab.texts().updates, append(args[tab.keys:len(args):len(args)], args[:tab.keys]...)
	}
	n, err := t.session.exec(text, args...)
	if err != nil {
		return 0, t.fail(explain(attempt, err))
	}
	if n == 0 {
		return 0, conflict(attempt, expected)
	}
	return expected + 1, nil
}

// conflict tells what stood in the way of a write that was made on version expected.
func conflict(attempt string, expected int64) error {
	if expected == 0 {
		return fmt.Errorf("%s: %w: it exists already; read it again and decide anew", attempt, engine.ErrConflict)
	}
	return fmt.Errorf("%s: %w: it is no longer at version %d; read it again and decide anew",
		attempt, engine.ErrConflict, expected)
}

// add inserts a record that has no version. ErrConflict when its key exists.
func add[R any](ctx context.Context, t *tx, tab *table[R], record *R, id string) error {
	attempt := "write " + tab.kind + " " + id
	if err := t.usable(ctx, attempt); err != nil {
		return err
	}
	t.writes = append(t.writes, tab.kind)
	n, err := t.session.exec(tab.texts().inserts, tab.fields(record)...)
	if err != nil {
		return t.fail(explain(attempt, err))
	}
	if n == 0 {
		return conflict(attempt, 0)
	}
	return nil
}

// returned runs a statement that answers with one number, or with nothing.
func (t *tx) returned(ctx context.Context, attempt, text string, args ...any) (n int64, found bool, err error) {
	if err := t.usable(ctx, attempt); err != nil {
		return 0, false, err
	}
	n, err = t.session.number(text, args...)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, t.fail(explain(attempt, err))
	}
	return n, true, nil
}
