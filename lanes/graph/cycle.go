package graph

import (
	"slices"
	"strings"

	"ferrox/lanes"
)

// Cycles returns the dependency cycles among the tasks that have not landed, at least one for each set of tasks that
// wait for each other. A cycle begins with its smallest id and does not repeat it; a task that depends on itself is a
// cycle of one. The result is sorted.
func Cycles(nodes []Node) [][]lanes.TaskID {
	w := walker{known: index(nodes), seen: map[lanes.TaskID]visit{}}
	for _, n := range byID(nodes) {
		w.walk(n.ID)
	}
	slices.SortFunc(w.cycles, slices.Compare)
	return slices.CompactFunc(w.cycles, slices.Equal)
}

// CyclePath writes a cycle for people, "A → B → C → A".
func CyclePath(cycle []lanes.TaskID) string {
	var parts []string
	for _, id := range cycle {
		parts = append(parts, string(id))
	}
	if len(cycle) > 0 {
		parts = append(parts, string(cycle[0]))
	}
	return strings.Join(parts, " → ")
}

type visit int

const (
	visitNever visit = iota
	visitOpen        // on the path
	visitDone
)

// walker goes through the graph depth first, in the order of the ids.
type walker struct {
	known  map[lanes.TaskID]Node
	seen   map[lanes.TaskID]visit
	path   []lanes.TaskID
	cycles [][]lanes.TaskID
}

func (w *walker) walk(id lanes.TaskID) {
	n, known := w.known[id]
	if !known || n.landed() {
		return
	}
	switch w.seen[id] {
	case visitDone:
		return
	case visitOpen:
		w.cycles = append(w.cycles, turn(w.path[slices.Index(w.path, id):]))
		return
	case visitNever:
	}

	w.seen[id] = visitOpen
	w.path = append(w.path, id)
	for _, need := range slices.Sorted(slices.Values(n.DependsOn)) {
		w.walk(need)
	}
	w.path = w.path[:len(w.path)-1]
	w.seen[id] = visitDone
}

// turn rotates a cycle so that it begins with its smallest id.
func turn(cycle []lanes.TaskID) []lanes.TaskID {
	at := slices.Index(cycle, slices.Min(cycle))
	return slices.Concat(cycle[at:], cycle[:at])
}
