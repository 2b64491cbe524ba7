package graph

import (
	"slices"

	"ferrox/lanes"
)

// Readiness is what the dependencies allow now. Each pending or blocked task is in exactly one of the lists, which are in
// order of discovery.
type Readiness struct {
	Start   []lanes.TaskID // pending, and all that they depend on has landed
	Waiting []Wait         // pending, and something they depend on is still to come
	Blocked []Block        // pending or blocked, and something they depend on ended without landing
	Revived []lanes.TaskID // blocked, and nothing blocks them any more: they go back to pending
}

// Wait says what a task waits for.
type Wait struct {
	Task lanes.TaskID
	On   []lanes.TaskID // its own dependencies that have not landed, sorted
}

// Block says why a task cannot start.
type Block struct {
	Task   lanes.TaskID
	Known  bool            // it is blocked already
	Cause  lanes.TaskID    // the task at the root of it: the first of Causes
	State  lanes.TaskState // the state of the cause; "" when no task has that id
	Via    lanes.TaskID    // its own dependency that leads to the cause
	Causes []lanes.TaskID  // every root, sorted
}

// Ready decides what the graph allows. A dependency is met only when it landed, or finished before the batch. One that
// failed, stalled, was skipped, or that no task has the id of, blocks everything behind it; because blocking is worked
// out anew from those roots each time, a retry of the root revives its dependants.
func Ready(nodes []Node) Readiness {
	r := reader{known: index(nodes), causes: map[lanes.TaskID][]lanes.TaskID{}}
	var out Readiness
	for _, n := range inOrder(nodes) {
		if n.landed() || n.State != lanes.TaskPending && n.State != lanes.TaskBlocked {
			continue
		}
		r.sort(n, &out)
	}
	return out
}

// reader remembers the roots that block a task, so that a long chain is walked once.
type reader struct {
	known  map[lanes.TaskID]Node
	causes map[lanes.TaskID][]lanes.TaskID
}

func (r reader) sort(n Node, out *Readiness) {
	if causes := r.roots(n.ID); len(causes) > 0 {
		out.Blocked = append(out.Blocked, r.block(n, causes))
		return
	}
	if n.State == lanes.TaskBlocked {
		out.Revived = append(out.Revived, n.ID)
		return
	}
	if on := r.unmet(n); len(on) > 0 {
		out.Waiting = append(out.Waiting, Wait{Task: n.ID, On: on})
		return
	}
	out.Start = append(out.Start, n.ID)
}

func (r reader) block(n Node, causes []lanes.TaskID) Block {
	b := Block{
		Task: n.ID, Known: n.State == lanes.TaskBlocked,
		Cause: causes[0], State: r.known[causes[0]].State, Causes: causes,
	}
	for _, need := range slices.Sorted(slices.Values(n.DependsOn)) {
		if slices.Contains(r.roots(need), b.Cause) {
			b.Via = need
			return b
		}
	}
	return b
}

// roots returns the tasks that block whatever depends on this one: itself when it ended without landing, else the roots
// behind its own dependencies. A task on a cycle has none from there; plans with cycles are refused before they run.
func (r reader) roots(id lanes.TaskID) []lanes.TaskID {
	n, known := r.known[id]
	if !known {
		return []lanes.TaskID{id}
	}
	switch n.State {
	case lanes.TaskFailed, lanes.TaskSkipped, lanes.TaskStalled:
		if n.Finished {
			return nil
		}
		return []lanes.TaskID{id}
	}
	if n.landed() || n.State != lanes.TaskPending && n.State != lanes.TaskBlocked {
		return nil
	}
	if found, seen := r.causes[id]; seen {
		return found
	}

	r.causes[id] = nil // ends a cycle
	var found []lanes.TaskID
	for _, need := range n.DependsOn {
		found = append(found, r.roots(need)...)
	}
	slices.Sort(found)
	r.causes[id] = slices.Compact(found)
	return r.causes[id]
}

// unmet returns the dependencies of a task that have not landed, sorted.
func (r reader) unmet(n Node) []lanes.TaskID {
	var open []lanes.TaskID
	for _, id := range n.DependsOn {
		if !r.known[id].landed() {
			open = append(open, id)
		}
	}
	slices.Sort(open)
	return slices.Compact(open)
}
