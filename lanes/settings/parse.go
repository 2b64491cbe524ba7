package settings

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// The largest settings file, and the deepest nesting in it, that are read: far above any real one, and low enough that a
// broken or hostile file costs nothing.
const (
	maxBytes = 1 << 20
	maxDepth = 64
)

// Parse reads a settings file. file is its name for messages only. On an error the settings are the zero value and the error
// is a Problems that lists everything that is wrong.
func Parse(name string, data []byte) (Settings, []Warning, error) {
	return Overlay(Default(), name, data)
}

// Overlay reads a settings file over settings that stand already: objects merge, lists and single values replace, null leaves
// what stands.
func Overlay(s Settings, name string, data []byte) (Settings, []Warning, error) {
	f := &file{name: name, data: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))}
	root, err := f.parse()
	if err != nil {
		return Settings{}, nil, err
	}

	f.settings(node{file: f, value: root}, &s)
	slices.SortStableFunc(f.warnings, func(a, b Warning) int { return cmp.Compare(a.Line, b.Line) })
	if len(f.problems) > 0 {
		slices.SortStableFunc(f.problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
		return Settings{}, f.warnings, f.problems
	}
	return s, f.warnings, nil
}

// Rules lists what may stand at each key, in the order of the blocks. A "*" in a path stands for any id.
func Rules() []Rule {
	var rules []Rule
	f := &file{name: "rules", describe: func(r Rule) { rules = append(rules, r) }}
	s := Default()
	f.settings(node{file: f}, &s)
	return rules
}

func (f *file) parse() (hujson.Value, error) {
	if len(f.data) > maxBytes {
		return hujson.Value{}, f.unreadable(1, fmt.Sprintf("the file has %d bytes; keep it below %d", len(f.data), maxBytes))
	}
	if line, deep := tooDeep(f.data); deep {
		return hujson.Value{}, f.unreadable(line, fmt.Sprintf("nested more than %d levels deep", maxDepth))
	}

	root, err := hujson.Parse(f.data)
	if err != nil {
		line, text := splitLine(err.Error())
		return hujson.Value{}, f.unreadable(line, text+"; write JSON, comments and trailing commas are fine")
	}
	return root, nil
}

func (f *file) unreadable(line int, text string) error {
	return Problems{{File: f.name, Line: line, Text: "does not parse: " + text}}
}

// splitLine takes the line number out of hujson's "hujson: line 3, column 5: text".
func splitLine(text string) (int, string) {
	var line, column int
	if _, err := fmt.Sscanf(text, "hujson: line %d, column %d:", &line, &column); err != nil {
		return 1, text
	}
	_, rest, _ := strings.Cut(text, ": ")
	_, rest, _ = strings.Cut(rest, ": ")
	return line, fmt.Sprintf("column %d: %s", column, rest)
}

// tooDeep looks for nesting that would cost the recursive parser its stack. Brackets in comments count as well: a file with
// that many of them is no settings file.
func tooDeep(data []byte) (line int, deep bool) {
	depth, line := 0, 1
	inText := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '\n':
			line++
			inText = false // JSON text never spans lines
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		}
		if depth > maxDepth {
			return line, true
		}
	}
	return 0, false
}
