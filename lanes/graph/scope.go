package graph

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// metas are the characters that make an entry a glob. Brackets are also legal in paths, so an entry with them is read
// both ways.
const metas = "*?[{"

// entry is one path or glob of a scope in the form in which it is compared.
type entry struct {
	text  string // as normal gives it
	glob  bool
	fixed string // of a glob: the text before its first special character
}

func newEntry(written string) entry {
	text := normal(written)
	at := strings.IndexAny(text, metas)
	if at < 0 {
		return entry{text: text}
	}
	return entry{text: text, glob: true, fixed: text[:at]}
}

func newEntries(written []string) []entry {
	entries := make([]entry, 0, len(written))
	for _, w := range written {
		entries = append(entries, newEntry(w))
	}
	return entries
}

// InScope reports whether a changed file is covered by one of the entries: it is the entry, lies below it, or matches it
// as a glob, where * stays inside a folder and ** does not. Letter case counts.
func InScope(entries []string, file string) bool {
	file = normal(file)
	return slices.ContainsFunc(entries, func(written string) bool { return newEntry(written).covers(file) })
}

// Overlaps reports whether two tasks may touch the same file, as far as their scopes tell. It rather says yes than no:
// whenever a file is in both scopes, they overlap. A task without a declared scope overlaps nothing.
func Overlaps(a, b Node) bool {
	return a.Scoped && b.Scoped && anyMeets(newEntries(a.Scope), newEntries(b.Scope))
}

func anyMeets(a, b []entry) bool {
	for _, x := range a {
		for _, y := range b {
			if x.meets(y) {
				return true
			}
		}
	}
	return false
}

// Undeclared returns the changed files that a task may not land, sorted: those outside of its scope, every PROMPT.md and
// other packet, and .planning/. Its own packet folder is in scope. Packets are the folders of all packets.
func Undeclared(n Node, packets, changed []string) []string {
	var bad []string
	for _, file := range changed {
		if !declared(n, packets, normal(file)) {
			bad = append(bad, file)
		}
	}
	slices.Sort(bad)
	return slices.Compact(bad)
}

func declared(n Node, packets []string, file string) bool {
	own := normal(n.Dir)
	if below(".planning", file) || own != "" && file == path.Join(own, "PROMPT.md") {
		return false
	}
	if own != "" && below(own, file) {
		return true
	}
	if slices.ContainsFunc(packets, func(dir string) bool { return below(normal(dir), file) }) {
		return false
	}
	return !n.Scoped || InScope(n.Scope, file)
}

// normal brings an entry to one form: forward slashes, none doubled, none at the end, no ./ at the start. The root is "".
func normal(entry string) string {
	entry = path.Clean(strings.ReplaceAll(entry, `\`, "/"))
	if entry == "." {
		return ""
	}
	return entry
}

// below reports whether a file is the folder or lies in it.
func below(folder, file string) bool {
	return folder == "" || file == folder || strings.HasPrefix(file, folder+"/")
}

func (e entry) covers(file string) bool {
	return below(e.text, file) || e.glob && matches(e.text, file)
}

// matches reports whether a glob matches a whole path. A malformed glob matches nothing.
func matches(glob, file string) bool {
	ok, err := doublestar.Match(glob, file)
	return err == nil && ok
}

// meets reports whether two entries may cover a common file.
func (e entry) meets(o entry) bool {
	switch {
	case e.glob && o.glob:
		return either(e.fixed, o.fixed)
	case below(e.text, o.text) || below(o.text, e.text):
		return true
	case e.glob:
		return e.reaches(o.text)
	case o.glob:
		return o.reaches(e.text)
	}
	return false
}

// either reports whether one text begins with the other.
func either(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }

// reaches reports whether a glob can match a path or something below it.
func (e entry) reaches(file string) bool {
	if !either(e.fixed, file+"/") {
		return false
	}
	if strings.ContainsAny(e.text, "{[") { // alternatives and classes may hold slashes
		return true
	}
	want := strings.Split(e.text, "/")
	for i, part := range strings.Split(file, "/") {
		switch {
		case i == len(want):
			return false // the glob ends above the path, and a glob covers nothing below what it matches
		case strings.Contains(want[i], "**"):
			return true
		case !matches(want[i], part):
			return false
		}
	}
	return true
}
