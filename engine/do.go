package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"ferrox/lanes"
)

// Do has a command carried out: by the live engine, or, when there is none, by this process with the lease in its own
// hands. The same request id again gets the same answer.
func (e *Engine) Do(ctx context.Context, c Command) (Done, error) {
	b, err := e.BatchOf(ctx, c.Batch)
	if err != nil {
		return Done{}, err
	}
	c.Batch = b.ID
	id := "command/" + e.NewID()
	if c.RequestID != "" {
		id = requestKey(c.RequestID)
	}
	if err := e.ask(ctx, id, c); err != nil {
		return Done{}, err
	}
	for {
		done, answered, err := e.answerTo(ctx, id)
		if answered || err != nil {
			return done, err
		}
		err = e.doMyself(ctx, b.ID, id)
		var busy *Error
		if errors.As(err, &busy) && busy.Exit == ExitBusy {
			err = e.pauseForAnswer(ctx)
		}
		if err != nil {
			return Done{}, err
		}
	}
}

// ask stores a command. One that was stored before keeps its answer.
func (e *Engine) ask(ctx context.Context, id string, c Command) error {
	args, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return e.update(ctx, func(tx Tx) error {
		_, err := tx.Request(ctx, id)
		if !errors.Is(err, ErrNotFound) {
			return err
		}
		return tx.PutRequest(ctx, lanes.Request{ID: id, Verb: c.Verb, Batch: c.Batch, Args: string(args), CreatedAt: e.Clock.Now()})
	})
}

func (e *Engine) answerTo(ctx context.Context, id string) (done Done, answered bool, err error) {
	err = e.Store.View(ctx, func(r Reader) (err error) {
		answered, err = onceRaw(ctx, r, id, &done)
		return err
	})
	return done, answered, err
}

// doMyself takes the free repository, settles what an earlier engine left half-done, and carries the command out.
func (e *Engine) doMyself(ctx context.Context, b lanes.BatchID, id string) (err error) {
	o, err := e.own(ctx, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.release(ctx, "carried out a command")) }()
	r, err := o.newRunner(ctx, b, RunOptions{})
	if err != nil {
		return err
	}
	r.alone = true
	if err := r.settleAll(ctx); err != nil {
		return fmt.Errorf("recover batch %s: %w", b, err)
	}
	driving, leave := context.WithCancel(ctx)
	defer r.settle(leave)
	for ctx.Err() == nil {
		s, err := r.glance(ctx)
		if err == nil && len(s.requests) == 0 {
			return r.restAfterCommand(ctx, s)
		}
		if err == nil {
			err = r.performAll(driving, s.requests)
		}
		if err != nil && !errors.Is(err, ErrConflict) {
			return err
		}
	}
	return ctx.Err()
}

// restAfterCommand finishes a pause that no engine is there to finish.
func (r *runner) restAfterCommand(ctx context.Context, s snapshot) error {
	if !s.batch.Pausing {
		return nil
	}
	_, err := r.pause(ctx, s.batch.Cause)
	return err
}

// pauseForAnswer waits a moment for the live engine.
func (e *Engine) pauseForAnswer(ctx context.Context) error {
	fire, stop := e.Clock.After(answerPoll)
	defer stop()
	select {
	case <-fire:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the engine's answer: %w; the command is stored and will be carried out: look with ferrox status", ctx.Err())
	}
}
