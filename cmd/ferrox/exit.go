package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"ferrox/engine"
	"ferrox/engine/process"
	"ferrox/engine/sqlite"
)

// exitCode is a command that said everything and ends with a code of its own.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// usageError is a command line that does not say what to do.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// finish prints an error as people or scripts want it and returns the exit code.
func (a *app) finish(err error) int {
	var code exitCode
	if err == nil {
		return engine.ExitDone
	}
	if errors.As(err, &code) {
		return int(code)
	}
	no := explain(err)
	if errors.As(err, new(usageError)) && a.at != "" {
		no.Next = a.at + " --help"
	}
	if a.json {
		body, marshalErr := json.Marshal(engine.ErrorView(no))
		if marshalErr == nil {
			fmt.Fprintln(a.stderr, string(body))
			return no.Exit
		}
	}
	fmt.Fprintf(a.stderr, "ferrox: %s\n", clean(no.Message))
	for _, r := range no.Reasons {
		fmt.Fprintf(a.stderr, "  %s %s: %s\n", r.Code, clean(r.Ref), clean(r.Text))
	}
	if no.Next != "" {
		fmt.Fprintf(a.stderr, "try: %s\n", clean(no.Next))
	}
	return no.Exit
}

// explain gives every error a code, an exit code and a next step.
func explain(err error) *engine.Error {
	var no *engine.Error
	var usage usageError
	var lost *engine.LeaseLostError
	switch {
	case errors.As(err, &no):
		return no
	case errors.As(err, &usage):
		return &engine.Error{Exit: engine.ExitUsage, Code: "usage", Message: err.Error(), Next: "ferrox --help"}
	case errors.Is(err, process.ErrNotWorker):
		return &engine.Error{Exit: engine.ExitRefused, Code: "not-a-worker", Message: "only a worker that ferrox started may do this", Next: "run it inside a task's worker"}
	case errors.As(err, &lost):
		return &engine.Error{Exit: engine.ExitBusy, Code: "lease-lost", Message: err.Error(), Next: "ferrox status"}
	case errors.Is(err, engine.ErrNewerSchema):
		return &engine.Error{Exit: engine.ExitFailed, Code: "newer-database", Message: err.Error(), Next: "install the newer ferrox"}
	case errors.Is(err, engine.ErrOlderSchema):
		return &engine.Error{Exit: engine.ExitBusy, Code: "older-database", Message: err.Error(), Next: "end the engine of the older ferrox first"}
	case errors.Is(err, engine.ErrNotFound):
		return &engine.Error{Exit: engine.ExitNotFound, Code: "not-found", Message: err.Error(), Next: "ferrox status"}
	case errors.Is(err, engine.ErrBusy):
		return &engine.Error{Exit: engine.ExitFailed, Code: "store-busy", Message: err.Error(), Next: thenAgain(err, "try again")}
	case errors.Is(err, engine.ErrDisk):
		return &engine.Error{Exit: engine.ExitFailed, Code: "state-not-written", Message: err.Error(), Next: thenAgain(err, "")}
	case errors.Is(err, sqlite.ErrDamaged):
		return &engine.Error{Exit: engine.ExitFailed, Code: "database-damaged", Message: err.Error(), Next: "ferrox restore FILE"}
	case errors.Is(err, context.Canceled):
		return &engine.Error{Exit: engine.ExitFailed, Code: "interrupted", Message: "interrupted", Next: ""}
	}
	return &engine.Error{Exit: engine.ExitFailed, Code: "failed", Message: err.Error(), Next: thenAgain(err, "ferrox status")}
}

// thenAgain is what an error needs before the same is tried again, or another next step when it does not say.
func thenAgain(err error, other string) string {
	if first := engine.Mend(err); first != "" {
		return first + ", then try again"
	}
	return other
}
