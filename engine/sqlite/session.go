package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	sqlite3 "github.com/mattn/go-sqlite3"
)

// session is one connection of our own with its prepared statements. It serves one transaction at a time.
//
// Statements run without the caller's context: the driver would start a goroutine for each of them to watch it, and an
// interrupt in the middle of a transaction may roll it back behind our back. The context is looked at between statements
// and rows instead, which are short.
type session struct {
	conn       *sql.Conn
	statements map[string]*sql.Stmt
	traced     func(text string, args []any) // benchmarks record what runs; nil otherwise
}

// dial opens a session on a database handle.
func dial(ctx context.Context, db *sql.DB) (*session, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &session{conn: conn, statements: make(map[string]*sql.Stmt)}, nil
}

// prepared returns the statement for a text, prepared on first use. Texts are few: they come from the code alone.
func (s *session) prepared(text string) (*sql.Stmt, error) {
	if st, ok := s.statements[text]; ok {
		return st, nil
	}
	st, err := s.conn.PrepareContext(context.Background(), text)
	if err != nil {
		return nil, err
	}
	s.statements[text] = st
	return st, nil
}

// trace tells a benchmark what is about to run.
func (s *session) trace(text string, args []any) {
	if s.traced != nil {
		s.traced(text, args)
	}
}

// exec runs a statement and returns how many rows it changed.
func (s *session) exec(text string, args ...any) (int64, error) {
	s.trace(text, args)
	st, err := s.prepared(text)
	if err != nil {
		return 0, err
	}
	res, err := st.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// query runs a statement that answers with rows. The caller closes them before the next statement.
func (s *session) query(text string, args ...any) (*sql.Rows, error) {
	s.trace(text, args)
	st, err := s.prepared(text)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(context.Background(), args...)
}

// number runs a statement that answers with one number.
func (s *session) number(text string, args ...any) (int64, error) {
	s.trace(text, args)
	st, err := s.prepared(text)
	if err != nil {
		return 0, err
	}
	var n int64
	return n, st.QueryRowContext(context.Background(), args...).Scan(&n)
}

// set runs a PRAGMA whose answer nobody needs. It is a query all the same: the driver leaves a statement that answers
// unfinished when it is merely executed. What cannot be set stays as it is.
func (s *session) set(format string, value any) {
	rows, err := s.query(fmt.Sprintf("PRAGMA "+format, value))
	if err == nil {
		_ = rows.Close()
	}
}

// raw hands the driver's connection to fn.
func (s *session) raw(fn func(*sqlite3.SQLiteConn) error) error {
	return s.conn.Raw(func(c any) error {
		raw, ok := c.(*sqlite3.SQLiteConn)
		if !ok {
			return fmt.Errorf("driver connection is a %T", c)
		}
		return fn(raw)
	})
}

// idle reports whether no transaction is open.
func (s *session) idle() bool {
	var idle bool
	err := s.raw(func(c *sqlite3.SQLiteConn) error {
		idle = c.AutoCommit()
		return nil
	})
	return err == nil && idle
}

// close ends the statements and the connection.
func (s *session) close() error {
	var errs []error
	for _, st := range s.statements {
		errs = append(errs, st.Close())
	}
	return errors.Join(append(errs, s.conn.Close())...)
}
