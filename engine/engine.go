package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/oklog/ulid/v2"

	"ferrox/lanes"
)

// Engine is one repository's ferrox, seen from one process. Commands that read or change state use it as it is; a
// process that owns the repository runs a batch with it (Run).
type Engine struct {
	Store      Store
	Git        Git
	Workers    Workers
	Planning   Planning
	Signatures Signatures
	ShipGate   ShipGate
	Watch      Watcher // in an engine; it hears the doorbell too
	Clock      Clock
	Lock       Lock           // who may run as the engine
	Self       lanes.Identity // this process
	Home       string         // absolute folder of ferrox's state: <git common dir>/ferrox
	Root       string         // absolute top level of the main checkout
	Exe        string         // absolute path of the program, first in the workers' PATH
	Env        []string       // the caller's environment, which workers get scrubbed
	Limit      time.Duration  // how long one command of the settings (setup, verify) may take
	User       string         // who to name in messages; proves nothing
	NewID      func() string  // fresh sortable ids
	Ring       func()         // wakes a live engine; never fails a command
	Logger     *slog.Logger
	OnEvent    func(lanes.Event) // called for every event of the batch that runs, after its commit
}

// Lock is the kernel's file lock on the repository: one engine at a time, gone with its process.
type Lock interface {
	// TryLock takes the lock; false when another process has it.
	TryLock() (bool, error)
	Unlock() error
	// Held reports whether any process has it, without taking it for longer than a moment.
	Held() (bool, error)
}

// NewID returns a fresh id: 26 characters, sortable by the time of making, random enough never to meet again.
func NewID() string { return ulid.MustNew(ulid.Now(), rand.Reader).String() }

// update commits one decision.
func (e *Engine) update(ctx context.Context, fn func(Tx) error) error {
	err := e.Store.Update(context.WithoutCancel(ctx), fn)
	if err == nil && e.Ring != nil {
		e.Ring()
	}
	return err
}

// event fills what every event has in common.
func (e *Engine) event(ctx context.Context, tx Tx, ev lanes.Event) error {
	if ev.At.IsZero() {
		ev.At = e.Clock.Now()
	}
	if _, err := tx.AppendEvent(ctx, ev); err != nil {
		return fmt.Errorf("record %s: %w", ev.Name, err)
	}
	return nil
}

func (e *Engine) runDir(batch lanes.BatchID, run lanes.RunID) string {
	return filepath.Join(e.Home, "runs", string(batch), string(run))
}

func (e *Engine) laneLock(batch lanes.BatchID, n lanes.Number) string {
	return filepath.Join(e.Home, "runs", string(batch), fmt.Sprintf("lane-%d.lock", n))
}

func (e *Engine) refusedDir(batch lanes.BatchID) string {
	return filepath.Join(e.Home, "refused", string(batch))
}

// fatal reports whether an error means that the engine can no longer be trusted to go on: its state cannot be written,
// or another engine owns the repository.
func fatal(err error) bool {
	var lost *LeaseLostError
	return errors.Is(err, ErrDisk) || errors.Is(err, ErrBusy) || errors.As(err, &lost)
}

// LeaseLostError says that another engine has taken the repository: this one may write nothing any more.
type LeaseLostError struct{ Mine, Now int64 }

func (e *LeaseLostError) Error() string {
	return fmt.Sprintf("another engine owns this repository (fencing number %d, ours was %d)", e.Now, e.Mine)
}

// Exit codes of the outside contract.
const (
	ExitDone     = 0
	ExitFailed   = 1
	ExitUsage    = 2
	ExitParked   = 3
	ExitRefused  = 4
	ExitNotFound = 5
	ExitBusy     = 6
	ExitGuard    = 42
)

// Error is a refusal or a fault as people and scripts see it: what, why, and the next command.
type Error struct {
	Exit    int
	Code    string
	Message string
	Next    string
	Reasons []lanes.Reason
}

func (e *Error) Error() string { return e.Message }

func refuse(exit int, code, next, format string, args ...any) *Error {
	return &Error{Exit: exit, Code: code, Next: next, Message: fmt.Sprintf(format, args...)}
}

// deadline is the longest that the engine waits for anything that should be quick.
const deadline = 30 * time.Second

// answerPoll is how often a command looks for the live engine's answer.
const answerPoll = 20 * time.Millisecond
