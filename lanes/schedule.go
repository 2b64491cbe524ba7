package lanes

import (
	"fmt"
	"slices"
	"time"
)

// Situation is everything that scheduling depends on.
type Situation struct {
	Tasks   []Task // in their order of discovery
	Lanes   []Lane
	Limit   int                  // lanes that may count at once
	Overlap func(a, b Task) bool // whether two tasks' scopes meet
	Now     time.Time
}

// Placement starts a task in a lane. Lane 0 asks for a fresh one.
type Placement struct {
	Task TaskID
	Lane Number
}

// Standstill says why a task cannot start for good.
type Standstill struct {
	Task   TaskID
	Reason Reason
}

// Plan is what follows from a situation.
type Plan struct {
	Start   []Placement
	Block   []Standstill
	Unblock []TaskID
	Queued  int       // tasks that could start and wait for a slot or for an overlapping task
	WakeAt  time.Time // the earliest back-off that ends; zero when there is none
}

// Schedule says which tasks start where, and which are blocked or no longer so. The graph decides: a task is ready when
// all that it depends on has landed. A task binds to a lane when it starts; tasks whose scopes overlap never run at the
// same time.
func Schedule(s Situation) Plan {
	p := planner{Situation: s, byID: map[TaskID]Task{}, free: s.Limit}
	for _, t := range s.Tasks {
		p.byID[t.ID] = t
	}
	for _, l := range s.Lanes {
		if l.State == LaneRunning || l.State == LaneHeld {
			p.free--
			p.busy = append(p.busy, p.byID[l.Task])
		}
		if l.State == LaneIdle {
			p.idle = append(p.idle, l.Number)
		}
	}
	for _, t := range s.Tasks {
		p.consider(t)
	}
	return p.plan
}

type planner struct {
	Situation
	byID map[TaskID]Task
	busy []Task   // tasks in lanes that count
	idle []Number // lanes without a task
	free int      // slots left
	plan Plan
}

func (p *planner) consider(t Task) {
	if t.State != TaskPending && t.State != TaskBlocked {
		return
	}
	cause, waiting := p.dependencies(t)
	switch {
	case cause != nil && t.State == TaskPending:
		p.plan.Block = append(p.plan.Block, Standstill{t.ID, *cause})
	case cause != nil:
	case t.State == TaskBlocked:
		p.plan.Unblock = append(p.plan.Unblock, t.ID)
	case waiting:
	case t.RetryAt.After(p.Now):
		if p.plan.WakeAt.IsZero() || t.RetryAt.Before(p.plan.WakeAt) {
			p.plan.WakeAt = t.RetryAt
		}
	default:
		p.place(t)
	}
}

// dependencies returns why t can never start as things stand, or whether it has to wait.
func (p *planner) dependencies(t Task) (cause *Reason, waiting bool) {
	for _, id := range t.DependsOn {
		dep, known := p.byID[id]
		switch {
		case !known:
			cause = unmet(id, "is not part of the batch")
		case dep.State == TaskSucceeded:
		case dep.State.Ended():
			cause = unmet(id, "is "+string(dep.State))
		default:
			waiting = true
		}
		if cause != nil {
			return cause, false
		}
	}
	return nil, waiting
}

func unmet(dep TaskID, what string) *Reason {
	return &Reason{
		Code: CodeDependencyUnmet, Ref: string(dep), Clears: "operator", Next: "ferrox retry " + string(dep),
		Text: fmt.Sprintf("it depends on %s, which %s", dep, what),
	}
}

// place starts a task in the lane that it has, in an idle one, or in a fresh one.
func (p *planner) place(t Task) {
	own := slices.IndexFunc(p.Lanes, func(l Lane) bool { return l.Number == t.Lane && l.Task == t.ID })
	switch {
	case own >= 0 && p.Lanes[own].State != LaneStalled:
		p.plan.Start = append(p.plan.Start, Placement{t.ID, t.Lane}) // it counts already, or a ruling un-parks it at once
	case p.free <= 0 || p.overlapsBusy(t):
		p.plan.Queued++
	case own >= 0:
		p.take(t, t.Lane)
	default:
		p.take(t, p.pickIdle())
	}
}

func (p *planner) take(t Task, n Number) {
	p.free--
	p.busy = append(p.busy, t)
	p.plan.Start = append(p.plan.Start, Placement{t.ID, n})
}

func (p *planner) pickIdle() Number {
	if len(p.idle) == 0 {
		return 0
	}
	n := p.idle[0]
	p.idle = p.idle[1:]
	return n
}

func (p *planner) overlapsBusy(t Task) bool {
	return slices.ContainsFunc(p.busy, func(b Task) bool { return b.ID != t.ID && p.Overlap(b, t) })
}
