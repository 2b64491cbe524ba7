package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"ferrox/engine"
	"ferrox/engine/process"
)

// shim is the hidden command that one worker runs under.
func (a *app) shim(spec string) int {
	ctx := context.Background()
	h := &shimHandler{app: a, spec: spec}
	err := process.Shim(ctx, spec, h.handle, h.carry)
	if err := errors.Join(err, h.close()); err != nil {
		fmt.Fprintln(a.stderr, "ferrox shim:", err)
		return engine.ExitFailed
	}
	return engine.ExitDone
}

// shimHandler carries a worker's requests to the store, and what is sent to its unit to the worker.
type shimHandler struct {
	app  *app
	spec string

	mu      sync.Mutex
	open    *opened
	carrier *engine.Carrier
}

func (h *shimHandler) handle(ctx context.Context, q engine.WorkerRequest) (engine.WorkerAnswer, error) {
	e, err := h.engine(ctx)
	if err != nil {
		return faultAnswer(err), err
	}
	answer, err := e.Answer(ctx, q)
	if err != nil {
		return faultAnswer(err), err
	}
	if q.ReplyTo != "" && answer.Exit == engine.ExitDone {
		_, err = h.carrier.Carry(ctx) // what was acknowledged waits no more, when the worker hears of it
	}
	if err != nil {
		e.Logger.Warn("bring the inbox up to date", "error", err) // the companion tries again
	}
	return answer, nil
}

// faultAnswer tells a worker of a fault by the code that every other command gives it.
func faultAnswer(err error) engine.WorkerAnswer {
	no := explain(err)
	body, marshalErr := json.Marshal(engine.ErrorView(no))
	if marshalErr != nil {
		return engine.WorkerAnswer{Exit: no.Exit, Text: no.Message}
	}
	return engine.WorkerAnswer{Exit: no.Exit, Text: no.Message, Error: string(body)}
}

func (h *shimHandler) engine(ctx context.Context) (*opened, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open != nil {
		return h.open, nil
	}
	spec, err := process.ReadSpec(h.spec)
	if err != nil {
		return nil, err
	}
	open, err := h.app.wire(ctx, spec.Store, "")
	if err != nil {
		return nil, err
	}
	h.open, h.carrier = open, engine.NewCarrier(open.Engine, spec.Token)
	return h.open, nil
}

// carry brings what is sent to the unit to the live worker: whenever the doorbell rings, and otherwise when somebody has committed
// since the last look. What fails is tried again.
func (h *shimHandler) carry(ctx context.Context, tell func()) {
	e, err := h.engine(ctx)
	for try := time.Second; err != nil; try = min(2*try, time.Minute) {
		fmt.Fprintln(h.app.stderr, "ferrox shim: open the state:", err)
		select {
		case <-time.After(try):
		case <-ctx.Done():
			return
		}
		e, err = h.engine(ctx)
	}
	err = hear(ctx, filepath.Join(e.Home, "bell"), e, func() error {
		news, err := h.carrier.Carry(ctx)
		if err != nil {
			e.Logger.Warn("bring the worker its mail", "error", err)
			return errLookAgain
		}
		if news {
			tell()
		}
		return nil
	})
	if err != nil {
		e.Logger.Warn("bring the worker its mail", "error", err)
	}
}

func (h *shimHandler) close() error {
	if h.open == nil {
		return nil
	}
	return h.open.close()
}
