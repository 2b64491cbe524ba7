package graph

import (
	"fmt"
	"slices"

	"ferrox/lanes"
)

// CycleError says that tasks wait for each other.
type CycleError struct {
	Cycle []lanes.TaskID // as Cycles gives it
}

func (e *CycleError) Error() string {
	return fmt.Sprintf("planning the waves: %s is a cycle; remove one of the dependencies", CyclePath(e.Cycle))
}

// UnknownError says that a task waits for one that is not there.
type UnknownError struct {
	Task, Dependency lanes.TaskID
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("planning the waves: %q depends on %q, which is not there; add its packet or remove the dependency", e.Task, e.Dependency)
}

// Waves sorts the tasks that have not landed into waves: a task is in the first wave after all that it depends on. Each
// wave is sorted by id. The error is a *CycleError or an *UnknownError.
func Waves(nodes []Node) ([][]lanes.TaskID, error) {
	known := index(nodes)
	waiting := map[lanes.TaskID]int{}               // tasks that it still waits for
	dependants := map[lanes.TaskID][]lanes.TaskID{} // who waits for it
	for _, n := range byID(nodes) {
		if n.landed() {
			continue
		}
		open, err := openNeeds(n, known)
		if err != nil {
			return nil, err
		}
		waiting[n.ID] = len(open)
		for _, need := range open {
			dependants[need] = append(dependants[need], n.ID)
		}
	}

	waves := peel(waiting, dependants)
	if len(waiting) > 0 {
		return nil, &CycleError{Cycle: Cycles(nodes)[0]}
	}
	return waves, nil
}

// openNeeds returns the dependencies of a task that have not landed, each once and sorted.
func openNeeds(n Node, known map[lanes.TaskID]Node) ([]lanes.TaskID, error) {
	var open []lanes.TaskID
	for _, id := range n.DependsOn {
		need, there := known[id]
		if !there {
			return nil, &UnknownError{Task: n.ID, Dependency: id}
		}
		if !need.landed() {
			open = append(open, id)
		}
	}
	slices.Sort(open)
	return slices.Compact(open), nil
}

// peel removes wave after wave and leaves in waiting what is part of a cycle or behind one.
func peel(waiting map[lanes.TaskID]int, dependants map[lanes.TaskID][]lanes.TaskID) [][]lanes.TaskID {
	var waves [][]lanes.TaskID
	for {
		var wave []lanes.TaskID
		for id, open := range waiting {
			if open == 0 {
				wave = append(wave, id)
			}
		}
		if len(wave) == 0 {
			return waves
		}
		slices.Sort(wave)
		for _, id := range wave {
			delete(waiting, id)
			for _, d := range dependants[id] {
				waiting[d]--
			}
		}
		waves = append(waves, wave)
	}
}
