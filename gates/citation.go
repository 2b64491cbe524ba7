package gates

import (
	"slices"
	"strings"
)

// CitationFlag is a commit message that speaks of a ruling which does not stand behind it. It is information only: it
// touches neither holds nor budgets, and approves nothing.
type CitationFlag struct {
	Kind string // unknown-ruling, wrong-unit or prose-claim
	Ref  string // the cited id, or the line that claims
}

// RulingTrailer is the trailer that names the rulings a commit follows: comma-separated ids.
const RulingTrailer = "Ferrox-Ruling"

var (
	trailerLine = pattern(`(?i)^\s*(?:ferrox|taskplane)-ruling:\s*(.*?)\s*$`)
	speaks      = pattern(`(?i)\b(?:rulings?|ruled)\b`)
	independent = pattern(`(?i)\bruling-independent\b`)
	token       = pattern(`\b(?:R-?\d{3,}|FIX|ACCEPT|REJECT|APPROVE)\b`)
	affirms     = pattern(`(?i)\b(?:per|appl(?:y|ies|ied)|implement(?:s|ed)?|follow(?:s|ed|ing)?|honou?r(?:s|ed)?)\b.*\brulings?\b|\brulings?\s+(?:applied|received|says)\b|\bas ruled\b`)
	keepsBooks  = pattern(`(?i)\b(?:pending|awaiting|requesting|needs?|hold|until|before|without|no)\b.*\brulings?\b`)
)

// Citations looks at one commit message. own and others list the ids of the rulings that were given on this task, and on
// other tasks.
func Citations(message string, own, others []string) []CitationFlag {
	var flags []CitationFlag
	for line := range strings.Lines(message) {
		if m := trailerLine().FindStringSubmatch(line); m != nil {
			flags = append(flags, trailerFlags(m[1], own, others)...)
			continue
		}
		if claims(line) {
			flags = append(flags, CitationFlag{"prose-claim", strings.TrimSpace(line)})
		}
	}
	return flags
}

func trailerFlags(list string, own, others []string) []CitationFlag {
	var flags []CitationFlag
	for _, id := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		switch {
		case slices.Contains(own, id):
		case slices.Contains(others, id):
			flags = append(flags, CitationFlag{"wrong-unit", id})
		default:
			flags = append(flags, CitationFlag{"unknown-ruling", id})
		}
	}
	return flags
}

// claims reports whether a line of prose says that a ruling was followed. Lines that keep books of one to come do not,
// unless they carry a verdict.
func claims(line string) bool {
	line = independent().ReplaceAllString(line, "")
	if !speaks().MatchString(line) {
		return false
	}
	return token().MatchString(line) || affirms().MatchString(line) && !keepsBooks().MatchString(line)
}
