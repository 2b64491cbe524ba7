package enginetest

import (
	"context"
	"fmt"

	"ferrox/engine"
	"ferrox/lanes"
)

// store is the real store as one process sees it, with everything that can go wrong, and with an audit of every commit.
type store struct{ p *proc }

func (s store) View(ctx context.Context, fn func(engine.Reader) error) error {
	if err := s.p.alive(); err != nil {
		return err
	}
	if s.p.w.looks.Add(1) > mostLooks {
		s.p.w.violate("%s %d goes round in circles: %d looks at one instant", s.p.role, s.p.self.PID, mostLooks)
		s.p.kill()
	}
	return s.p.db.View(ctx, func(r engine.Reader) error { return fn(reader{r, s.p.w}) })
}

func (s store) Update(ctx context.Context, fn func(engine.Tx) error) error {
	s.p.w.turns.wait(fmt.Sprintf("%s %d commit", s.p.role, s.p.self.PID))
	if err := s.p.alive(); err != nil {
		return err
	}
	if s.p.w.fault.strikes(s.p.role, faultLocked) {
		s.p.w.say("   the store is locked for %s %d", s.p.role, s.p.self.PID)
		s.p.broken.Store(true)
		return broken(faultLocked)
	}
	var a *audit
	err := s.p.db.Update(ctx, func(t engine.Tx) error {
		a = newAudit(t, s.p)
		if err := fn(a); err != nil {
			return err
		}
		if s.p.w.fault.strikes(s.p.role, faultFull) {
			s.p.w.say("   the disk is full for %s %d: %s", s.p.role, s.p.self.PID, a.name())
			s.p.broken.Store(true)
			return broken(faultFull)
		}
		if err := s.p.reach("before commit " + a.name()); err != nil {
			return err
		}
		a.finish(ctx)
		return nil
	})
	if err != nil {
		return err
	}
	return s.p.reach("after commit " + a.name())
}

func (s store) DataVersion(ctx context.Context) (int64, error) {
	if err := s.p.alive(); err != nil {
		return 0, err
	}
	return s.p.db.DataVersion(ctx)
}

func (store) Close() error { return nil }

// reader notes which task its reader works on.
type reader struct {
	engine.Reader
	w *world
}

func (r reader) Task(ctx context.Context, b lanes.BatchID, id lanes.TaskID) (lanes.Task, error) {
	r.w.turns.label(string(id))
	return r.Reader.Task(ctx, b, id)
}
