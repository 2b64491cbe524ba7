package strength

// BurndownAnswer is the decision of strength.burndown-check (verbs.md 5.6).
type BurndownAnswer string

// The answers of strength.burndown-check.
const (
	BurndownOK      BurndownAnswer = "ok"
	BurndownBlocked BurndownAnswer = "blocked"
)

// The reasons of a blocked burndown.
const (
	BurndownGrew          = "net-backlog-grew"
	BurndownAged          = "aged-item"
	BurndownMissingInputs = "missing-inputs" // the merge gate only: a count that is no number
)

// BurndownDecision is the answer of strength.burndown-check.
type BurndownDecision struct {
	Decision BurndownAnswer `json:"decision"`
	Reason   string         `json:"reason,omitempty"`
}

// CheckBurndown blocks a backlog that grows, and one that keeps a security or correctness item past the limit, even when it
// shrank. An item exactly as old as the limit is fine.
func CheckBurndown(opened, resolved float64, items []Item, ageLimitDays float64) BurndownDecision {
	if opened > resolved {
		return BurndownDecision{Decision: BurndownBlocked, Reason: BurndownGrew}
	}
	for _, i := range items {
		category := norm(i.Category)
		if (category == "security" || category == "correctness") && i.AgeDays != nil && *i.AgeDays > ageLimitDays {
			return BurndownDecision{Decision: BurndownBlocked, Reason: BurndownAged}
		}
	}
	return BurndownDecision{Decision: BurndownOK}
}
