package coord

import (
	"slices"

	"ferrox/lanes/settings"
)

// Registry is the one list of shared write surfaces. Every entry is a hot seam; those of SoleWriter also have the
// orchestrator as their only writer.
type Registry struct {
	Seams      []string // globs, seams only
	SoleWriter []string // globs, seams with one writer
}

// RegistryOf takes the registry from the settings as they stand. An empty list stays empty.
func RegistryOf(c settings.Coordination) Registry {
	return Registry{Seams: c.HotSeams, SoleWriter: c.SharedStatePaths}
}

// OrDefault puts the built-in list in the place of an empty one.
func (r Registry) OrDefault() Registry {
	d := RegistryOf(settings.Default().Coordination)
	if len(r.Seams) == 0 {
		r.Seams = d.Seams
	}
	if len(r.SoleWriter) == 0 {
		r.SoleWriter = d.SoleWriter
	}
	return r
}

// SeamAnswer is the decision of coord.hot-seam-check (verbs.md 4.2).
type SeamAnswer string

// The answers of coord.hot-seam-check.
const (
	SeamParallel  SeamAnswer = "parallel-ok"
	SeamSerialize SeamAnswer = "serialize-global"
)

// SeamDecision is the answer of coord.hot-seam-check. Matched holds the patterns, not the paths, without repeats: path by
// path, and within a path in the order of the registry.
type SeamDecision struct {
	Decision SeamAnswer `json:"decision"`
	Matched  []string   `json:"matched"`
}

// CheckSeams says whether work on the files must be serial. A registry whose seam list is empty can't tell, and serializes.
func (r Registry) CheckSeams(files []string) SeamDecision {
	d := SeamDecision{Decision: SeamParallel, Matched: []string{}}
	if len(r.Seams) == 0 {
		d.Decision = SeamSerialize
		return d
	}

	for _, f := range files {
		f = Normalize(f)
		for _, glob := range r.all() {
			if Match(glob, f) && !slices.Contains(d.Matched, glob) {
				d.Matched = append(d.Matched, glob)
			}
		}
	}
	if len(d.Matched) > 0 {
		d.Decision = SeamSerialize
	}
	return d
}

func (r Registry) all() []string { return append(slices.Clone(r.Seams), r.SoleWriter...) }

// WriteAnswer is the decision of coord.shared-write-check (verbs.md 4.6).
type WriteAnswer string

// The answers of coord.shared-write-check.
const (
	WriteAllowed   WriteAnswer = "allowed"
	WriteForbidden WriteAnswer = "forbidden"
)

// WriteDecision is the answer of coord.shared-write-check. Matched is the first pattern that forbids, or nil.
type WriteDecision struct {
	Decision WriteAnswer `json:"decision"`
	Matched  *string     `json:"matched"`
}

// orchestrator is the one writer of shared state. Letter case and blanks count: a near miss is somebody else.
const orchestrator = "orchestrator"

// CheckWrite says whether actor may write target.
func (r Registry) CheckWrite(actor, target string) WriteDecision {
	if actor == orchestrator {
		return WriteDecision{Decision: WriteAllowed}
	}
	target = Normalize(target)
	for _, glob := range r.SoleWriter {
		if Match(glob, target) {
			return WriteDecision{Decision: WriteForbidden, Matched: &glob}
		}
	}
	return WriteDecision{Decision: WriteAllowed}
}
