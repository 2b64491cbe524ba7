package settings

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tailscale/hujson"
)

// Rule says what may stand at a key: the schema and the docs are made from the rules, the loader applies them.
type Rule struct {
	Path string
	Type string   // count, number, text, flag, duration, list
	Min  float64  // count and number
	Max  float64  // count and number; 0 is "no limit"
	From string   // duration, the shortest
	To   string   // duration, the longest
	Enum []string // text; empty is "any"
}

func (n node) rule(r Rule) {
	if n.file.describe == nil {
		return
	}
	r.Path = n.path
	n.file.describe(r)
}

// number reads a JSON number into to. ok is false when nothing usable stands there.
func (n node) number() (float64, bool) {
	if !n.there() {
		return 0, false
	}
	lit, ok := n.value.Value.(hujson.Literal)
	if !ok || lit.Kind() != '0' {
		n.problem("%s is %s; write a number", n.text(), n.kind())
		return 0, false
	}
	f, err := strconv.ParseFloat(string(lit), 64)
	if err != nil {
		n.problem("%s is too large for a number", n.text())
		return 0, false
	}
	return f, true
}

// count reads a whole number from low to high.
func (n node) count(to *int, low, high int) {
	n.rule(Rule{Type: "count", Min: float64(low), Max: float64(high)})
	f, ok := n.number()
	if !ok {
		return
	}
	if f != math.Trunc(f) {
		n.problem("%s is a fraction; write a whole number", n.text())
		return
	}
	if f < float64(low) || f > float64(high) {
		n.problem("%s is out of range; write a whole number from %d to %d", n.text(), low, high)
		return
	}
	*to = int(f)
}

// amount reads a number from 0, such as seconds or days.
func (n node) amount(to *float64) {
	n.rule(Rule{Type: "number"})
	f, ok := n.number()
	if !ok {
		return
	}
	if f < 0 {
		n.problem("%s is below zero; write a number from 0", n.text())
		return
	}
	*to = f
}

// str returns a JSON string. ok is false when nothing usable stands there.
func (n node) str() (string, bool) {
	if !n.there() {
		return "", false
	}
	lit, ok := n.value.Value.(hujson.Literal)
	if !ok || lit.Kind() != '"' {
		n.problem("%s is %s; write text in double quotes", n.text(), n.kind())
		return "", false
	}
	return lit.String(), true
}

// string reads text as it is.
func (n node) string(to *string) {
	n.rule(Rule{Type: "text"})
	if s, ok := n.str(); ok {
		*to = s
	}
}

// filePath reads a path below the project. Empty text leaves the default; a zero byte can never name a file.
func (n node) filePath(to *string) {
	n.rule(Rule{Type: "text"})
	s, ok := n.str()
	if !ok || s == "" {
		return
	}
	if strings.ContainsRune(s, 0) {
		n.problem("%s holds a zero byte; write a path", n.text())
		return
	}
	*to = s
}

// choice reads one of some words.
func (n node) choice(to *string, words ...string) {
	n.rule(Rule{Type: "text", Enum: words})
	s, ok := n.str()
	if !ok {
		return
	}
	if !slices.Contains(words, s) {
		n.problem("%s is not known; write one of %s", n.text(), quoted(words))
		n.file.nearest(s, words)
		return
	}
	*to = s
}

// flag reads true or false.
func (n node) flag(to *bool) {
	n.rule(Rule{Type: "flag"})
	if !n.there() {
		return
	}
	lit, ok := n.value.Value.(hujson.Literal)
	if !ok || (lit.Kind() != 't' && lit.Kind() != 'f') {
		n.problem("%s is %s; write true or false", n.text(), n.kind())
		return
	}
	*to = lit.Bool()
}

// duration reads text such as "30s", "4h" or "30d", from low to high.
func (n node) duration(to *time.Duration, low, high time.Duration) {
	n.rule(Rule{Type: "duration", From: formatDuration(low), To: formatDuration(high)})
	if !n.there() {
		return
	}
	lit, ok := n.value.Value.(hujson.Literal)
	if !ok || lit.Kind() != '"' {
		n.problem("%s is %s; write a duration as text, \"90s\", \"4h\" or \"30d\"", n.text(), n.kind())
		return
	}
	d, err := ParseDuration(lit.String())
	if err != nil {
		n.problem("%s is no duration; write \"90s\", \"4h\", \"1d12h\" or \"30d\"", n.text())
		return
	}
	if d < low || d > high {
		n.problem("%s is out of range; write a duration from %s to %s", n.text(), formatDuration(low), formatDuration(high))
		return
	}
	*to = d
}

// elements returns the members of a list. ok is false when no list stands there.
func (n node) elements() ([]node, bool) {
	if !n.there() {
		return nil, false
	}
	arr, ok := n.value.Value.(*hujson.Array)
	if !ok {
		n.problem("%s is %s; write a list [ … ]", n.text(), n.kind())
		return nil, false
	}
	nodes := make([]node, len(arr.Elements))
	for i, v := range arr.Elements {
		nodes[i] = node{file: n.file, path: n.path + "[" + strconv.Itoa(i) + "]", value: v}
	}
	return nodes, true
}

// words reads a list of non-empty texts. It replaces what stood in to, also when it is empty.
func (n node) words(to *[]string) {
	n.rule(Rule{Type: "list"})
	nodes, ok := n.elements()
	if !ok {
		return
	}
	list := make([]string, 0, len(nodes))
	for _, e := range nodes {
		list = append(list, e.word())
	}
	*to = list
}

func (n node) word() string {
	if !n.there() {
		n.problem("null in a list; write text in double quotes or take it out")
		return ""
	}
	s, ok := n.str()
	if ok && strings.TrimSpace(s) == "" {
		n.problem("empty text in a list; take it out")
	}
	return s
}

// argv reads one command, argument by argument. An argument may be empty, the program may not.
func (n node) argv(to *[]string) {
	n.rule(Rule{Type: "list"})
	nodes, ok := n.elements()
	if !ok {
		return
	}
	list := make([]string, 0, len(nodes))
	for i, e := range nodes {
		if i == 0 || !e.there() {
			list = append(list, e.word())
			continue
		}
		s, _ := e.str()
		list = append(list, s)
	}
	*to = list
}

// argvs reads a list of commands. A command without a program is an error.
func (n node) argvs(to *[][]string) {
	n.rule(Rule{Type: "list"})
	nodes, ok := n.elements()
	if !ok {
		return
	}
	list := make([][]string, 0, len(nodes))
	for _, e := range nodes {
		var command []string
		e.argv(&command)
		if _, isList := e.value.Value.(*hujson.Array); isList && len(command) == 0 {
			e.problem("empty command; write [\"program\", \"argument\", …]")
		}
		if !e.there() {
			e.problem("null in a list; write [\"program\", …] or take it out")
		}
		list = append(list, command)
	}
	*to = list
}

func quoted(words []string) string {
	q := make([]string, len(words))
	for i, w := range words {
		q[i] = strconv.Quote(w)
	}
	return strings.Join(q, ", ")
}
