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

// InScope reports whether a changed file is covered by one of the entries: it is the entry, lies below it, or matches it
// as a glob, where * stays inside a folder and ** does not. Letter case counts.
func InScope(entries []string, file string) bool {
	file = normal(file)
	return slices.ContainsFunc(entries, func(e string) bool { return covers(normal(e), file) })
}

// Overlaps reports whether two tasks may touch the same file, as far as their scopes tell. It rather says yes than no:
// whenever a file is in both scopes, they overlap. A task without a declared scope overlaps nothing.
func Overlaps(a, b Node) bool {
	if !a.Scoped || !b.Scoped {
		return false
	}
	return anyMeets(a.Scope, b.Scope)
}

func anyMeets(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			if meets(normal(x), normal(y)) {
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

func covers(entry, file string) bool {
	return below(entry, file) || isGlob(entry) && matches(entry, file)
}

// matches reports whether a glob matches a whole path. A malformed glob matches nothing.
func matches(glob, file string) bool {
	ok, err := doublestar.Match(glob, file)
	return err == nil && ok
}

func isGlob(entry string) bool { return strings.ContainsAny(entry, metas) }

// meets reports whether two entries may cover a common file.
func meets(a, b string) bool {
	if below(a, b) || below(b, a) {
		return true
	}
	switch {
	case isGlob(a) && isGlob(b):
		x, y := fixed(a), fixed(b)
		return strings.HasPrefix(x, y) || strings.HasPrefix(y, x)
	case isGlob(a):
		return reaches(a, b)
	case isGlob(b):
		return reaches(b, a)
	}
	return false
}

// fixed is the text of a glob before its first special character.
func fixed(glob string) string { return glob[:strings.IndexAny(glob, metas)] }

// reaches reports whether a glob can match a path or something below it.
func reaches(glob, file string) bool {
	if strings.ContainsAny(glob, "{[") { // alternatives and classes may hold slashes
		x, y := fixed(glob), file+"/"
		return strings.HasPrefix(x, y) || strings.HasPrefix(y, x)
	}
	want := strings.Split(glob, "/")
	have := strings.Split(file, "/")
	for i, part := range have {
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
