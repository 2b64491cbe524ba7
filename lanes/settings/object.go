package settings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/tailscale/hujson"
)

// file is one settings file being read: it gathers what is wrong with it, and, when asked, what may stand in it.
type file struct {
	name     string
	data     []byte
	problems Problems
	warnings []Warning
	describe func(Rule) // nil unless the rules are being listed
}

// node is a place in the file: a value, its key path, and where it begins. The zero value is "not there".
type node struct {
	file  *file
	path  string
	value hujson.Value
}

// object is an object being read key by key. Each read names a key; done reports the keys that nobody named.
type object struct {
	node
	members map[string]node
	order   []string
	known   []string
}

func (n node) there() bool {
	if n.value.Value == nil {
		return false
	}
	return n.value.Value.Kind() != 'n'
}

func (n node) problem(format string, args ...any) {
	n.file.problems = append(n.file.problems, Problem{
		File: n.file.name, Line: n.line(), Key: n.path, Value: n.text(), Text: fmt.Sprintf(format, args...),
	})
}

// nearest adds to the last problem the word that was probably meant.
func (f *file) nearest(word string, known []string) {
	f.problems[len(f.problems)-1].Nearest = Nearest(word, known)
}

func (n node) warn(format string, args ...any) {
	n.file.warnings = append(n.file.warnings, Warning{
		File: n.file.name, Line: n.line(), Key: n.path, Text: fmt.Sprintf(format, args...),
	})
}

func (n node) line() int {
	return 1 + strings.Count(string(n.file.data[:min(n.value.StartOffset, len(n.file.data))]), "\n")
}

// text is the value as it stands in the file, on one line and shortened.
func (n node) text() string {
	raw := string(n.file.data[n.value.StartOffset:min(n.value.EndOffset, len(n.file.data))])
	raw = printable(strings.Join(strings.Fields(raw), " "))
	if runes := []rune(raw); len(runes) > 60 {
		return string(runes[:59]) + "…"
	}
	return raw
}

// printable escapes what a terminal would act on or hide.
func printable(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	return b.String()
}

// kind names the value's JSON type for a message.
func (n node) kind() string {
	switch n.value.Value.Kind() {
	case '"':
		return "text"
	case '0':
		return "a number"
	case 't', 'f':
		return "true or false"
	case '{':
		return "an object"
	case '[':
		return "a list"
	default:
		return "null"
	}
}

// child is the key path of a member; a name that is not a plain word is quoted.
func (n node) child(name string) string {
	plain := name != "" && strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' && r != '$'
	}) < 0
	switch {
	case !plain:
		return n.path + "[" + strconv.Quote(name) + "]"
	case n.path == "":
		return name
	default:
		return n.path + "." + name
	}
}

// object opens the node for reading by key. A node that is absent or of another type is read as empty, so that its rules are
// still known and the rest of the file is still checked.
func (n node) object() *object {
	o := &object{node: n, members: map[string]node{}}
	if !n.there() {
		return o
	}
	obj, ok := n.value.Value.(*hujson.Object)
	if !ok {
		n.problem("%s is %s; write an object { … }", n.text(), n.kind())
		return o
	}

	for _, m := range obj.Members {
		name := m.Name.Value.(hujson.Literal).String()
		member := node{file: n.file, path: n.child(name), value: m.Value}
		if first, twice := o.members[name]; twice {
			node{file: n.file, path: member.path, value: m.Name}.problem("stands here and on line %d; keep one", first.line())
			continue
		}
		o.members[name] = member
		o.order = append(o.order, name)
	}
	return o
}

// at names a key as known and returns what stands there.
func (o *object) at(name string) node {
	o.known = append(o.known, name)
	if n, ok := o.members[name]; ok {
		return n
	}
	return node{file: o.file, path: o.child(name)}
}

// done reports the keys that no read named.
func (o *object) done() {
	for _, m := range o.unknown() {
		m.problem("unknown key; take it out or write one of %s", quoted(o.known))
		o.file.nearest(m.key, o.known)
	}
}

// unknown returns the members that no read named, as nodes at their values.
func (o *object) unknown() []member {
	var rest []member
	for _, name := range o.order {
		if !slices.Contains(o.known, name) {
			rest = append(rest, member{node: o.members[name], key: name})
		}
	}
	return rest
}

// member is a node with the key it stands under.
type member struct {
	node
	key string
}
