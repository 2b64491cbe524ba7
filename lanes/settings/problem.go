package settings

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong in a settings file. Value is the text as it stands in the file, shortened; Nearest is
// the known key that an unknown one resembles, or empty.
type Problem struct {
	File    string
	Line    int // from 1
	Key     string
	Value   string
	Text    string
	Nearest string
}

// Error says where the problem is, what it is, and what to write instead.
func (p Problem) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d: ", p.File, p.Line)
	if p.Key != "" {
		fmt.Fprintf(&b, "%s: ", p.Key)
	}
	b.WriteString(p.Text)
	if p.Nearest != "" {
		fmt.Fprintf(&b, "; did you mean %q?", p.Nearest)
	}
	return b.String()
}

// Problems are all the things that are wrong in a settings file, in the order of the file.
type Problems []Problem

// Error lists the problems, one a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.Error()
	}
	return "read settings: " + strings.Join(lines, "\n")
}

// Unwrap returns the problems one by one.
func (p Problems) Unwrap() []error {
	errs := make([]error, len(p))
	for i, one := range p {
		errs[i] = one
	}
	return errs
}

// Warning is something odd in a settings file that stops nothing.
type Warning struct {
	File string
	Line int // from 1
	Key  string
	Text string
}

// String says where the oddity is and what was made of it.
func (w Warning) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", w.File, w.Line, w.Key, w.Text)
}
