package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ferrox/engine"
	"ferrox/migrations"
)

// Update runs fn in one write transaction. Writers of this process wait for each other here, those of others at the file
// lock, each for as long as Options.Patience says. An Update inside an Update waits in vain.
func (s *Store) Update(ctx context.Context, fn func(engine.Tx) error) error {
	attempt := "write to " + s.path
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", attempt, err)
	}
	c, release, err := s.beginWriting(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", attempt, err)
	}
	free := func() {
		s.writer.put(c)
		release()
	}
	decided := false
	defer func() {
		if !decided {
			free()
		}
	}()
	t, err := s.decide(ctx, c, attempt, fn)
	if err != nil {
		return err
	}
	decided = true
	return durably(func() error {
		defer free()
		return s.commit(c, attempt, t)
	})
}

// beginWriting takes the writer and the file lock.
func (s *Store) beginWriting(ctx context.Context) (*session, func(), error) {
	patient, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()

	c, err := s.writer.take(patient)
	if err != nil {
		if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("%w: another writer of this process holds it for more than %v", engine.ErrBusy, s.patience)
		}
		return nil, nil, err
	}
	release, err := s.lock.acquire(ctx, s.patience)
	if err != nil {
		s.writer.put(c)
		return nil, nil, err
	}
	return c, release, nil
}

// decide runs fn in a transaction and leaves it open.
func (s *Store) decide(ctx context.Context, c *session, attempt string, fn func(engine.Tx) error) (*tx, error) {
	if _, err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return nil, explain(attempt, err)
	}
	if err := s.sameSchema(c); err != nil {
		return nil, fmt.Errorf("%s: %w", attempt, err)
	}
	t := &tx{reader: reader{session: c}}
	err := fn(t)
	t.done = true
	switch {
	case err != nil:
		return nil, err
	case t.fault != nil:
		return nil, t.fault
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: %w", attempt, ctx.Err())
	}
	return t, nil
}

// commit makes what was decided durable.
func (s *Store) commit(c *session, attempt string, t *tx) error {
	after := t.around()
	if _, err := c.exec("COMMIT"); err != nil {
		return explain(attempt, err)
	}
	after()
	s.cutLog(c)
	return nil
}

// sameSchema refuses to write when a newer program migrated the file while we had it open.
func (s *Store) sameSchema(c *session) error {
	v, err := c.number("PRAGMA user_version")
	if err != nil {
		return explain("read its schema", err)
	}
	if v == migrations.Latest {
		return nil
	}
	return mismatch(v)
}

// cutTime is how long a commit may wait for readers to let go of the write-ahead file.
const cutTime = 100 * time.Millisecond

// cutLog empties the write-ahead file once it is above its limit. SQLite does so by itself only when no reader happens to
// be in the way at the right moment, so a page that polls could let it grow for ever.
func (s *Store) cutLog(c *session) {
	size := s.logSize()
	if size < s.nextCut {
		return
	}
	// What cannot be done now is tried again when the file has grown by a quarter of the limit.
	s.nextCut = max(walLimit, size+walLimit/4)
	c.set("busy_timeout = %d", cutTime.Milliseconds())
	c.set("wal_checkpoint(%s)", "TRUNCATE")
	c.set("busy_timeout = %d", s.patience.Milliseconds())
	if s.logSize() < walLimit {
		s.nextCut = walLimit
	}
}
