package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ferrox/lanes"
)

// owner is an engine that has taken the repository: the kernel's lock, and a lease whose fencing number every write
// checks.
type owner struct {
	*Engine
	lease lanes.Lease
}

// own takes the repository for batch, or refuses naming who has it.
func (e *Engine) own(ctx context.Context, batch lanes.BatchID) (*owner, error) {
	if !e.Self.Known() {
		return nil, refuse(ExitFailed, "unknown-process", "mount /proc of this pid namespace", "own the repository: this process cannot tell who it is, so nobody could tell later whether it lives")
	}
	ok, err := e.takeLock(ctx)
	if err != nil {
		return nil, fmt.Errorf("take the engine lock: %w", err)
	}
	if !ok {
		return nil, e.busy(ctx)
	}
	o := &owner{Engine: e}
	err = e.Store.Update(ctx, func(tx Tx) error {
		var err error
		o.lease, err = tx.TakeLease(ctx, lanes.Lease{Owner: e.Self, Batch: batch, TakenAt: e.Clock.Now()})
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("take the engine lease: %w", err), e.Lock.Unlock())
	}
	return o, nil
}

// lockTries and lockPause bound the wait for a lock that a dead engine left: a process that it was just starting has the
// lock's file too, until it runs its own program.
const (
	lockTries = 40
	lockPause = 50 * time.Millisecond
)

// takeLock takes the kernel's lock. It waits only for what is left of an engine that is dead.
func (e *Engine) takeLock(ctx context.Context) (bool, error) {
	for try := 1; ; try++ {
		ok, err := e.Lock.TryLock()
		if ok || err != nil || try == lockTries || !e.ownerDead(ctx) {
			return ok, err
		}
		fire, stop := e.Clock.After(lockPause)
		select {
		case <-fire:
		case <-ctx.Done():
			stop()
			return false, ctx.Err()
		}
	}
}

// ownerDead reports whether the last lease was taken by a process that has not ended it and is gone.
func (e *Engine) ownerDead(ctx context.Context) bool {
	var l lanes.Lease
	err := e.Store.View(ctx, func(r Reader) (err error) {
		l, err = r.Lease(ctx)
		return err
	})
	return err == nil && l.EndedAt.IsZero() && l.Owner.Known() && !e.Workers.Alive(l.Owner)
}

func (e *Engine) busy(ctx context.Context) error {
	who := "another engine"
	_ = e.Store.View(ctx, func(r Reader) error {
		l, err := r.Lease(ctx)
		if err == nil {
			who = fmt.Sprintf("engine %d (batch %s, since %s)", l.Owner.PID, l.Batch, l.TakenAt.Format("15:04:05Z"))
		}
		return err
	})
	return refuse(ExitBusy, "busy", "ferrox status", "%s owns this repository", who)
}

// release gives the repository back. The recorded end wins over a pid that is alive again.
func (o *owner) release(ctx context.Context, why string) error {
	ctx = context.WithoutCancel(ctx)
	err := o.Store.Update(ctx, func(tx Tx) error {
		return tx.EndLease(ctx, o.lease.Fence, o.Clock.Now(), why)
	})
	if errors.Is(err, ErrConflict) {
		err = nil // another engine took it over; its record stands
	}
	return errors.Join(err, o.Lock.Unlock())
}

// update commits one decision of the engine, if the repository still is its own.
func (o *owner) update(ctx context.Context, fn func(Tx) error) error {
	return o.Store.Update(context.WithoutCancel(ctx), func(tx Tx) error {
		l, err := tx.Lease(ctx)
		if err != nil {
			return fmt.Errorf("read the lease: %w", err)
		}
		if o.fenced(l) {
			return &LeaseLostError{Mine: o.lease.Fence, Now: l.Fence}
		}
		return fn(tx)
	})
}

// EngineState says whether an engine owns the repository.
type EngineState struct {
	State string `json:"state"` // alive, exited, dead or none
	PID   int    `json:"pid,omitempty"`
}

// EngineState looks at the lock and the last lease. Only the lock says "alive".
func (e *Engine) EngineState(ctx context.Context, batch lanes.BatchID) (EngineState, error) {
	var l lanes.Lease
	err := e.Store.View(ctx, func(r Reader) (err error) {
		l, err = r.Lease(ctx)
		return err
	})
	if errors.Is(err, ErrNotFound) || err == nil && batch != "" && l.Batch != batch {
		return EngineState{State: "none"}, nil
	}
	if err != nil {
		return EngineState{}, err
	}
	held, err := e.Lock.Held()
	switch {
	case err != nil:
		return EngineState{}, fmt.Errorf("look at the engine lock: %w", err)
	case held && l.EndedAt.IsZero():
		return EngineState{State: "alive", PID: l.Owner.PID}, nil
	case !l.EndedAt.IsZero():
		return EngineState{State: "exited", PID: l.Owner.PID}, nil
	}
	return EngineState{State: "dead", PID: l.Owner.PID}, nil
}
