package packet

import (
	"strings"
)

// The verdicts. Only APPROVE opens a gate.
const (
	VerdictApprove = "APPROVE"
	VerdictRevise  = "REVISE"
	VerdictRethink = "RETHINK"
	VerdictUnknown = "UNKNOWN"
)

// verdictLine is a line that gives the verdict: a heading, a bold label, or the word with a colon or dash.
var verdictLine = pattern(`(?i)^ {0,3}(#{1,6}\s+)?([*_]{0,3})Verdict([*_]{0,3})\s*(:|-|–|—)?([*_]{0,3})\s*(.*?)\s*$`)

// verdictWords finds the words of the vocabulary in running text.
var verdictWords = pattern(`\b(?:APPROVE|REVISE|RETHINK)\b`)

// placeholder finds a template's choice of verdicts, in any letter case.
var placeholder = pattern(`(?i)\b(?:APPROVE|REVISE|RETHINK)\b[\]\s*_` + "`" + `]*(?:\||/|\bor\b)[\[\s*_` + "`" + `]*\b(?:APPROVE|REVISE|RETHINK)\b`)

// verdictStart is a value that begins with a word of the vocabulary.
var verdictStart = pattern(`(?i)^[*_\[` + "`" + `]*(APPROVE|REVISE|RETHINK)\b[*_\]` + "`" + `]*\s*(.*)$`)

// Verdict reads the verdict of a review strictly: an explicit Verdict line outside a fence that begins with exactly one
// of APPROVE, REVISE and RETHINK. Everything else is UNKNOWN, and lines that contradict each other are too. The text is
// the verdict as written. Prose that says "approve" somewhere never counts.
func Verdict(body []byte) (verdict, text string) {
	doc, _ := readDocument("", body)
	for i, l := range doc.lines {
		value, ok := verdictValue(doc.lines, i, l)
		if !ok {
			continue
		}
		found, isChoice := readVerdict(value)
		switch {
		case isChoice:
			if text == "" {
				text = value
			}
		case verdict == "":
			verdict, text = found, value
		case verdict != found:
			return VerdictUnknown, text + "; " + value
		}
	}
	if verdict == "" {
		return VerdictUnknown, text
	}
	return verdict, text
}

// verdictValue returns what a Verdict line says, which is the next line with text when the line itself ends.
func verdictValue(lines []line, at int, l line) (string, bool) {
	m := verdictLine().FindStringSubmatch(l.text)
	if m == nil {
		return "", false
	}
	marked, separated, value := m[1] != "" || m[2] != "", m[4] != "", m[6]
	if value == "" {
		return nextText(lines[at+1:]), marked || separated
	}
	if separated {
		return value, true
	}
	// "## Verdict APPROVE" gives one, "## Verdict and reasons" does not.
	return value, marked && verdictStart().MatchString(value)
}

// nextText returns the next line with text, unless a heading comes first.
func nextText(lines []line) string {
	for _, l := range lines {
		switch {
		case l.level > 0:
			return ""
		case !l.blank():
			return strings.TrimSpace(l.text)
		}
	}
	return ""
}

// readVerdict reads a value. A choice between verdicts is a template that nobody filled in.
func readVerdict(value string) (verdict string, isChoice bool) {
	if placeholder().MatchString(value) {
		return VerdictUnknown, true
	}
	m := verdictStart().FindStringSubmatch(value)
	if m == nil || !endsVerdict(m[2]) {
		return VerdictUnknown, false
	}
	verdict = strings.ToUpper(m[1])
	for _, word := range verdictWords().FindAllString(m[2], -1) {
		if word != verdict {
			return VerdictUnknown, false
		}
	}
	return verdict, false
}

// endsVerdict reports whether the verdict is the whole value or a remark follows it: "APPROVE once it compiles" is not
// an APPROVE.
func endsVerdict(rest string) bool {
	if rest == "" {
		return true
	}
	for _, mark := range []string{"—", "–", "-", "(", ".", ",", ":", ";", "!"} {
		if strings.HasPrefix(rest, mark) {
			return true
		}
	}
	return false
}
