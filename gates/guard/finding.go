package guard

import (
	"strconv"
	"strings"
)

// Kind says what a command would do.
type Kind string

// The kinds of findings.
const (
	KindMerge   Kind = "merge"   // brings other commits onto a protected branch, or moves or removes one here
	KindPush    Kind = "push"    // moves or removes a protected branch elsewhere
	KindTag     Kind = "tag"     // publishes or removes a tag
	KindRelease Kind = "release" // publishes a package or a release
)

// Finding is one command of the line that would merge or ship.
type Finding struct {
	Kind       Kind
	Command    string // as it would run, unknown parts shown as "…"
	Ref        string // the branch or tag that it touches; "" when the command decides that elsewhere
	Why        string // one sentence for a person
	Unreadable bool   // counted as a finding because a part of it cannot be known from the line
}

// Report is what a line contains.
type Report struct {
	Findings []Finding
	Missing  []string // directories that the line acts in and that no Facts were given for
}

// maxShown bounds a command as shown, in bytes.
const maxShown = 200

// show renders a command for people: unknown parts as "…", control characters escaped, bounded.
func show(args []string) string {
	words := make([]string, 0, len(args))
	for _, a := range args {
		for _, h := range holes {
			a = strings.ReplaceAll(a, h, "…")
		}
		q := strconv.Quote(a)
		q = q[1 : len(q)-1]
		if a == "" || strings.ContainsAny(a, " \t\n") {
			q = "'" + q + "'"
		}
		words = append(words, q)
	}
	s := strings.Join(words, " ")
	if len(s) > maxShown {
		s = strings.ToValidUTF8(s[:maxShown], "") + "…"
	}
	return s
}
