package strength

// MutationAnswer is the decision of strength.mutation-check (verbs.md 5.5).
type MutationAnswer string

// The answers of strength.mutation-check.
const (
	MutationKilled   MutationAnswer = "killed"
	MutationSurvived MutationAnswer = "survived"
)

// MutationDecision is the answer of strength.mutation-check. Requirement is nil when none was named.
type MutationDecision struct {
	Decision    MutationAnswer `json:"decision"`
	Requirement *string        `json:"requirement"`
	Test        string         `json:"test"`
}

// CheckMutation says whether a named test flipped. Only the exact word "true" kills.
func CheckMutation(requirement *string, test, flipped string) MutationDecision {
	d := MutationDecision{Decision: MutationSurvived, Requirement: requirement, Test: test}
	if flipped == "true" && norm(test) != "" {
		d.Decision = MutationKilled
	}
	return d
}
