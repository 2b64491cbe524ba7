package sqlite

import (
	"context"
	"database/sql"
	"sync"
)

// pool lends out sessions, up to a number at once. It opens one only when none is idle, so that a short-lived command
// pays for what it uses.
type pool struct {
	db    *sql.DB
	slots chan struct{} // one token for every session that may be out

	mu   sync.Mutex
	idle []*session

	closed  chan struct{}
	closing sync.Once
}

func newPool(db *sql.DB, size int) *pool {
	db.SetMaxOpenConns(size)
	p := &pool{db: db, slots: make(chan struct{}, size), closed: make(chan struct{})}
	for range size {
		p.slots <- struct{}{}
	}
	return p
}

// take lends a session, waiting for one if all are out. The caller gives it back with put.
func (p *pool) take(ctx context.Context) (*session, error) {
	select {
	case <-p.closed:
		return nil, ErrClosed
	default:
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case <-p.slots:
	case <-p.closed:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if c := p.pop(); c != nil {
		return c, nil
	}
	c, err := dial(ctx, p.db)
	if err != nil {
		p.slots <- struct{}{}
		return nil, explain("open a connection", err)
	}
	return c, nil
}

func (p *pool) pop() *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	c := p.idle[n-1]
	p.idle = p.idle[:n-1]
	return c
}

// put takes a session back after ending what is open in it. One that cannot be brought to rest is thrown away.
func (p *pool) put(c *session) {
	if !c.idle() {
		_, _ = c.exec("ROLLBACK")
	}
	if c.idle() {
		p.mu.Lock()
		p.idle = append(p.idle, c)
		p.mu.Unlock()
	} else {
		_ = c.close()
	}
	p.slots <- struct{}{}
}

// close waits for every session to come back and closes them all. Closing again does nothing.
func (p *pool) close() error {
	var err error
	p.closing.Do(func() {
		close(p.closed)
		for range cap(p.slots) {
			<-p.slots
		}
		for _, c := range p.idle {
			_ = c.close()
		}
		err = p.db.Close()
	})
	return err
}
