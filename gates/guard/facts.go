package guard

import (
	"path"
	"slices"
	"strings"
)

// Facts is what is known of the repository that one directory belongs to. The zero value means that nothing could be read
// there, and then every branch counts as protected.
type Facts struct {
	Known        bool              // git answered; false for "not a repository" too
	Nowhere      bool              // there is no repository at all: only names that a command spells out can be judged
	Branch       string            // the branch checked out there; "" when HEAD is detached
	Branches     []string          // local branches, short names
	Tags         []string          // short names
	Aliases      map[string]string // git aliases by lower-case name, a leading "!" included
	Upstream     map[string]string // branch → full name of the ref on the remote that it tracks
	PushRefspecs map[string][]string
	PushRemote   string // the remote of a push that names none; "" when there is no way to know
	PushDefault  string // push.default; "" is git's own default, simple
	FollowTags   bool   // push.followTags
	Mirror       []string
	Defaults     []string // where the remotes' HEADs point; protected as well
	Protected    []string // exact branch names or globs, "release/*"
}

// Protects reports whether branch is protected. A glob that ends in "/*" covers deeper names too, and one that cannot be
// read covers everything.
func (f Facts) Protects(branch string) bool {
	if !f.Known && (!f.Nowhere || branch == "") {
		return true
	}
	if slices.Contains(f.Defaults, branch) {
		return true
	}
	return slices.ContainsFunc(f.Protected, func(p string) bool { return covers(p, branch) })
}

// covers reports whether pattern matches branch, or could, where the branch has parts that are not known.
func covers(pattern, branch string) bool {
	if hasHole(branch) {
		return couldCover(pattern, branch)
	}
	if deep, ok := strings.CutSuffix(pattern, "/*"); ok && strings.HasPrefix(branch, deep+"/") {
		return true
	}
	ok, err := path.Match(pattern, branch)
	return ok || err != nil
}

// couldCover compares what is known at both ends of a name with what is fixed in the pattern.
func couldCover(pattern, branch string) bool {
	head, tail := branch[:holeIndex(branch)], branch[lastHoleIndex(branch)+1:]
	meta := strings.IndexAny(pattern, `*?[\`)
	if meta < 0 {
		return len(head)+len(tail) <= len(pattern) && strings.HasPrefix(pattern, head) && strings.HasSuffix(pattern, tail)
	}
	fixed := pattern[:meta]
	return strings.HasPrefix(fixed, head) || strings.HasPrefix(head, fixed)
}

// branchOf returns the branch that a ref names on either side of a refspec, and whether it names one at all.
func branchOf(ref string) (string, bool) {
	for _, p := range []string{"refs/heads/", "heads/"} {
		if b, ok := strings.CutPrefix(ref, p); ok {
			return b, true
		}
	}
	if strings.HasPrefix(ref, "refs/") {
		return "", false
	}
	return ref, true
}
