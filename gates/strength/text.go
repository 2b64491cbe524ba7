package strength

import (
	"encoding/json"
	"strings"
)

// norm is how words are compared: trimmed, in lower case.
func norm(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// text is a JSON text; a value that is none is empty.
func text(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// numberOf is a JSON number; ok is false for everything else, null as well.
func numberOf(raw json.RawMessage) (f float64, ok bool) {
	var p *float64
	if len(raw) == 0 || json.Unmarshal(raw, &p) != nil || p == nil {
		return 0, false
	}
	return *p, true
}

// absent says that a value is not there: null never means zero.
func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

func contains(words []string, word string) bool {
	for _, w := range words {
		if norm(w) == word {
			return true
		}
	}
	return false
}
