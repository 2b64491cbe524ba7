package gates

import "strings"

// Type says what a gate does when its check fails (gates taxonomy).
type Type string

// The four types of gates.
const (
	TypePreFlight  Type = "Pre-flight" // blocks entry, nothing was begun; put the precondition right and try again
	TypeRevision   Type = "Revision"   // loops back to the producer with feedback, bounded by gate.cap-check
	TypeEscalation Type = "Escalation" // pauses and waits for a person, bounded by human-sla.check
	TypeAbort      Type = "Abort"      // stops at once, keeps the state, reports why
)

// MatrixRow is one place where a workflow meets a gate.
type MatrixRow struct {
	Workflow  string
	Phase     string
	Type      Type
	Artifacts string // what is looked at
	Failure   string // what happens when the check fails
	Verb      string // the decision verb that bounds or makes the check; empty when a file's presence decides
}

// Matrix lists the workflow gates in the order of the workflows (gate matrix).
func Matrix() []MatrixRow {
	return []MatrixRow{
		{"plan-phase", "Entry", TypePreFlight, "REQUIREMENTS.md, ROADMAP.md", "Block with missing-file message", ""},
		{"plan-phase", "Step 12", TypeRevision, "PLAN.md quality", "Loop to planner", "gate.cap-check"},
		{"plan-phase", "Post-revision", TypeEscalation, "Unresolved issues", "Surface to developer", "human-sla.check"},
		{"execute-phase", "Entry", TypePreFlight, "PLAN.md", "Block with missing-plan message", ""},
		{"execute-phase", "Completion", TypeRevision, "SUMMARY.md completeness", "Re-run incomplete tasks", "gate.cap-check"},
		{"verify-work", "Entry", TypePreFlight, "SUMMARY.md", "Block with missing-summary", ""},
		{"verify-work", "Evaluation", TypeEscalation, "Failed criteria", "Surface gaps to developer", "human-sla.check"},
		{"next", "Entry", TypeAbort, "Error state, checkpoints", "Stop with diagnostic", ""},
	}
}

// MatrixTable renders rows as a markdown table.
func MatrixTable(rows []MatrixRow) string {
	var b strings.Builder
	b.WriteString("| Workflow | Phase | Gate type | Artifacts checked | Failure behaviour | Verb |\n|---|---|---|---|---|---|\n")
	for _, r := range rows {
		verb := ""
		if r.Verb != "" {
			verb = "`" + r.Verb + "`"
		}
		cells := []string{r.Workflow, r.Phase, string(r.Type), r.Artifacts, r.Failure, verb}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return b.String()
}
