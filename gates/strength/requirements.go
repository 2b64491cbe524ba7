package strength

import (
	"bytes"
	"strings"
)

// Coverage counts the requirements of a project (verbs.md 5.7).
type Coverage struct {
	Covered int `json:"covered"`
	Total   int `json:"total"`
}

// CountRequirements counts the lines "- [x] **ID** …" of a requirements file. Other bullets, and ids that are not bold, do
// not count; repeated ids count again.
func CountRequirements(data []byte) Coverage {
	var c Coverage
	for line := range bytes.Lines(data) {
		covered, ok := requirement(string(line))
		if !ok {
			continue
		}
		c.Total++
		if covered {
			c.Covered++
		}
	}
	return c
}

func requirement(line string) (covered, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), "-")
	if !ok {
		return false, false
	}
	rest = strings.TrimSpace(rest)
	if len(rest) < 3 || rest[0] != '[' || rest[2] != ']' || !strings.ContainsRune(" xX", rune(rest[1])) {
		return false, false
	}

	id, ok := strings.CutPrefix(strings.TrimSpace(rest[3:]), "**")
	if !ok {
		return false, false
	}
	end := strings.Index(id, "**")
	if end <= 0 || strings.TrimSpace(id[:end]) == "" {
		return false, false
	}
	return rest[1] != ' ', true
}
