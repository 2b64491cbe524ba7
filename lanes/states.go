package lanes

// TaskState is the state of a task, stored and shown under the same name.
type TaskState string

// The states of a task. Succeeded means "in the integration branch, by a permit".
const (
	TaskPending   TaskState = "pending"   // waits for what it depends on, for a slot, or for its back-off
	TaskRunning   TaskState = "running"   // a worker runs, or its claim is being judged or merged
	TaskHeld      TaskState = "held"      // at least one hold is open
	TaskStalled   TaskState = "stalled"   // a budget is spent; retry revives it
	TaskSkipped   TaskState = "skipped"   // by the operator
	TaskFailed    TaskState = "failed"    // its worker cannot be started or crashed, its hold was cancelled, or the batch was aborted
	TaskSucceeded TaskState = "succeeded" // it is in the integration branch
	TaskBlocked   TaskState = "blocked"   // something it depends on ended without landing
)

// Ended reports whether nothing happens to the task by itself any more.
func (s TaskState) Ended() bool {
	switch s {
	case TaskStalled, TaskSkipped, TaskFailed, TaskSucceeded, TaskBlocked:
		return true
	case TaskPending, TaskRunning, TaskHeld:
		return false
	}
	return false
}

// LaneState is the state of a lane: one worktree and one branch.
type LaneState string

// The states of a lane.
const (
	LaneIdle    LaneState = "idle"    // has a worktree and no task
	LaneRunning LaneState = "running" // a task is being worked on, judged or merged
	LaneHeld    LaneState = "held"    // its task is held; the lane keeps its slot
	LaneStalled LaneState = "stalled" // its task ended without landing; worktree and branch are kept
	LaneParked  LaneState = "parked"  // its hold passed the deadline; it gave its slot back
	LaneDone    LaneState = "done"    // closed for good
)

// Phase is the phase of a batch.
type Phase string

// The phases of a batch.
const (
	PhaseRunning   Phase = "running"   // an engine drives it, or did until it was killed: resume goes on
	PhasePaused    Phase = "paused"    // nothing is lost and nothing goes on until resume or unpause; the cause says why
	PhaseCompleted Phase = "completed" // every task landed or was skipped
	PhaseFailed    Phase = "failed"    // nothing can happen any more, and a task failed, stalled or is blocked: retry revives it
	PhaseAborted   Phase = "aborted"   // given up: every hold is cancelled, every task that had not ended has failed
)

// Ended reports whether the batch can only be cleaned, integrated or (when failed) retried.
func (p Phase) Ended() bool { return p == PhaseCompleted || p == PhaseFailed || p == PhaseAborted }

// Cause says why a batch is paused. A cause is never overwritten by a weaker one.
type Cause string

// The causes of a pause.
const (
	CauseNone         Cause = ""
	CauseOperator     Cause = "operator"            // ferrox pause
	CauseTakeover     Cause = "takeover"            // ferrox takeover: the engine stays alive
	CauseSignal       Cause = "signal"              // SIGINT, SIGTERM or SIGHUP to the engine
	CauseHeld         Cause = "held"                // --no-wait and only held work is left
	CauseHoldTimeout  Cause = "hold-timeout"        // only parked lanes are left
	CauseUnresolved   Cause = "hold-unacknowledged" // nothing can run, and a ruling was never acknowledged
	CauseMergeFailure Cause = "merge-failure"       // a finished lane could not be landed (integration branch in use or moved)
)
