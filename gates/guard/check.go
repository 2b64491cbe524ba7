package guard

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// ErrUnreadable is a line that no shell grammar known here can parse. It is to be blocked.
var ErrUnreadable = errors.New("command line cannot be read as a shell would")

// Limits on what one line may make the guard do; a line beyond them is not readable.
const (
	maxLine   = 256 << 10 // bytes
	maxDepth  = 24        // eval in sh -c in an alias in …
	maxParsed = 1 << 20   // bytes of code inside code
	maxSteps  = 5000      // commands looked at, loops and readings counted
)

// Check reports the merge and ship commands of line when it runs in cwd. facts are keyed by cleaned absolute directory;
// one that is missing counts as unknown, and is named in the report.
func Check(line, cwd string, facts map[string]Facts) (Report, error) {
	c := &checker{facts: facts, cwd: cwd}
	if len(line) > maxLine || strings.ContainsAny(line, reserved) {
		return Report{}, fmt.Errorf("read the command line: %w: it is longer than %d bytes or holds control characters; split it up", ErrUnreadable, maxLine)
	}
	f, err := parse(line)
	if err != nil {
		return Report{}, err
	}
	c.list(newState(cwd), f.Stmts)
	if c.steps > maxSteps {
		c.add(Finding{Kind: KindMerge, Command: show([]string{line}), Why: "the line does more than can be followed", Unreadable: true})
	}
	return Report{Findings: c.found, Missing: c.missing}, nil
}

// parse tries the grammars that agents' shells use, the usual one first.
func parse(line string) (*syntax.File, error) {
	var first error
	for _, lang := range []syntax.LangVariant{syntax.LangBash, syntax.LangPOSIX, syntax.LangZsh} {
		f, err := syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(line), "")
		if err == nil {
			return f, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, fmt.Errorf("read the command line: %w: %w; write it as plain commands", ErrUnreadable, first)
}

// checker walks one line.
type checker struct {
	cwd     string
	facts   map[string]Facts
	found   []Finding
	missing []string
	depth   int
	steps   int
	parsed  int
	lenient bool // a function's body before anybody calls it: what cannot be read there is looked at in the call
}

func (c *checker) add(f Finding) {
	if c.lenient && f.Unreadable {
		return
	}
	if !slices.Contains(c.found, f) {
		c.found = append(c.found, f)
	}
}

func (c *checker) unreadable(args []string, why string) {
	c.add(Finding{Kind: KindMerge, Command: show(args), Why: why, Unreadable: true})
}

// at gives the facts of a directory, and notes it when there are none.
func (c *checker) at(dir string) Facts {
	f, ok := c.facts[dir]
	if !ok && dir != nowhere && !slices.Contains(c.missing, dir) {
		c.missing = append(c.missing, dir)
	}
	return f
}

// spend counts one command; past the limits nothing more is looked at and the line is not readable.
func (c *checker) spend() bool {
	c.steps++
	return c.steps <= maxSteps
}

// source runs text that becomes code: eval, sh -c, a here-document fed to a shell, an alias.
func (c *checker) source(st *state, shown []string, text string) *state {
	if onlyHole(strings.TrimSpace(text)) {
		c.unreadable(shown, "the code that it runs cannot be known from the line")
		return st
	}
	if c.parsed += len(text); c.depth >= maxDepth || c.parsed > maxParsed {
		c.unreadable(shown, "commands are nested too deep to follow")
		return st
	}
	for _, h := range holes {
		text = strings.ReplaceAll(text, h, "${__}")
	}
	f, err := parse(strings.ReplaceAll(text, fieldGap, " "))
	if err != nil {
		c.unreadable(shown, "the code that it runs cannot be parsed")
		return st
	}
	c.depth++
	defer func() { c.depth-- }()
	st = st.set("__")
	return c.list(st, f.Stmts)
}
