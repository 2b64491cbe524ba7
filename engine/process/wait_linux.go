package process

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"ferrox/engine"
	"ferrox/lanes"
)

// Find implements engine.Workers.
func (r *Runner) Find(dir string) (lanes.Identity, bool) {
	rec, ok := ReadShim(dir)
	return rec.Identity, ok
}

// Alive implements engine.Workers.
func (r *Runner) Alive(id lanes.Identity) bool { return alive(id) }

// Age implements engine.Workers.
func (r *Runner) Age(id lanes.Identity) (time.Duration, bool) { return age(id) }

// Wait implements engine.Workers. The shim need not be a child of this process.
func (r *Runner) Wait(ctx context.Context, id lanes.Identity, dir string) (engine.WorkerExit, error) {
	err := waitGone(ctx, id)
	if err == nil && elsewhere(id) {
		err = askLane(dir)
	}
	if err != nil {
		return engine.WorkerExit{}, fmt.Errorf("wait for shim %d: %w", id.PID, err)
	}
	exit, found, err := readExit(dir)
	if err != nil {
		return engine.WorkerExit{}, err
	}
	if !found {
		return engine.WorkerExit{Code: -1, EndedAt: now(), Lost: true}, nil
	}
	return exit, nil
}

// waitGone returns nil once that very process has ended.
func waitGone(ctx context.Context, id lanes.Identity) error {
	g, err := grabIdentity(id)
	if errors.Is(err, errGone) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(g.wait(ctx), g.close())
}

// askLane is for shims whose process can't be seen from here: who lives holds the lane's lock.
func askLane(dir string) error {
	var spec engine.WorkerSpec
	if err := readJSON(filepath.Join(dir, specFile), &spec); err != nil {
		return err
	}
	l, err := lockLane(spec.LaneLock)
	if errors.Is(err, engine.ErrLaneBusy) {
		return fmt.Errorf("%w, in another pid namespace; continue the batch there", err)
	}
	if err != nil {
		return err
	}
	return l.Close()
}

// Terminate implements engine.Workers. A shim that is gone already is no error.
func (r *Runner) Terminate(id lanes.Identity) error {
	g, err := grabIdentity(id)
	if err == nil {
		err = errors.Join(g.signal(unix.SIGTERM), g.close())
	}
	if err != nil && !errors.Is(err, errGone) {
		return fmt.Errorf("terminate shim %d: %w", id.PID, err)
	}
	return nil
}

// DrainSpool implements engine.Workers. A request with another token is answered as such and never reaches fn.
func (r *Runner) DrainSpool(ctx context.Context, spool, token string, fn func(engine.WorkerRequest) (engine.WorkerAnswer, error)) error {
	d := newDesk(token, func(_ context.Context, req engine.WorkerRequest) (engine.WorkerAnswer, error) { return fn(req) })
	if err := serveSpool(ctx, spool, d, true); err != nil {
		return fmt.Errorf("drain spool: %w", err)
	}
	clearSpool(spool)
	return nil
}

// now is the wall clock as records carry it.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
