package guard

import "strings"

// options is a command's words taken apart the way git does it.
type options struct {
	given []option
	pos   []string // words that are no option
	dash  int      // how many of pos come before "--"; -1 without one
}

type option struct{ name, value string }

// parseOptions reads args. valued names the options that take the next word: single letters, and long names.
func parseOptions(args []string, valued ...string) options {
	o := options{dash: -1}
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			o.dash = len(o.pos)
			o.pos = append(o.pos, args[i+1:]...)
			return o
		case strings.HasPrefix(a, "--"):
			name, value, glued := strings.Cut(a, "=")
			if !glued && longValued(name[2:], valued) && i+1 < len(args) {
				i++
				value = args[i]
			}
			o.given = append(o.given, option{name, value})
		case isShort(a):
			i += o.cluster(a, args[i+1:], valued)
		default:
			o.pos = append(o.pos, a)
		}
	}
	return o
}

// cluster reads "-fu": letters up to one that takes a value. It returns how many further words it used.
func (o *options) cluster(a string, rest, valued []string) int {
	for j := 1; j < len(a); j++ {
		letter := a[j : j+1]
		if !contains(valued, letter) {
			o.given = append(o.given, option{"-" + letter, ""})
			continue
		}
		if j+1 < len(a) {
			o.given = append(o.given, option{"-" + letter, a[j+1:]})
			return 0
		}
		if len(rest) > 0 {
			o.given = append(o.given, option{"-" + letter, rest[0]})
			return 1
		}
		o.given = append(o.given, option{"-" + letter, ""})
	}
	return 0
}

// longValued knows that git takes a long option's unique beginning for the whole.
func longValued(name string, valued []string) bool {
	for _, v := range valued {
		if len(v) > 1 && len(name) > 2 && strings.HasPrefix(v, name) {
			return true
		}
	}
	return false
}

// exact reports whether one of the options was given, spelled in full: for what makes a command harmless.
func (o options) exact(names ...string) bool {
	for _, g := range o.given {
		if contains(names, g.name) {
			return true
		}
	}
	return false
}

// could reports whether one of the options was given, or a beginning that git would take for it: for what makes a
// command dangerous.
func (o options) could(names ...string) bool {
	_, ok := o.value(names...)
	return ok
}

// value returns the last value of one of the options.
func (o options) value(names ...string) (string, bool) {
	value, found := "", false
	for _, g := range o.given {
		for _, n := range names {
			if g.name == n || len(g.name) > 3 && strings.HasPrefix(n, g.name) {
				value, found = g.value, true
			}
		}
	}
	return value, found
}
