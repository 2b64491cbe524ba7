package lanes

import "time"

// Batch is one run of the orchestrator over a set of tasks, as stored.
type Batch struct {
	ID             BatchID
	Phase          Phase
	Cause          Cause  // why it is paused; empty unless Phase is paused or Pausing is set
	Why            string // what the person who paused, took over or aborted wrote
	Pausing        bool   // a pause was asked for and lanes are on their way to their safe point
	Base           Commit // where the batch started
	BaseRef        string // what was asked for, "HEAD" by default
	Integration    string // branch name, "ferrox/<batch>/integration"
	Head           Commit // the integration head that ferrox recorded last
	LaneLimit      int    // lanes that may count at once
	LanesDir       string // absolute folder of this batch's worktrees
	Worker         string // preset name
	HoldTimeout    time.Duration
	ReviewLevel    *int   // --review-level, recorded in the merge trailers; nil when not given
	Settings       string // the settings file as frozen at the start; "" when there was none
	SettingsDigest string // sha256, hex
	Signers        string // the allowed-signers file as frozen at the start; "" when there was none
	SignersDigest  string // sha256 of it, "" when there was none
	CreatedAt      time.Time
	EndedAt        time.Time // zero until the batch ended
	Version        int64     // compare-and-set
}

// Task is one packet inside a batch, as stored.
type Task struct {
	Batch       BatchID
	ID          TaskID
	Seq         int // order of discovery, from 0
	Title       string
	Size        string // S, M or L
	Path        string // the packet folder, slash-separated, relative to the repository root
	DependsOn   []TaskID
	Scoped      bool     // the packet has a File Scope section
	Scope       []string // its entries: paths and globs, relative to the repository root
	ReviewLevel int
	Gates       []GateFact // verdicts that stood in the base commit
	Finished    bool       // a .DONE stood in the base commit: satisfies dependants, never runs

	State      TaskState
	Lane       Number
	Iteration  int // runs started so far, whatever they did
	Spent      int // runs that count against max_iterations (runs that opened a hold do not)
	NoProgress int // runs in a row that did nothing
	StepsDone  int
	StepsTotal int
	Boxes      int    // ticked boxes seen at the end of the last run
	Empty      bool   // landed without a commit of its own
	Authorized Commit // the lane head that the predicate examined
	Merge      Commit // the merge commit
	Reasons    []Reason
	Feedback   string    // what heads the worker's next prompt: why its claim was refused, what a conflict names
	RetryAt    time.Time // back-off: no run before this instant
	StartedAt  time.Time
	EndedAt    time.Time
	Version    int64
}

// GateFact is the latest verdict of one review gate, read from a commit.
type GateFact struct {
	Gate     string // "code-step5"
	Verdict  string // APPROVE, REVISE, RETHINK or UNKNOWN
	File     string // the verdict file
	Readable bool
}

// Lane is one worktree and one branch, as stored.
type Lane struct {
	Batch    BatchID
	Number   Number
	State    LaneState
	Task     TaskID // the task bound to it; "" when idle
	Worktree string // absolute folder
	Branch   string // "ferrox/<batch>/lane-<n>"
	Base     Commit // integration head that the lane's task started from
	Head     Commit // lane head as last observed
	Version  int64
}

// Identity names a process beyond its number, which the system gives out again.
type Identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // start time in clock ticks since boot, /proc/<pid>/stat field 22
	Boot  string `json:"boot"`  // /proc/sys/kernel/random/boot_id
	PIDNS uint64 `json:"pidns"` // inode of the pid namespace
}

// Known reports whether the identity was recorded at all.
func (i Identity) Known() bool { return i.PID > 0 }

// RunState is how far a run of a worker got.
type RunState string

// The states of a run.
const (
	RunStarting RunState = "starting" // the row is durable, the shim may or may not exist
	RunRunning  RunState = "running"  // the shim's identity is recorded
	RunExited   RunState = "exited"   // the tree has ended; nothing was decided on it yet
	RunJudged   RunState = "judged"   // its claim, or the lack of one, was decided on
)

// Run is one run of a worker under one shim, as stored.
type Run struct {
	ID         RunID
	Batch      BatchID
	Task       TaskID
	Lane       Number
	Iteration  int
	State      RunState
	Dir        string // absolute folder of the run: spec, output, exit record
	Token      string // what the worker proves itself with
	Shim       Identity
	WorkerPID  int
	StartedAt  time.Time
	EndedAt    time.Time
	ExitCode   int         // -1 when the command did not exit by itself
	Signal     string      // "SIGKILL", empty when the command exited
	Failure    string      // why the command could not be started; empty otherwise
	EndedBy    string      // "" by itself; "finish", "quiesce", "stall", "wall-clock", "park", "abort", "lost", "outage"
	HeadBefore Commit      // lane head when the run was decided on
	DoneBefore string      // identity of a .DONE that was there before the run began; "" when there was none
	Rulings    []MessageID // rulings in its prompt
	OpenedHold bool        // it escalated: it does not count against the budget
	Outcome    string      // what was decided when it was judged: "landed", "refused", "no-claim", "held", "failed" …
	Version    int64
}

// Effect is something to do once the decision that wants it is durable. It is keyed and safe to repeat.
type Effect struct {
	Key       string // unique: kind and what it is about
	Batch     BatchID
	Kind      EffectKind
	Task      TaskID
	Lane      Number
	Payload   string // JSON; its shape is the kind's
	State     EffectState
	Outcome   string // what came of it, for people
	CreatedAt time.Time
	SettledAt time.Time
}

// EffectKind says what an effect does.
type EffectKind string

// The kinds of effects.
const (
	EffectWorktree EffectKind = "worktree"  // make or reuse a lane's worktree
	EffectSpawn    EffectKind = "spawn"     // start a shim
	EffectSetAside EffectKind = "set-aside" // move a refused .DONE away, bytes kept
	EffectLand     EffectKind = "land"      // move the integration branch
	EffectBacklog  EffectKind = "backlog"   // file what was left out of a landing
	EffectMail     EffectKind = "mail"      // put a message into a worker's prompt
	EffectRemove   EffectKind = "remove"    // remove a worktree or a branch, after a rescue ref
)

// EffectState is how far an effect got.
type EffectState string

// The states of an effect.
const (
	EffectPending   EffectState = "pending"
	EffectDone      EffectState = "done"
	EffectAbandoned EffectState = "abandoned" // found undone after a crash, and decided on anew
)

// Event is one line of the log. Events are written in the transaction of the change that they tell of.
type Event struct {
	Seq   int64 // given by the store, ascending in commit order
	At    time.Time
	Batch BatchID
	Type  string // task, lane, hold, ruling, merge, engine
	Task  TaskID
	Lane  Number
	Ref   string // hold, message, run, commit …
	Name  string // what happened: "hold-opened", "claim-refused" …
	Text  string // one sentence for a person
	Data  string // JSON; may be empty
}

// Request is a command that changes state, with its answer, kept so that the same id gives the same answer and so that a
// live engine can carry out what another process asked for.
type Request struct {
	ID        string
	Verb      string // "pause", "retry", "rule" …
	Batch     BatchID
	Args      string // JSON
	Done      bool
	Exit      int    // exit code of the answer
	Answer    string // JSON
	CreatedAt time.Time
	DoneAt    time.Time
}

// Lease says which engine owns the repository. The kernel's file lock decides who may take it; the fencing number is
// checked in every write of the engine, so that a stopped and forgotten engine can write nothing.
type Lease struct {
	Fence   int64 // grows by one with every taking
	Owner   Identity
	Batch   BatchID
	TakenAt time.Time
	EndedAt time.Time // zero while the engine owns it; a recorded end wins over a pid that is alive again
	Reason  string    // how it ended
}
