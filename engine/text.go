package engine

import (
	"strings"
	"time"
)

// stamp writes an instant as the outside sees it; the zero time is "".
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.999999Z")
}

// firstLine shortens a text to one line for the log. The whole text stays in its record.
func firstLine(s string) string {
	line, _, more := strings.Cut(strings.TrimSpace(s), "\n")
	line = strings.TrimSpace(line)
	const most = 200
	if runes := []rune(line); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	if more {
		return line + " …"
	}
	return line
}
