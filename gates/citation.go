package gates

import (
	"slices"
	"strings"
)

// CitationFlag is a remark on commits and rulings that do not go together: a message that speaks of a ruling which does not
// stand behind it, or a ruling that no message names. It is information only: it touches neither holds nor budgets, and
// approves nothing.
type CitationFlag struct {
	Kind string `json:"kind"` // one of the kinds below
	Ref  string `json:"ref"`  // the ruling's id, or the line that claims one
}

// The kinds of remarks.
const (
	FlagUnknownRuling = "unknown-ruling" // a trailer names an id that no ruling has
	FlagWrongUnit     = "wrong-unit"     // … or a ruling on another task
	FlagProseClaim    = "prose-claim"    // a line of prose says that a ruling was followed
	FlagUncited       = "ruling-uncited" // the worker has the ruling, and no commit of its lane names it
)

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

// shortest is how much of a ruling's id a trailer has to give. Ids that are made together begin alike.
const shortest = 12

// Citations looks at one commit message. own and others list the ids of the rulings that were given on this task, and on
// other tasks.
func Citations(message string, own, others []string) []CitationFlag {
	cited, prose := trailers(message)
	var flags []CitationFlag
	for _, id := range cited {
		switch {
		case named(id, own):
		case named(id, others):
			flags = append(flags, CitationFlag{FlagWrongUnit, id})
		default:
			flags = append(flags, CitationFlag{FlagUnknownRuling, id})
		}
	}
	for _, line := range prose {
		if claims(line) {
			flags = append(flags, CitationFlag{FlagProseClaim, strings.TrimSpace(line)})
		}
	}
	return flags
}

// Uncited lists those of the given rulings that none of the commit messages names in a trailer.
func Uncited(messages, given []string) []CitationFlag {
	var cited []string
	for _, m := range messages {
		ids, _ := trailers(m)
		cited = append(cited, ids...)
	}
	var flags []CitationFlag
	for _, id := range given {
		if !slices.ContainsFunc(cited, func(c string) bool { return named(c, []string{id}) }) {
			flags = append(flags, CitationFlag{FlagUncited, id})
		}
	}
	return flags
}

// trailers takes a message apart into the ids that its trailers name, and the lines of everything else. A list that ends
// with a comma goes on in the next line.
func trailers(message string) (ids, prose []string) {
	more := false
	for line := range strings.Lines(message) {
		list, is := strings.TrimSpace(line), more
		if m := trailerLine().FindStringSubmatch(line); m != nil {
			list, is = m[1], true
		}
		if !is {
			prose = append(prose, line)
			continue
		}
		ids = append(ids, strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })...)
		more = strings.HasSuffix(list, ",")
	}
	return ids, prose
}

// named reports whether a trailer means one of the ids: in any letter case, and as far as it tells them apart.
func named(cite string, ids []string) bool {
	cite = strings.ToUpper(cite)
	hits := 0
	for _, id := range ids {
		if id = strings.ToUpper(id); id == cite {
			return true
		}
		if len(cite) >= shortest && strings.HasPrefix(id, cite) {
			hits++
		}
	}
	return hits == 1
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
