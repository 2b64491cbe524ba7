package engine

import (
	"context"

	"ferrox/gates/coord"
	"ferrox/gates/halting"
	"ferrox/lanes"
)

// Planning is the .planning folder of the main checkout: run-log, halting and coordination state, which other tools read
// and the decision verbs share. Every call is whole or not at all, under the file's lock.
type Planning interface {
	// Log appends one line to the run-log.
	Log(ctx context.Context, e halting.Entry) error
	// Rescope asks rescope.check and counts an attempt that it allows.
	Rescope(ctx context.Context, maxAttempts int, q halting.RescopeQuery) (halting.RescopeDecision, error)
	// RescopeAttempts is how many attempts of an increment were counted.
	RescopeAttempts(ctx context.Context, increment string) (int, error)
	// Park records an increment whose person did not come in time.
	Park(ctx context.Context, p halting.Park) error
	// Migrations reads the numbers that were handed out; false when the project hands out none.
	Migrations(ctx context.Context, store string) (coord.Migrations, bool, error)
	// FileBacklog puts rows under "## Open" of a backlog file. A row whose id is there already is left alone.
	FileBacklog(ctx context.Context, path string, rows []BacklogRow) error
}

// ShipGate asks strength.merge-gate about a whole batch, with what ferrox measured in the place of the caller's word. A
// project that has not opted in passes. An answer that could not be had is an error, never a pass.
type ShipGate func(ctx context.Context, m Measured) ([]lanes.Reason, error)

// Measured is the evidence for the ship gate that ferrox has itself.
type Measured struct {
	Batch    lanes.BatchID
	Declared []string // changed files that a task of the batch owns
	Actual   []string // every file that the batch changes on the branch
}

// BacklogRow is work that was left out of a landing.
type BacklogRow struct {
	ID   string `json:"id"`
	From string `json:"from"` // the task
	Item string `json:"item"`
}
