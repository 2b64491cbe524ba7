package verbs

import (
	"fmt"
	"slices"
	"strings"
)

// help answers a call that asks for help: a help flag anywhere, or --list before any verb. With a verb the help is that
// verb's, without one it is the list. Nothing is run.
func (c *call) help(words []string) (text string, done bool, err error) {
	if len(words) > 0 && words[0] == "--list" {
		return list(), true, nil
	}
	for _, w := range words {
		switch w {
		case "--version", "-v":
			return "", true, usageError{reason: reasonGlobal, text: w + " is no flag of query; ferrox version prints the version"}
		}
	}
	if !slices.ContainsFunc(words, isHelp) {
		return "", false, nil
	}

	words = slices.DeleteFunc(slices.Clone(words), isHelp)
	if len(words) == 0 || c.find(words) != nil {
		return topHelp(), true, nil
	}
	return c.verb.help(), true, nil
}

func isHelp(w string) bool {
	switch w {
	case "-h", "--help", "-?", "--h", "--usage":
		return true
	}
	return false
}

func topHelp() string {
	return `Usage: ferrox-tools query <family>.<verb> [flags]
       ferrox query <family>.<verb> [flags]

A decision is JSON on standard output with exit 0, a refusal too. Wrong arguments and errors exit 1.

  --raw              JSON on one line
  --pick <field>     one field of the answer: a.b, list[0], list[-1]
  --cwd <dir>        the project's folder; inside a lane the state is the main checkout's
  --ws <name>        a workstream whose settings lie over the project's
  --json-errors      errors as JSON; also --json, or FERROX_JSON_ERRORS=1
  --list             this list of verbs
  <verb> --help      a verb's flags, answer and an example

` + list()
}

func list() string {
	width := 0
	for _, v := range verbs {
		width = max(width, len(v.name))
	}
	var b strings.Builder
	for _, v := range verbs {
		fmt.Fprintf(&b, "%-*s  %s\n", width, v.name, v.what)
	}
	return b.String()
}

func (v *verb) help() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n\nAnswer: %s\n", v.usage(), v.what, v.answers)
	if v.files != "" {
		fmt.Fprintf(&b, "Files:  %s\n", v.files)
	}
	fmt.Fprintf(&b, "\nExample:\n  ferrox query %s\n", v.line())
	return b.String()
}

// line is the example as it is typed.
func (v *verb) line() string {
	text := v.name
	if v.example != "" {
		text += " " + v.example
	}
	return text
}
