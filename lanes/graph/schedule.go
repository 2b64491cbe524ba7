package graph

import (
	"fmt"
	"slices"
	"time"

	"ferrox/lanes"
)

// Situation is everything that scheduling depends on.
type Situation struct {
	Tasks []lanes.Task
	Lanes []lanes.Lane
	Limit int      // lanes that may count at once; running and held lanes count
	Seams []string // hot seams: tasks whose scopes touch one never run beside each other
	Now   time.Time
}

// Placement starts a task in a lane. Lane 0 asks for a fresh one.
type Placement struct {
	Task lanes.TaskID
	Lane lanes.Number
}

// Standstill says why a task cannot start as things stand: one reason for every task at the root of it.
type Standstill struct {
	Task    lanes.TaskID
	Reasons []lanes.Reason
}

// Moves is what follows from a situation.
type Moves struct {
	Start   []Placement
	Block   []Standstill   // tasks to block, and blocked ones that are blocked by something else by now
	Unblock []lanes.TaskID // nothing blocks them any more
	Queued  int            // tasks that could start and wait for a slot or for an overlapping task
	WakeAt  time.Time      // the earliest back-off that ends; zero when there is none
}

// Schedule says which tasks start where, and which are blocked or no longer so. The graph decides: a task is ready when
// all that it depends on has landed. A task that has a lane goes on in it at once, whatever the limit says: it counts
// already, or a ruling un-parks it. Any other task needs a free slot, and waits while a task in a lane that counts
// overlaps it; it goes back to the lane that kept its work, to an idle lane, or to a fresh one.
func Schedule(s Situation) Moves {
	p := newPlanner(s)
	ready := Ready(nodesOf(s.Tasks))
	p.block(ready.Blocked)
	p.moves.Unblock = ready.Revived
	due := p.due(ready.Start)
	p.place(slices.DeleteFunc(due, p.goOn))
	return p.moves
}

type planner struct {
	Situation
	byID  map[lanes.TaskID]lanes.Task
	busy  []Node         // tasks in lanes that count
	idle  []lanes.Number // lanes without a task
	free  int            // slots left; below 0 while un-parked lanes are above the limit
	moves Moves
}

func newPlanner(s Situation) *planner {
	p := &planner{Situation: s, byID: map[lanes.TaskID]lanes.Task{}, free: s.Limit}
	for _, t := range s.Tasks {
		p.byID[t.ID] = t
	}
	for _, l := range s.Lanes {
		switch l.State {
		case lanes.LaneRunning, lanes.LaneHeld:
			p.count(p.byID[l.Task])
		case lanes.LaneIdle:
			p.idle = append(p.idle, l.Number)
		case lanes.LaneStalled, lanes.LaneParked, lanes.LaneDone:
		}
	}
	slices.Sort(p.idle)
	return p
}

func nodesOf(tasks []lanes.Task) []Node {
	nodes := make([]Node, 0, len(tasks))
	for _, t := range tasks {
		nodes = append(nodes, NodeOf(t))
	}
	return nodes
}

// count books a slot for a task.
func (p *planner) count(t lanes.Task) {
	p.free--
	p.busy = append(p.busy, NodeOf(t))
}

// block lists what is to be blocked. A blocked task whose reasons name the roots of now is left alone.
func (p *planner) block(blocked []Block) {
	for _, b := range blocked {
		if b.Known && slices.Equal(rootsNamed(p.byID[b.Task]), b.Causes) {
			continue
		}
		p.moves.Block = append(p.moves.Block, Standstill{b.Task, p.reasons(b)})
	}
}

// rootsNamed returns the tasks that a blocked task's reasons name.
func rootsNamed(t lanes.Task) []lanes.TaskID {
	var named []lanes.TaskID
	for _, r := range t.Reasons {
		if r.Code == lanes.CodeDependencyUnmet {
			named = append(named, lanes.TaskID(r.Ref))
		}
	}
	return named
}

func (p *planner) reasons(b Block) []lanes.Reason {
	var reasons []lanes.Reason
	for _, cause := range b.Causes {
		r := lanes.Reason{
			Code: lanes.CodeDependencyUnmet, Ref: string(cause), Clears: "operator", Next: "ferrox retry " + string(cause),
			Text: fmt.Sprintf("it depends on %s, which is %s", cause, p.byID[cause].State),
		}
		if _, known := p.byID[cause]; !known {
			r.Next, r.Text = "ferrox plan", fmt.Sprintf("it depends on %s, which is not part of the batch", cause)
		}
		if !slices.Contains(p.byID[b.Task].DependsOn, cause) {
			r.Text += ", by way of other tasks"
		}
		reasons = append(reasons, r)
	}
	return reasons
}

// due leaves out tasks whose back-off has not ended, and notes when the first one does.
func (p *planner) due(ids []lanes.TaskID) []lanes.TaskID {
	return slices.DeleteFunc(slices.Clone(ids), func(id lanes.TaskID) bool {
		at := p.byID[id].RetryAt
		if !at.After(p.Now) {
			return false
		}
		if p.moves.WakeAt.IsZero() || at.Before(p.moves.WakeAt) {
			p.moves.WakeAt = at
		}
		return true
	})
}

// goOn starts a task in the lane that it has. That comes before everything else, so that an un-parked lane takes a slot
// from tasks that have none yet.
func (p *planner) goOn(id lanes.TaskID) bool {
	t := p.byID[id]
	own, has := p.own(t)
	if !has || own.State == lanes.LaneStalled {
		return false
	}
	if own.State == lanes.LaneParked {
		p.count(t)
	}
	p.moves.Start = append(p.moves.Start, Placement{id, own.Number})
	return true
}

// own returns the lane that a task is bound to.
func (p *planner) own(t lanes.Task) (lanes.Lane, bool) {
	i := slices.IndexFunc(p.Lanes, func(l lanes.Lane) bool { return l.Number == t.Lane && l.Task == t.ID })
	if i < 0 {
		return lanes.Lane{}, false
	}
	return p.Lanes[i], true
}

// place starts tasks that need a slot, as far as there are any.
func (p *planner) place(ids []lanes.TaskID) {
	for _, id := range ids {
		t := p.byID[id]
		if p.free <= 0 || p.overlapsBusy(NodeOf(t)) {
			p.moves.Queued++
			continue
		}
		p.count(t)
		p.moves.Start = append(p.moves.Start, Placement{id, p.laneFor(t)})
	}
}

// laneFor picks the lane that kept the task's work, else the idle one with the lowest number, else a fresh one.
func (p *planner) laneFor(t lanes.Task) lanes.Number {
	if own, has := p.own(t); has {
		return own.Number
	}
	return p.pickIdle()
}

func (p *planner) pickIdle() lanes.Number {
	if len(p.idle) == 0 {
		return 0
	}
	n := p.idle[0]
	p.idle = p.idle[1:]
	return n
}

func (p *planner) overlapsBusy(n Node) bool {
	seam := p.touchesSeam(n)
	return slices.ContainsFunc(p.busy, func(b Node) bool {
		return b.ID != n.ID && (Overlaps(b, n) || seam && p.touchesSeam(b))
	})
}

// touchesSeam reports whether a task's declared scope touches a hot seam.
func (p *planner) touchesSeam(n Node) bool { return len(Seams(p.Seams, []Node{n})) > 0 }
