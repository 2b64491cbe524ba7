package strength

import (
	"strings"
	"unicode"
)

// Depth is how much proof an increment needs (verbs.md 5.9).
type Depth string

// The depths.
const (
	DepthFast Depth = "fast"
	DepthFull Depth = "full"
)

// The reasons for the full depth, in the order in which they are listed.
const (
	DepthRiskBoundary = "risk-boundary"
	DepthHighRisk     = "high-risk-self-grade"
	DepthDeclared     = "declared-full"
	DepthRatchet      = "gate-failure-ratchet"
	DepthUngradeable  = "ungradeable"
)

// The audit tiers.
const (
	TierCross    = "cross"
	TierInternal = "internal"
)

// DepthQuery is what strength.depth-decide is asked. Escalated is what was stored: once true it stays.
type DepthQuery struct {
	SelfGrade     string
	DeclaredDepth string
	Paths         []string
	Categories    []string
	Escalated     bool
}

// DepthDecision is the answer of strength.depth-decide.
type DepthDecision struct {
	Depth     Depth    `json:"depth"`
	Reasons   []string `json:"reasons"`
	Matched   []string `json:"matched"` // the risk boundaries that were hit
	RiskGrade string   `json:"riskGrade"`
	AuditTier string   `json:"auditTier"`
	Escalated bool     `json:"escalated"`
}

// DepthRecord is a decision as it is stored.
type DepthRecord struct {
	DepthDecision
	Paths      []string `json:"paths"`
	Categories []string `json:"categories"`
}

// DecideDepth grades an increment. Any doubt is the full depth.
func DecideDepth(q DepthQuery, boundaries []string) DepthDecision {
	d := DepthDecision{
		Depth: DepthFast, Reasons: []string{}, Matched: riskMatches(q, boundaries),
		RiskGrade: q.SelfGrade, AuditTier: TierInternal, Escalated: q.Escalated,
	}
	selfHigh := norm(q.SelfGrade) == "high" || norm(q.SelfGrade) == "high-risk"

	if len(d.Matched) > 0 {
		d.Reasons = append(d.Reasons, DepthRiskBoundary)
		d.RiskGrade, d.AuditTier = "high-risk", TierCross
	}
	if selfHigh {
		d.Reasons = append(d.Reasons, DepthHighRisk)
		d.AuditTier = TierCross
	}
	if norm(q.DeclaredDepth) == string(DepthFull) {
		d.Reasons = append(d.Reasons, DepthDeclared)
	}
	if q.Escalated {
		d.Reasons = append(d.Reasons, DepthRatchet)
	}
	if len(d.Reasons) == 0 && len(q.Paths) == 0 && len(q.Categories) == 0 {
		d.Reasons = append(d.Reasons, DepthUngradeable)
	}
	if len(d.Reasons) > 0 {
		d.Depth = DepthFull
	}
	return d
}

func riskMatches(q DepthQuery, boundaries []string) []string {
	matched := []string{}
	for _, b := range boundaries {
		if hits(words(b), q.Paths) || hits(words(b), q.Categories) {
			matched = append(matched, b)
		}
	}
	return matched
}

// hits says whether the words of a boundary stand next to each other in one segment of one of the texts. Whole words:
// "docs/author.md" has no "auth".
func hits(boundary, texts []string) bool {
	if len(boundary) == 0 {
		return false
	}
	for _, t := range texts {
		for segment := range strings.FieldsFuncSeq(t, func(r rune) bool { return r == '/' || r == '\\' }) {
			if holds(words(segment), boundary) {
				return true
			}
		}
	}
	return false
}

func holds(list, part []string) bool {
	for i := 0; i+len(part) <= len(list); i++ {
		found := true
		for j, w := range part {
			found = found && list[i+j] == w
		}
		if found {
			return true
		}
	}
	return false
}

// words splits a name into its words in lower case: at everything that is no letter or digit, between letters and digits, and
// where a capital begins a word.
func words(name string) []string {
	var list []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			list = append(list, strings.ToLower(string(word)))
			word = word[:0]
		}
	}

	runes := []rune(name)
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			flush()
			continue
		}
		if len(word) > 0 && boundaryAt(runes, i) {
			flush()
		}
		word = append(word, r)
	}
	flush()
	return list
}

func boundaryAt(runes []rune, i int) bool {
	before, r := runes[i-1], runes[i]
	switch {
	case unicode.IsDigit(before) != unicode.IsDigit(r):
		return true
	case unicode.IsLower(before) && unicode.IsUpper(r):
		return true
	case unicode.IsUpper(before) && unicode.IsUpper(r) && i+1 < len(runes) && unicode.IsLower(runes[i+1]):
		return true // the last capital of "PIIStore" begins a word
	}
	return false
}
