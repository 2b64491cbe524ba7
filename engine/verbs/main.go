package verbs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Main runs one decision verb and returns the exit status: 0 for a decision, refusals included; 1 for bad arguments and for
// whatever went wrong. argv begins with the program's name; "query" may follow it or not. cwd is the process's directory. No verb reads
// standard input.
func Main(argv []string, _ io.Reader, stdout, stderr io.Writer, env func(string) string, cwd string) (exit int) {
	c := &call{ctx: context.Background(), env: env, cwd: cwd, jsonErrors: env("FERROX_JSON_ERRORS") == "1"}
	var words []string
	if len(argv) > 0 {
		words = argv[1:]
	}

	out, err := c.dispatch(words)
	c.report(stderr, err)
	if _, werr := io.WriteString(stdout, out); werr != nil && err == nil {
		fmt.Fprintf(stderr, "Error: print the answer: %v; the decision was made, look at the state before asking again\n", werr)
		return 1
	}
	return status(err)
}

// call is one run of a verb.
type call struct {
	ctx        context.Context // ends the programs that a verb asks
	env        func(string) string
	cwd        string // of the process; file arguments of the sealed verbs are relative to it
	dir        string // of the project, --cwd
	verb       *verb
	args       []string // after the verb, globals taken out
	raw        bool
	pick       string
	picked     bool
	jsonErrors bool
	workstream string
	warnings   []string
	bad        []string // what is wrong with the flags
	project
}

// dispatch returns what goes to standard output. With an error it is empty, but for verbs that answer and fail.
func (c *call) dispatch(words []string) (string, error) {
	for _, w := range words {
		if !utf8.ValidString(w) {
			return "", usageError{reason: reasonUsage, text: fmt.Sprintf("argument %q is not valid UTF-8; write it in UTF-8", w)}
		}
	}
	words, err := c.globals(words)
	if err != nil {
		return "", err
	}
	if len(words) > 0 && words[0] == "query" {
		words = words[1:]
	}
	if help, done, err := c.help(words); done {
		return help, err
	}
	if err := c.find(words); err != nil {
		return "", err
	}

	if !c.verb.noProject {
		c.project.open(c)
	}
	result, err := c.verb.run(c)
	var answered refusal
	if result == nil || (err != nil && !errors.As(err, &answered)) {
		return "", err // a decision that could not be carried out is none
	}
	text, perr := c.print(result)
	return text, errors.Join(err, perr)
}

// globals takes the flags out that may stand anywhere.
func (c *call) globals(words []string) ([]string, error) {
	c.dir = c.cwd
	c.jsonErrors = c.jsonErrors || slices.ContainsFunc(words, isJSONErrors) // also for an error that stands before it
	c.workstream = c.env("FERROX_WORKSTREAM")
	var rest []string
	for i := 0; i < len(words); i++ {
		w := words[i]
		value, inline := strings.CutPrefix(w, "--cwd=")
		switch {
		case w == "--raw":
			c.raw = true
		case isJSONErrors(w):
		case inline:
			if err := c.chdir(value); err != nil {
				return nil, err
			}
		case w == "--cwd" || w == "--pick" || w == "--ws" || w == "--default":
			i++
			if i == len(words) {
				return nil, usageError{reason: reasonGlobal, text: w + " has no value; write it after the flag"}
			}
			if err := c.global(w, words[i]); err != nil {
				return nil, err
			}
		default:
			rest = append(rest, w)
		}
	}
	return rest, nil
}

// isJSONErrors takes --json as well: it is what the other commands call it, and answers are JSON in any case.
func isJSONErrors(w string) bool { return w == "--json-errors" || w == "--json" }

func (c *call) global(name, value string) error {
	switch name {
	case "--cwd":
		return c.chdir(value)
	case "--pick":
		c.pick, c.picked = value, true
	case "--ws":
		c.workstream = value
	}
	return nil // --default is taken out for callers that pass it everywhere
}

func (c *call) chdir(dir string) error {
	if dir == "" {
		return usageError{reason: reasonGlobal, text: "--cwd has no value; write a folder after the flag"}
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(c.cwd, dir)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return usageError{reason: reasonGlobal, text: fmt.Sprintf("--cwd: %q is no folder; name the project's folder", dir)}
	}
	c.dir = dir
	return nil
}

// find splits "family.verb" at its first dot, or takes two words.
func (c *call) find(words []string) error {
	if len(words) == 0 {
		return usageError{reason: reasonUnknown, text: "Usage: ferrox-tools query <family>.<verb> [flags]; no verb given, ferrox-tools query --list shows them"}
	}
	family, name, dotted := strings.Cut(words[0], ".")
	rest := words[1:]
	if !dotted && len(rest) > 0 {
		name, rest = rest[0], rest[1:]
	}

	full := family + "." + name
	for i := range verbs {
		if verbs[i].name == full && family != "" && name != "" {
			c.verb, c.args = &verbs[i], rest
			return nil
		}
	}
	text := fmt.Sprintf("unknown verb %q; ferrox-tools query --list shows them", full)
	if n := nearest(full); n != "" {
		text = fmt.Sprintf("unknown verb %q, did you mean %q? ferrox-tools query --list shows them all", full, n)
	}
	return usageError{reason: reasonCommand, text: text}
}

func (c *call) warn(format string, args ...any) {
	c.warnings = append(c.warnings, fmt.Sprintf(format, args...))
}
