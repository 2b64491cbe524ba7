package packet

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"ferrox/lanes"
	"ferrox/lanes/graph"
)

// SetOptions is what a set of packets is checked against.
type SetOptions struct {
	Finished []lanes.TaskID // ids that landed or finished earlier and are not in the set: they satisfy dependants
}

// CheckSet looks at packets together: ids that are the same or look the same, dependencies that nothing satisfies, and
// cycles. Every problem is an error, and they come in the order of the packets.
func CheckSet(packets []Packet, opts SetOptions) []Problem {
	s := set{byID: map[lanes.TaskID]Packet{}, finished: map[lanes.TaskID]bool{}}
	for _, id := range opts.Finished {
		s.finished[id] = true
	}

	problems := s.takeIDs(packets)
	for _, p := range packets {
		if p.Done {
			continue
		}
		for _, d := range p.DependsOn {
			problems = append(problems, s.checkDependency(p, d)...)
		}
	}
	return append(problems, s.checkCycles(packets)...)
}

type set struct {
	byID     map[lanes.TaskID]Packet
	finished map[lanes.TaskID]bool
}

// takeIDs indexes the packets and reports ids that clash. A packet without an id has a problem of its own already.
func (s set) takeIDs(packets []Packet) []Problem {
	var problems []Problem
	looks := map[string]Packet{}
	for _, p := range packets {
		if p.ID == "" {
			continue
		}
		file := path.Join(p.Dir, PromptName)
		other, clash := looks[fold(p.ID)]
		switch {
		case !clash:
			looks[fold(p.ID)] = p
		case other.ID == p.ID:
			problems = append(problems, failure(CodeDuplicateID, file, 0,
				"checking the ids: %q is the id of %s and of %s; rename one of them", p.ID, other.Dir, p.Dir))
		default:
			problems = append(problems, failure(CodeSimilarID, file, 0,
				"checking the ids: %+q of %s and %+q of %s differ only in letter case or Unicode form; rename one of them", other.ID, other.Dir, p.ID, p.Dir))
		}
		if _, taken := s.byID[p.ID]; !taken {
			s.byID[p.ID] = p
		}
	}
	return problems
}

// fold brings ids that a person or a file system takes for the same to one form.
func fold(id lanes.TaskID) string {
	return norm.NFC.String(strings.ToLower(strings.ToUpper(norm.NFKC.String(string(id)))))
}

func (s set) checkDependency(p Packet, d Dependency) []Problem {
	if d.ID == p.ID {
		return []Problem{failure(CodeDependencySelf, d.File, d.Line, "checking the dependencies: %q depends on itself; remove the entry", p.ID)}
	}
	if _, known := s.byID[d.ID]; known || s.finished[d.ID] {
		return nil
	}
	return []Problem{failure(CodeDependencyUnknown, d.File, d.Line,
		"checking the dependencies: %q of %q is no packet of this set and none that finished earlier; %s", d.Written, p.ID, s.advice(d.ID))}
}

// advice names the id that was probably meant, when it differs only in letter case or Unicode form.
func (s set) advice(id lanes.TaskID) string {
	var near []lanes.TaskID
	for known := range s.byID {
		near = append(near, known)
	}
	for known := range s.finished {
		near = append(near, known)
	}
	near = slices.DeleteFunc(near, func(known lanes.TaskID) bool { return fold(known) != fold(id) })
	if len(near) == 0 {
		return "add its packet, or remove the entry"
	}
	return fmt.Sprintf("did you mean %q?", slices.Min(near))
}

// checkCycles names every cycle once, at the entry that leads on from its first task. Finished packets wait for nothing.
func (s set) checkCycles(packets []Packet) []Problem {
	var nodes []graph.Node
	for _, p := range packets {
		if p.ID != "" && s.byID[p.ID].Dir == p.Dir {
			nodes = append(nodes, graph.Node{ID: p.ID, DependsOn: p.Needs(), Finished: p.Done, Seq: len(nodes)})
		}
	}

	var problems []Problem
	for _, cycle := range graph.Cycles(nodes) {
		if len(cycle) == 1 {
			continue // a self dependency, reported where it stands
		}
		d := s.byID[cycle[0]].dependency(cycle[1])
		problems = append(problems, failure(CodeDependencyCycle, d.File, d.Line,
			"checking the dependencies: %s is a cycle; remove one of its entries", graph.CyclePath(cycle)))
	}
	return problems
}

// dependency returns the entry that names an id.
func (p Packet) dependency(id lanes.TaskID) Dependency {
	at := slices.IndexFunc(p.DependsOn, func(d Dependency) bool { return d.ID == id })
	if at < 0 {
		return Dependency{File: path.Join(p.Dir, PromptName)}
	}
	return p.DependsOn[at]
}
