package graph

import (
	"cmp"
	"slices"

	"ferrox/lanes"
)

// Node is one task as the scheduler sees it.
type Node struct {
	ID        lanes.TaskID
	Dir       string // the packet folder, slash-separated, relative to the repository root
	DependsOn []lanes.TaskID
	Scope     []string // paths and globs, relative to the repository root
	Scoped    bool     // the packet has a File Scope section; without one the task overlaps nothing
	Size      string   // S, M or L; anything else weighs as M
	State     lanes.TaskState
	Finished  bool // finished before this batch: satisfies dependants and never runs
	Seq       int  // order of discovery, which breaks ties
}

// NodeOf makes a node of a stored task.
func NodeOf(t lanes.Task) Node {
	return Node{
		ID: t.ID, Dir: t.Path, DependsOn: t.DependsOn, Scope: t.Scope, Scoped: t.Scoped,
		Size: t.Size, State: t.State, Finished: t.Finished, Seq: t.Seq,
	}
}

// landed reports whether dependants may build on the task.
func (n Node) landed() bool { return n.Finished || n.State == lanes.TaskSucceeded }

// inOrder returns the nodes by order of discovery, then by id.
func inOrder(nodes []Node) []Node {
	sorted := slices.Clone(nodes)
	slices.SortStableFunc(sorted, func(a, b Node) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.ID, b.ID))
	})
	return sorted
}

// byID returns the nodes by id.
func byID(nodes []Node) []Node {
	sorted := slices.Clone(nodes)
	slices.SortStableFunc(sorted, func(a, b Node) int { return cmp.Compare(a.ID, b.ID) })
	return sorted
}

// index maps ids to nodes. Of two nodes with one id, which a plan refuses, the first by order of discovery is taken.
func index(nodes []Node) map[lanes.TaskID]Node {
	known := make(map[lanes.TaskID]Node, len(nodes))
	for _, n := range inOrder(nodes) {
		if _, taken := known[n.ID]; !taken {
			known[n.ID] = n
		}
	}
	return known
}
