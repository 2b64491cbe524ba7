package engine

import (
	"context"
	"errors"
	"time"

	"ferrox/lanes"
)

// ErrLaneBusy: another shim holds the lane's lock: a worker may be alive in it.
var ErrLaneBusy = errors.New("another worker runs in this lane")

// WorkerSpec is everything that a shim needs to run one worker.
type WorkerSpec struct {
	Run         lanes.RunID   `json:"run"`
	Dir         string        `json:"dir"`          // absolute folder of the run
	LaneLock    string        `json:"lane_lock"`    // absolute file; the shim holds a kernel lock on it while it lives
	Argv        []string      `json:"argv"`         // the command; the first word is looked up in the worker's PATH
	Cwd         string        `json:"cwd"`          // the lane's worktree
	Env         []string      `json:"env"`          // the whole environment of the worker
	Prompt      string        `json:"prompt"`       // absolute file that becomes standard input
	Socket      string        `json:"socket"`       // path of the shim's socket
	Spool       string        `json:"spool"`        // folder in the lane for sandboxes that forbid sockets
	Token       string        `json:"token"`        // what requests must carry
	FinishGrace time.Duration `json:"finish_grace"` // from the command's own exit until the rest of its tree is ended
	KillGrace   time.Duration `json:"kill_grace"`   // from TERM to KILL
	OutputLimit int64         `json:"output_limit"` // bytes of output kept on disk: the first part and the newest part
	Store       string        `json:"store"`        // state directory, for the handler of worker requests
}

// WorkerExit is how a run ended: the whole tree is gone.
type WorkerExit struct {
	Code       int       `json:"code"`    // -1 when the command did not exit by itself
	Signal     string    `json:"signal"`  // "SIGKILL"; empty when it exited
	Failure    string    `json:"failure"` // why the command could not be started; Code is then 127 or 126
	EndedAt    time.Time `json:"ended_at"`
	Ended      []string  `json:"ended"`      // processes that had to be ended, "pid name"
	Terminated bool      `json:"terminated"` // the shim was told to end the tree
	Tail       string    `json:"tail"`       // last bytes of its output, for the record
	Lost       bool      `json:"lost"`       // the shim died without leaving a record
}

// Workers starts, finds again and ends shims.
type Workers interface {
	// Start runs a shim, detached from this process, and returns when it has recorded its identity in the run's folder
	// (it may not have started the command yet). ErrLaneBusy when the lane's lock is held.
	Start(ctx context.Context, s WorkerSpec) (lanes.Identity, error)
	// Find reads the identity that a shim recorded in a run's folder; false when it never got that far.
	Find(dir string) (lanes.Identity, bool)
	// Bar makes sure that a run which was never started never is: a shim that is still on its way finds an exit record, and
	// leaves without having started a worker. It reports false when a shim has recorded itself, or is just about to.
	Bar(dir, laneLock string) (bool, error)
	// Record reads the exit record of a run; false when there is none (yet). One without a shim is that of a barred run.
	Record(dir string) (WorkerExit, bool)
	// Alive reports whether that very process is alive.
	Alive(id lanes.Identity) bool
	// Age is how long that very process has lived, by a clock that nobody sets; false when it is gone.
	Age(id lanes.Identity) (time.Duration, bool)
	// Wait returns when the shim is gone, with the exit record it left; Lost is set when it left none.
	Wait(ctx context.Context, id lanes.Identity, dir string) (WorkerExit, error)
	// Terminate tells a shim to end its tree (TERM, then KILL). It does not wait.
	Terminate(id lanes.Identity) error
	// Sweep kills and, where it can, reaps processes that carry the token in their environment, and returns them. It is
	// for shims that were killed themselves.
	Sweep(ctx context.Context, token string) ([]string, error)
	// ReapOrphans buries dead processes that fell to this one because their parents are gone. Call it now and then.
	ReapOrphans() (int, error)
	// LastOutput is when a run's worker last printed something; zero when it never did.
	LastOutput(dir string) time.Time
	// Command runs a short command of ours (set-up, verification) to its end in dir and returns the last part of its output.
	// A command that does not exit with 0 is an error. Its process tree ends with ctx.
	Command(ctx context.Context, dir string, argv, env []string) (output string, err error)
	// DrainSpool hands every request left in a run's spool folder to fn, oldest first, and removes it once fn returned nil.
	DrainSpool(ctx context.Context, spool, token string, fn func(WorkerRequest) (WorkerAnswer, error)) error
}

// WorkerRequest is what a worker asks of its shim.
type WorkerRequest struct {
	ID      string `json:"id"`    // chosen by the client; the same id again gives the same answer
	Token   string `json:"token"` //
	Verb    string `json:"verb"`  // escalate, notify, ack, inbox
	Gate    string `json:"gate,omitempty"`
	Reserve string `json:"reserve,omitempty"`
	ReplyTo string `json:"reply_to,omitempty"`
	Text    string `json:"text,omitempty"`
	Signal  string `json:"signal,omitempty"` // inbox: what the worker's own process gets whenever something comes
}

// WorkerAnswer is what the shim answers, after the store has committed.
type WorkerAnswer struct {
	Exit   int    `json:"exit"`   // exit code for the client
	Result string `json:"result"` // JSON value for standard output
	Text   string `json:"text"`   // the same for people, one line
	Error  string `json:"error"`  // JSON error object; empty when Exit is 0
}

// Watcher turns file events into "look again". Events may be lost, doubled or late; nobody depends on them alone.
type Watcher interface {
	// Watch adds folders whose direct entries matter and reports their names on Changed. A folder that is not there yet,
	// or is replaced, is picked up through its parent. Watching twice is harmless.
	Watch(dir string) error
	Unwatch(dir string)
	// Changed delivers the folder in which something may have changed, coalesced; "" means any of them (overflow).
	Changed() <-chan string
	Close() error
}

// Clock tells the time. Decisions read it once.
type Clock interface {
	// Now is the wall clock, UTC, whole microseconds, without a monotonic part.
	Now() time.Time
	// Monotonic is the time since some fixed instant that does not jump with the wall clock.
	Monotonic() time.Duration
	// After fires once d has passed; stop releases it.
	After(d time.Duration) (fire <-chan time.Time, stop func())
}
