package engine

import (
	"context"
	"errors"
	"time"

	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/mailbox"
)

// Errors that every store reports in the same way. Test with errors.Is.
var (
	// ErrNotFound: no row with that id.
	ErrNotFound = errors.New("not found")
	// ErrConflict: the row's version is no longer the one that the decision was made on.
	ErrConflict = errors.New("changed by someone else")
	// ErrBusy: another process held the write lock past the deadline. The message names it.
	ErrBusy = errors.New("store is busy")
	// ErrNewerSchema: the database was written by a newer ferrox. Nothing was changed.
	ErrNewerSchema = errors.New("database is from a newer ferrox")
	// ErrOlderSchema: the database needs a migration, which only a start without a live engine does.
	ErrOlderSchema = errors.New("database needs a migration")
	// ErrDisk: the disk is full, read-only or broken. Nothing was acknowledged.
	ErrDisk = errors.New("state cannot be written")
)

// Store keeps every record. It holds facts only: no method is named after a decision.
type Store interface {
	// View runs fn on one consistent snapshot.
	View(ctx context.Context, fn func(Reader) error) error
	// Update runs fn in one write transaction, begun immediately, and commits it durably (flushed to disk) if fn returns
	// nil. If fn or the commit fails, nothing of it is left. fn may be called once only.
	Update(ctx context.Context, fn func(Tx) error) error
	// DataVersion changes when another connection or process has committed. It is cheap: no lock, no snapshot.
	DataVersion(ctx context.Context) (int64, error)
	Close() error
}

// Reader reads records. A single row that is not there is ErrNotFound; a list that is empty is no error.
type Reader interface {
	Batch(ctx context.Context, id lanes.BatchID) (lanes.Batch, error)
	// Batches lists all of them, newest first.
	Batches(ctx context.Context) ([]lanes.Batch, error)
	Task(ctx context.Context, batch lanes.BatchID, id lanes.TaskID) (lanes.Task, error)
	// Tasks lists a batch's tasks in their order of discovery.
	Tasks(ctx context.Context, batch lanes.BatchID) ([]lanes.Task, error)
	// TasksIn lists a batch's tasks that are in one of the states, in their order of discovery. Tasks in other states cost
	// nothing.
	TasksIn(ctx context.Context, batch lanes.BatchID, states ...lanes.TaskState) ([]lanes.Task, error)
	// TaskPaths lists the packet folders of a batch's tasks.
	TaskPaths(ctx context.Context, batch lanes.BatchID) ([]string, error)
	// CountTasks counts a batch's tasks by state.
	CountTasks(ctx context.Context, batch lanes.BatchID) (map[lanes.TaskState]int, error)
	// HoldsSlot reports whether a held task of the batch has a lane that is not parked, or none.
	HoldsSlot(ctx context.Context, batch lanes.BatchID) (bool, error)
	Lane(ctx context.Context, batch lanes.BatchID, n lanes.Number) (lanes.Lane, error)
	Lanes(ctx context.Context, batch lanes.BatchID) ([]lanes.Lane, error)
	// LanesAfter lists a batch's lanes with a higher number than after, in rising order, at most limit.
	LanesAfter(ctx context.Context, batch lanes.BatchID, after lanes.Number, limit int) ([]lanes.Lane, error)
	Run(ctx context.Context, id lanes.RunID) (lanes.Run, error)
	// Runs lists runs, oldest first.
	Runs(ctx context.Context, f RunFilter) ([]lanes.Run, error)
	Hold(ctx context.Context, id lanes.HoldID) (hold.Record, error)
	// Holds lists holds, oldest first.
	Holds(ctx context.Context, f HoldFilter) ([]hold.Record, error)
	// NextDeadlines lists the open holds of a batch that have not expired by their deadline, the earliest first, at most limit.
	NextDeadlines(ctx context.Context, batch lanes.BatchID, limit int) ([]hold.Record, error)
	// OldestQuiet returns the open hold of a batch that was opened first of those whose lane is held, or ErrNotFound.
	OldestQuiet(ctx context.Context, batch lanes.BatchID) (hold.Record, error)
	Message(ctx context.Context, id lanes.MessageID) (mailbox.Message, error)
	// Messages lists messages, oldest first.
	Messages(ctx context.Context, f MessageFilter) ([]mailbox.Message, error)
	// Events lists events in ascending Seq.
	Events(ctx context.Context, f EventFilter) ([]lanes.Event, error)
	// Effects lists effects of a batch in the order in which they were added; pendingOnly leaves settled ones out.
	Effects(ctx context.Context, batch lanes.BatchID, pendingOnly bool) ([]lanes.Effect, error)
	// EffectsOf lists effects of a batch that are of one kind, settled or not, in the order in which they were added.
	EffectsOf(ctx context.Context, batch lanes.BatchID, kind lanes.EffectKind) ([]lanes.Effect, error)
	// Effect returns one effect by key.
	Effect(ctx context.Context, key string) (lanes.Effect, error)
	// Lease returns the last lease taken, or ErrNotFound when none ever was.
	Lease(ctx context.Context) (lanes.Lease, error)
	Request(ctx context.Context, id string) (lanes.Request, error)
	// PendingRequests lists requests that wait for an engine, oldest first.
	PendingRequests(ctx context.Context) ([]lanes.Request, error)
	// Supervisors lists the recorded `ferrox supervise` processes.
	Supervisors(ctx context.Context) ([]lanes.Identity, error)
}

// Tx reads and writes inside one transaction.
//
// Put methods insert when the record's Version is 0 and otherwise update the row only if its stored version still is
// Version (else ErrConflict); the stored version is then Version+1. A Put with Version 0 on a key that exists is
// ErrConflict. They return the new version.
type Tx interface {
	Reader
	PutBatch(ctx context.Context, b lanes.Batch) (int64, error)
	PutTask(ctx context.Context, t lanes.Task) (int64, error)
	PutLane(ctx context.Context, l lanes.Lane) (int64, error)
	PutRun(ctx context.Context, r lanes.Run) (int64, error)
	PutHold(ctx context.Context, h hold.Record) (int64, error)
	// AddMessage inserts; an id that exists is ErrConflict. Messages never change.
	AddMessage(ctx context.Context, m mailbox.Message) error
	// AppendEvent inserts an event and returns its sequence number. e.Seq is ignored.
	AppendEvent(ctx context.Context, e lanes.Event) (int64, error)
	// AddEffect inserts a pending effect; a key that exists is ErrConflict.
	AddEffect(ctx context.Context, e lanes.Effect) error
	// SettleEffect marks a pending effect. Settling it again in the same way is no error; in another way is ErrConflict.
	SettleEffect(ctx context.Context, key string, state lanes.EffectState, outcome string, at time.Time) error
	// TakeLease stores a lease whose Fence is one more than the last one's and returns it. l.Fence is ignored.
	TakeLease(ctx context.Context, l lanes.Lease) (lanes.Lease, error)
	// EndLease records the end of the lease with that fencing number; another number is ErrConflict.
	EndLease(ctx context.Context, fence int64, at time.Time, reason string) error
	// PutRequest inserts a request, or completes one that is not done. A done one is ErrConflict.
	PutRequest(ctx context.Context, r lanes.Request) error
	// AddSupervisor records a `ferrox supervise` process.
	AddSupervisor(ctx context.Context, i lanes.Identity, at time.Time) error
}

// RunFilter picks runs. Zero fields do not restrict.
type RunFilter struct {
	Batch  lanes.BatchID
	Task   lanes.TaskID
	Lane   lanes.Number
	States []lanes.RunState
	Shims  []int // pids of their shims
	Token  string
}

// HoldFilter picks holds. Zero fields do not restrict.
type HoldFilter struct {
	Batch      lanes.BatchID
	Task       lanes.TaskID
	Unresolved bool   // only open ones, or released ones that are not acknowledged
	Prefix     string // ids that start with it
	Ruling     lanes.MessageID
	Ruled      bool // only those with a ruling
}

// MessageFilter picks messages. Zero fields do not restrict.
type MessageFilter struct {
	Batch   lanes.BatchID
	Task    lanes.TaskID
	Types   []mailbox.Type
	ReplyTo string
	Prefix  string
}

// EventFilter picks events. Zero fields do not restrict.
type EventFilter struct {
	Batch lanes.BatchID
	Task  lanes.TaskID
	Names []string
	After int64 // only Seq > After
	Limit int   // the newest Limit ones, still in ascending order; 0 is all
}
