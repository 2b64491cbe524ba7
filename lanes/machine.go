package lanes

import (
	"context"
	"fmt"

	"github.com/looplab/fsm"
)

// Input is what can happen to a task or a lane.
type Input string

// The inputs of the task's machine.
const (
	Start   Input = "start"   // a run is decided on
	Hold    Input = "hold"    // an escalation was recorded
	Release Input = "release" // the last open hold was ruled and no worker is alive
	GoOn    Input = "go-on"   // the last open hold was ruled while the worker is alive
	Land    Input = "land"    // the integration branch has the work, by a permit
	Stall   Input = "stall"   // a budget is spent
	Fail    Input = "fail"    // the worker cannot be started or crashed, or the task was aborted
	Skip    Input = "skip"    // the operator gave it up
	Block   Input = "block"   // something it depends on ended without landing
	Unblock Input = "unblock" // that was revived
	Retry   Input = "retry"   // the operator revives it
)

// The inputs of the lane's machine.
const (
	Bind   Input = "bind"   // a task starts in it
	Wait   Input = "wait"   // its task is held and no worker is alive
	Park   Input = "park"   // the hold passed its deadline
	Resume Input = "resume" // its task goes on
	Keep   Input = "keep"   // its task ended without landing: worktree and branch stay
	Free   Input = "free"   // its task landed
	Close  Input = "close"  // the batch ended
)

// Move is one row of a machine's table.
type Move struct {
	Input Input
	From  []string
	To    string
}

// TaskTable is the task's machine: what is not in it is refused.
func TaskTable() []Move {
	s := func(states ...TaskState) (names []string) {
		for _, st := range states {
			names = append(names, string(st))
		}
		return names
	}
	return []Move{
		{Start, s(TaskPending, TaskRunning), string(TaskRunning)},
		{Hold, s(TaskRunning, TaskPending, TaskHeld), string(TaskHeld)},
		{Release, s(TaskHeld), string(TaskPending)},
		{GoOn, s(TaskHeld), string(TaskRunning)},
		{Land, s(TaskRunning), string(TaskSucceeded)},
		{Stall, s(TaskRunning, TaskPending), string(TaskStalled)},
		{Fail, s(TaskRunning, TaskPending, TaskHeld, TaskStalled, TaskBlocked), string(TaskFailed)},
		{Skip, s(TaskRunning, TaskPending, TaskStalled, TaskFailed, TaskBlocked), string(TaskSkipped)},
		{Block, s(TaskPending, TaskBlocked), string(TaskBlocked)},
		{Unblock, s(TaskBlocked), string(TaskPending)},
		{Retry, s(TaskStalled, TaskFailed, TaskSkipped), string(TaskPending)},
	}
}

// LaneTable is the lane's machine.
func LaneTable() []Move {
	s := func(states ...LaneState) (names []string) {
		for _, st := range states {
			names = append(names, string(st))
		}
		return names
	}
	return []Move{
		{Bind, s(LaneIdle), string(LaneRunning)},
		{Wait, s(LaneRunning, LaneHeld), string(LaneHeld)},
		{Park, s(LaneHeld, LaneParked), string(LaneParked)},
		{Resume, s(LaneHeld, LaneParked, LaneStalled, LaneRunning), string(LaneRunning)},
		{Keep, s(LaneRunning, LaneHeld, LaneParked, LaneStalled), string(LaneStalled)},
		{Free, s(LaneRunning), string(LaneIdle)},
		{Close, s(LaneIdle, LaneDone), string(LaneDone)},
	}
}

// RefusedError says that a machine has no such move.
type RefusedError struct {
	Machine string // task or lane
	State   string
	Input   Input
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s a %s that is %s: there is no such move", e.Input, e.Machine, e.State)
}

// Fire returns the state after in, or a *RefusedError.
func (s TaskState) Fire(in Input) (TaskState, error) {
	next, err := fire("task", TaskTable(), string(s), in)
	return TaskState(next), err
}

// Fire returns the state after in, or a *RefusedError.
func (s LaneState) Fire(in Input) (LaneState, error) {
	next, err := fire("lane", LaneTable(), string(s), in)
	return LaneState(next), err
}

// fire asks a machine that lives for this one decision. The library is used as a table only: callbacks deadlock in it,
// and a cancelled context wedges it, so there are none of either.
func fire(machine string, table []Move, state string, in Input) (string, error) {
	events := make(fsm.Events, 0, len(table))
	for _, m := range table {
		events = append(events, fsm.EventDesc{Name: string(m.Input), Src: m.From, Dst: m.To})
	}
	f := fsm.NewFSM(state, events, nil)
	err := f.Event(context.Background(), string(in))
	if _, same := err.(fsm.NoTransitionError); same || err == nil {
		return f.Current(), nil
	}
	return state, &RefusedError{machine, state, in}
}
