package strength

import (
	"bytes"
	"strconv"
	"strings"
)

// Backlog is what the table of open entries says (verbs.md 5.10): security rows are findings and items, correctness rows are
// items. Rows of other severities are not counted.
type Backlog struct {
	Findings []Finding
	Items    []Item
}

// ReadBacklog reads the table lines below a heading "## Open": ID, Sev, From, Item, Blocks.
func ReadBacklog(data []byte) Backlog {
	var b Backlog
	open := false
	for line := range bytes.Lines(data) {
		text := strings.TrimSpace(string(line))
		if level, title := heading(text); level > 0 {
			open = (open && level > 2) || (level == 2 && isOpen(title))
			continue
		}
		if open && strings.HasPrefix(text, "|") {
			b.row(cells(text))
		}
	}
	return b
}

func heading(line string) (level int, title string) {
	title = strings.TrimLeft(line, "#")
	level = len(line) - len(title)
	if level == 0 || level > 6 || (title != "" && title[0] != ' ' && title[0] != '\t') {
		return 0, ""
	}
	return level, strings.TrimSpace(title)
}

// isOpen takes "Open", "OPEN" and "Open (12)", not "Opened".
func isOpen(title string) bool {
	word := strings.FieldsFunc(title, func(r rune) bool { return strings.ContainsRune(" \t:(", r) })
	return len(word) > 0 && strings.EqualFold(word[0], "open")
}

func (b *Backlog) row(cells []string) {
	if len(cells) < 2 {
		return
	}
	category := ""
	switch strings.ToUpper(cells[1]) {
	case "SEC", "SECURITY":
		category = "security"
		b.Findings = append(b.Findings, Finding{Category: category})
	case "CORR", "CORRECTNESS":
		category = "correctness"
	default:
		return
	}

	item := Item{Category: category}
	if len(cells) > 3 {
		item.AgeDays = age(cells[3])
	}
	b.Items = append(b.Items, item)
}

// cells splits a table line; "\|" is a bar inside a cell.
func cells(line string) []string {
	const bar = "\x00"
	line = strings.ReplaceAll(strings.ReplaceAll(line, bar, ""), `\|`, bar)
	line = strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|")
	parts := strings.Split(line, "|")
	for i, p := range parts {
		parts[i] = strings.TrimSpace(strings.ReplaceAll(p, bar, "|"))
	}
	return parts
}

// age finds "age_days=N", "age=N" or "age: N" in an item, with or without a "d". There is no word boundary before it: the
// tables in use rely on that, so "coverage=30" is an age as well.
func age(item string) *float64 {
	for rest := strings.ToLower(item); ; {
		_, after, found := strings.Cut(rest, "age")
		if !found {
			return nil
		}
		rest = after
		if days, ok := days(after); ok {
			return &days
		}
	}
}

func days(text string) (float64, bool) {
	text = strings.TrimLeft(strings.TrimPrefix(text, "_days"), " \t")
	if text == "" || (text[0] != '=' && text[0] != ':') {
		return 0, false
	}
	text = strings.TrimLeft(text[1:], " \t")
	end := strings.IndexFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if end < 0 {
		end = len(text)
	}
	f, err := strconv.ParseFloat(strings.TrimRight(text[:end], "."), 64)
	return f, err == nil
}
