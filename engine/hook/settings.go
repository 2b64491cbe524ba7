package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/tailscale/hujson"
)

// withEntry returns settings with our entry in them: at its place when it is there already, else after what is there.
// Comments and everything else are kept.
func withEntry(f agentFile, old []byte, want entry) ([]byte, error) {
	if len(bytes.TrimSpace(old)) == 0 {
		return append(indented(map[string]any{"hooks": map[string]any{f.event: []entry{want}}}, 0), '\n'), nil
	}
	root, err := hujson.Parse(old)
	if err != nil {
		return nil, fmt.Errorf("read %s:%s: %w", f.path, errorLine(err), err)
	}
	top, ok := root.Value.(*hujson.Object)
	if !ok {
		return nil, wrongShape(f, old, &root, "the settings are no JSON object")
	}
	hooks, err := member(f, old, top, "hooks")
	if err != nil {
		return nil, err
	}
	if hooks == nil {
		add(top, 1, "hooks", indented(map[string]any{f.event: []entry{want}}, 1))
		return root.Pack(), nil
	}
	events, ok := hooks.Value.(*hujson.Object)
	if !ok {
		return nil, wrongShape(f, old, hooks, `"hooks" is no JSON object`)
	}
	groups, err := member(f, old, events, f.event)
	if err != nil {
		return nil, err
	}
	if groups == nil {
		add(events, 2, f.event, indented([]entry{want}, 2))
		return root.Pack(), nil
	}
	list, ok := groups.Value.(*hujson.Array)
	if !ok {
		return nil, wrongShape(f, old, groups, fmt.Sprintf("%q is no list", f.event))
	}
	if err := placeEntry(f, old, list, want); err != nil {
		return nil, err
	}
	return root.Pack(), nil
}

// placeEntry puts our entry where an earlier one of ours is, or at the end of the list.
func placeEntry(f agentFile, old []byte, list *hujson.Array, want entry) error {
	for i := range list.Elements {
		e := &list.Elements[i]
		got, err := readEntry(*e)
		if err != nil {
			return wrongShape(f, old, e, fmt.Sprintf("an entry of %q is no group of hooks (%v)", f.event, err))
		}
		at := -1
		for j, h := range got.Hooks {
			if ours(h.Command) {
				at = j
			}
		}
		switch {
		case at < 0:
			continue
		case len(got.Hooks) == 1 && got.same(want):
			return nil
		case len(got.Hooks) == 1:
			e.Value = parsed(indented(want, 3))
			return nil
		}
		// A group that someone has put together keeps its matcher and its other hooks.
		return replaceHandler(f, old, e, at, want.Hooks[0])
	}
	appendElement(list, indented(want, 3))
	return nil
}

func (e entry) same(o entry) bool {
	return e.Matcher == o.Matcher && len(e.Hooks) == 1 && e.Hooks[0] == o.Hooks[0]
}

func readEntry(v hujson.Value) (entry, error) {
	v = v.Clone()
	v.Standardize()
	var e entry
	// Only what we compare is typed; what other hooks carry beside it is theirs.
	var loose struct {
		Matcher any `json:"matcher"`
		Hooks   []struct {
			handler
			Timeout any `json:"timeout"`
			Command any `json:"command"`
		} `json:"hooks"`
	}
	if err := json.Unmarshal(v.Pack(), &loose); err != nil {
		return e, err
	}
	e.Matcher, _ = loose.Matcher.(string)
	for _, h := range loose.Hooks {
		seconds, _ := h.Timeout.(float64)
		h.handler.Timeout = int(seconds)
		h.handler.Command, _ = h.Command.(string)
		e.Hooks = append(e.Hooks, h.handler)
	}
	return e, nil
}

func replaceHandler(f agentFile, old []byte, group *hujson.Value, at int, want handler) error {
	hooks := group.Find("/hooks")
	if hooks == nil {
		return wrongShape(f, old, group, "a group without hooks")
	}
	list, ok := hooks.Value.(*hujson.Array)
	if !ok || at >= len(list.Elements) {
		return wrongShape(f, old, hooks, `"hooks" of a group is no list`)
	}
	got, err := readEntry(*group)
	if err == nil && got.Hooks[at] == want {
		return nil
	}
	list.Elements[at].Value = parsed(indented(want, 5))
	return nil
}

// member looks a key up. A key that is there twice cannot be read: programs differ in which one counts.
func member(f agentFile, old []byte, o *hujson.Object, key string) (*hujson.Value, error) {
	var found *hujson.Value
	for i := range o.Members {
		m := &o.Members[i]
		name, ok := m.Name.Value.(hujson.Literal)
		if !ok || name.String() != key {
			continue
		}
		if found != nil {
			return nil, wrongShape(f, old, &m.Value, fmt.Sprintf("%q is there twice", key))
		}
		found = &m.Value
	}
	return found, nil
}

func add(o *hujson.Object, depth int, key string, value []byte) {
	m := hujson.ObjectMember{Name: hujson.Value{Value: hujson.String(key)}, Value: hujson.Value{Value: parsed(value)}}
	m.Value.BeforeExtra = hujson.Extra(" ")
	m.Name.BeforeExtra, o.AfterExtra = place(o.AfterExtra, depth)
	if n := len(o.Members); n > 0 {
		m.Value.AfterExtra = trailing(&o.Members[n-1].Value)
	}
	o.Members = append(o.Members, m)
}

func appendElement(a *hujson.Array, value []byte) {
	e := hujson.Value{Value: parsed(value)}
	e.BeforeExtra, a.AfterExtra = place(a.AfterExtra, 3)
	if n := len(a.Elements); n > 0 {
		e.AfterExtra = trailing(&a.Elements[n-1])
	}
	a.Elements = append(a.Elements, e)
}

// place gives a new last part its line. What stood before the closing bracket, comments too, stays before the new part.
func place(after hujson.Extra, depth int) (before, rest hujson.Extra) {
	text := bytes.TrimRight(after, " \t\r\n")
	before = append(append(hujson.Extra(nil), text...), '\n')
	before = append(before, bytes.Repeat([]byte("  "), depth)...)
	rest = append(hujson.Extra{'\n'}, bytes.Repeat([]byte("  "), depth-1)...)
	return before, rest
}

// trailing moves a trailing comma (in hujson: something after the last value) from the part that was last to the new one.
func trailing(last *hujson.Value) hujson.Extra {
	extra := last.AfterExtra
	if extra == nil {
		return nil
	}
	last.AfterExtra = nil
	if len(bytes.TrimSpace(extra)) > 0 {
		last.AfterExtra = extra // a comment of that value's
	}
	return hujson.Extra{}
}

// parsed turns JSON of our own making into a value.
func parsed(data []byte) hujson.ValueTrimmed {
	v, err := hujson.Parse(data)
	if err != nil {
		return hujson.Literal("null")
	}
	return v.Value
}

var lineOf = regexp.MustCompile(`line (\d+)`)

// errorLine takes the line out of a parser's error.
func errorLine(err error) string {
	if m := lineOf.FindStringSubmatch(err.Error()); m != nil {
		return m[1]
	}
	return "1"
}

func wrongShape(f agentFile, old []byte, at *hujson.Value, what string) error {
	line := 1 + bytes.Count(old[:min(at.StartOffset, len(old))], []byte("\n"))
	return fmt.Errorf("read %s:%d: %s", f.path, line, what)
}
