package gitcli

import (
	"slices"
	"strings"

	"ferrox/engine"
)

// apart reports whether the two sides changed nothing in common, so that the merged tree is one side's with the other's files
// put in. Deletions are left to git, since they may be half of a rename, and so are changes of type.
func (m *merge) apart() bool {
	if len(m.bases) != 1 {
		return false
	}
	for _, d := range slices.Concat(m.ours, m.theirs) {
		if d.Status != 'A' && d.Status != 'M' {
			return false
		}
	}
	ours, theirs := placesOf(m.ours), placesOf(m.theirs)
	return !meets(m.theirs, ours) && !meets(m.ours, theirs)
}

// placesOf is every changed path and every folder above one.
func placesOf(diffs []diff) map[string]bool {
	places := map[string]bool{}
	for _, d := range diffs {
		path := d.Path
		for !places[path] {
			places[path] = true
			above := strings.LastIndexByte(path, '/')
			if above < 0 {
				break
			}
			path = path[:above]
		}
	}
	return places
}

func meets(diffs []diff, places map[string]bool) bool {
	return slices.ContainsFunc(diffs, func(d diff) bool { return places[d.Path] })
}

// placedOf are changed files as they are to be put into another tree.
func placedOf(diffs []diff) []placed {
	files := make([]placed, 0, len(diffs))
	for _, d := range diffs {
		files = append(files, placed{File: engine.File{Path: d.Path, Mode: d.NewMode}, oid: d.newOID})
	}
	return files
}
