package packet

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// document is a Markdown file as lines, each of which knows whether it is a heading and whether it counts at all.
type document struct {
	file  string
	lines []line
	front []line // between the --- lines at the very top
}

// line is one line of a document, without its line ending.
type line struct {
	number int // from 1
	text   string
	level  int    // 1 to 6 for a heading, else 0
	title  string // the heading's text
}

// quoted reports whether the line is part of a quotation, which is a remark and never an entry.
func (l line) quoted() bool { return strings.HasPrefix(strings.TrimSpace(l.text), ">") }

// blank reports whether the line holds nothing.
func (l line) blank() bool { return strings.TrimSpace(l.text) == "" }

// readDocument splits a file into the lines that count. Front matter, fenced code and HTML comments are left out, so
// that whoever reads the document cannot take an example for the thing itself.
func readDocument(file string, body []byte) (document, []Problem) {
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	if !utf8.Valid(body) || bytes.IndexByte(body, 0) >= 0 {
		return document{file: file}, []Problem{failure(CodeNotText, file, 0, "reading the file: it is not UTF-8 text; save it as UTF-8")}
	}

	all := splitLines(string(body))
	front, rest := splitFrontMatter(all)
	doc := document{file: file, front: front}

	var hide hider
	for _, l := range rest {
		if hide.hides(l) {
			continue
		}
		l.level, l.title = heading(l.text)
		doc.lines = append(doc.lines, l)
	}
	if hide.open() {
		return doc, []Problem{failure(CodeFenceUnclosed, file, hide.since,
			"reading the file: the fence or comment that opens here is never closed and hides the rest; close it")}
	}
	return doc, nil
}

func splitLines(text string) []line {
	var lines []line
	for i, t := range strings.Split(text, "\n") {
		lines = append(lines, line{number: i + 1, text: strings.TrimSuffix(t, "\r")})
	}
	return lines
}

// frontLine is a line that front matter may have: blank, a key, a list item, something indented or a remark.
var frontLine = pattern(`^(?:\s*$|[\w.-]+\s*:|-\s|\s+\S|# )`)

// splitFrontMatter returns what stands between two --- lines at the very top, and the rest. Where no --- answers the
// first one, or where something else than keys stands between them, they are rules and nothing is left out.
func splitFrontMatter(lines []line) (front, rest []line) {
	if strings.TrimRight(lines[0].text, " \t") != "---" {
		return nil, lines
	}
	for i, l := range lines[1:] {
		if strings.TrimRight(l.text, " \t") == "---" {
			return lines[1 : i+1], lines[i+2:]
		}
		if !frontLine().MatchString(l.text) {
			break
		}
	}
	return nil, lines
}

// heading reads an ATX heading: up to three blanks, one to six signs, a blank.
func heading(text string) (level int, title string) {
	trimmed := strings.TrimLeft(text, " ")
	if len(text)-len(trimmed) > 3 {
		return 0, ""
	}
	after := strings.TrimLeft(trimmed, "#")
	level = len(trimmed) - len(after)
	if level == 0 || level > 6 {
		return 0, ""
	}
	if after != "" && after[0] != ' ' && after[0] != '\t' {
		return 0, ""
	}
	return level, dropClosing(strings.TrimSpace(after))
}

// dropClosing removes the closing sequence of a heading, "Title ##". A sign that touches the last word, as in C#, stays.
func dropClosing(title string) string {
	open := strings.TrimRight(title, "#")
	if open == "" {
		return ""
	}
	if trimmed := strings.TrimRight(open, " \t"); trimmed != open {
		return trimmed
	}
	return title
}

// hider tells which lines are inside a fence or a comment.
type hider struct {
	mark    byte // '`' or '~' inside a fence
	length  int  // of its opener
	comment bool
	since   int // line of the opener
}

func (h *hider) open() bool { return h.length > 0 || h.comment }

// hides takes the next line and reports whether it is left out: everything from an opener to its closer, both included.
func (h *hider) hides(l line) bool {
	text := strings.TrimSpace(l.text)
	switch {
	case h.length > 0:
		mark, length, info := fence(text)
		if mark == h.mark && length >= h.length && info == "" {
			h.length = 0
		}
		return true
	case h.comment:
		h.comment = !strings.Contains(text, "-->")
		return true
	}

	if rest, ok := strings.CutPrefix(text, "<!--"); ok {
		h.comment, h.since = !strings.Contains(rest, "-->"), l.number
		return true
	}
	mark, length, info := fence(text)
	if length == 0 || mark == '`' && strings.ContainsRune(info, '`') {
		return false
	}
	h.mark, h.length, h.since = mark, length, l.number
	return true
}

// fence reads a line of three or more backticks or tildes and what follows them. Any indentation is accepted, because
// fences stand inside list items. Length is 0 for every other line.
func fence(text string) (mark byte, length int, info string) {
	if text == "" || text[0] != '`' && text[0] != '~' {
		return 0, 0, ""
	}
	rest := strings.TrimLeft(text, text[:1])
	if len(text)-len(rest) < 3 {
		return 0, 0, ""
	}
	return text[0], len(text) - len(rest), strings.TrimSpace(rest)
}
