package verbs

import (
	"strings"

	"ferrox/lanes/settings"
)

// verb is one decision verb: how it is called, what it answers and touches, and what runs it.
type verb struct {
	name      string
	what      string // one sentence
	flags     []flag
	answers   string // the fields of the result and their values
	files     string // what it reads and writes; empty is nothing
	example   string // the arguments of a call that works in an empty project
	noProject bool   // needs neither project nor settings
	strict    bool   // malformed arguments have the reason InvalidArgs
	run       func(*call) (any, error)
}

// flag is one flag of a verb, for usage and docs.
type flag struct {
	name     string
	value    string // what stands after it; empty when nothing does
	optional bool
}

// usage is the first line of every complaint about arguments.
func (v *verb) usage() string {
	words := []string{"Usage: ferrox-tools query", v.name}
	for _, f := range v.flags {
		w := "--" + f.name
		if f.value != "" {
			w += " <" + f.value + ">"
		}
		if f.optional {
			w = "[" + w + "]"
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

func (v *verb) badArgs() string {
	if v.strict {
		return reasonArgs
	}
	return reasonUnknown
}

// nearest is the verb that a name resembles, or "".
func nearest(name string) string {
	names := make([]string, len(verbs))
	for i, v := range verbs {
		names[i] = v.name
	}
	return settings.Nearest(name, names)
}
