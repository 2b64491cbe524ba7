package graph

import (
	"slices"
	"strings"

	"ferrox/lanes"
)

// Affinity puts tasks whose scopes overlap into one group, directly or by way of a third. Groups are sorted inside and
// by their first id; a task that overlaps nothing is a group of its own.
func Affinity(nodes []Node) [][]lanes.TaskID {
	var groups [][]lanes.TaskID
	for _, g := range groupNodes(nodes) {
		groups = append(groups, idsOf(g))
	}
	return groups
}

// groupNodes compares each task with the groups so far and joins those that it overlaps.
func groupNodes(nodes []Node) [][]Node {
	scopes := map[lanes.TaskID][]entry{}
	for _, n := range nodes {
		if n.Scoped {
			scopes[n.ID] = newEntries(n.Scope)
		}
	}

	var groups [][]Node
	for _, n := range byID(nodes) {
		joined := []Node{n}
		groups = slices.DeleteFunc(groups, func(g []Node) bool {
			meet := slices.ContainsFunc(g, func(o Node) bool { return anyMeets(scopes[n.ID], scopes[o.ID]) })
			if meet {
				joined = append(joined, g...)
			}
			return meet
		})
		groups = append(groups, joined)
	}

	for i := range groups {
		groups[i] = byID(groups[i])
	}
	slices.SortFunc(groups, func(a, b []Node) int { return slices.Compare(idsOf(a), idsOf(b)) })
	return groups
}

func idsOf(nodes []Node) []lanes.TaskID {
	ids := make([]lanes.TaskID, 0, len(nodes))
	for _, n := range nodes {
		ids = append(ids, n.ID)
	}
	return ids
}

// Seam is a hot seam and the tasks whose declared scopes touch it.
type Seam struct {
	Glob  string
	Tasks []lanes.TaskID // sorted
}

// Seams tells which tasks touch which hot seam, in the order of the globs. Seams that nobody touches are left out. A task
// without a declared scope is never listed, because nothing is known of it.
func Seams(globs []string, nodes []Node) []Seam {
	var seams []Seam
	for _, glob := range globs {
		seam := Seam{Glob: glob}
		for _, n := range byID(nodes) {
			if n.Scoped && slices.ContainsFunc(newEntries(n.Scope), func(e entry) bool { return e.touches(newEntry(glob)) }) {
				seam.Tasks = append(seam.Tasks, n.ID)
			}
		}
		if len(seam.Tasks) > 0 {
			seams = append(seams, seam)
		}
	}
	return seams
}

// touches reports whether a scope entry names a seam: the entry is covered by it, or is a folder or glob above it. Unlike
// meets it does not guess: a seam that is looked for everywhere is not in every folder.
func (e entry) touches(seam entry) bool {
	if seam.covers(e.text) || e.covers(seam.text) {
		return true
	}
	root, has := seam.fixed, e.fixed
	if !seam.glob {
		root = seam.text
	}
	if !e.glob {
		has = e.text
	}
	return root != "" && has != "" && (strings.HasPrefix(root, has+"/") || e.glob && either(root, has))
}
