package strength

import "ferrox/gates/coord"

// GateAnswer is the decision of strength.merge-gate (verbs.md 5.10).
type GateAnswer string

// The answers of strength.merge-gate. The zero value is neither: nothing passes by default.
const (
	GatePass  GateAnswer = "pass"
	GateBlock GateAnswer = "block"
)

// GateReason is one thing that stands against a merge.
type GateReason string

// The reasons of a block, in the order in which they are listed.
const (
	ReasonDepth      GateReason = "depth-decision-not-valid"
	ReasonCrossAudit GateReason = "cross-audit-not-passed"
	ReasonReceipts   GateReason = "receipts-not-valid"
	ReasonCoverage   GateReason = "coverage-not-landed"
	ReasonMutation   GateReason = "mutation-survived"
	ReasonOwnership  GateReason = "ownership-not-ok"
	ReasonHotSeam    GateReason = "hot-seam-not-serialized"
	ReasonBurndown   GateReason = "burndown-not-ok"
	ReasonSecurity   GateReason = "security-open"
	ReasonSevere     GateReason = "critical-high-open"
	ReasonInput      GateReason = "input-verb-error"
)

// Evidence is what the merge gate decides on. Pointers and answers are nil or empty where a step failed or was not made, and
// then the criterion is not met; Errors names the steps that failed.
type Evidence struct {
	Fast       bool // --depth fast: a depth decision stands in for receipts and mutation
	Cross      bool // --audit-tier cross: a cross audit stands in for them
	DepthValid bool
	AuditValid bool

	Receipts       []ReceiptAnswer // one a requirement
	Covered        *int
	Baseline       *float64
	Mutation       MutationAnswer
	Ownership      coord.OwnershipAnswer
	Seams          coord.SeamAnswer
	SeamSerialized bool // the caller says that the seam's lock was held
	Burndown       BurndownAnswer
	Findings       *[]Finding
	Errors         []string
}

// GateDecision is the answer of strength.merge-gate.
type GateDecision struct {
	Decision GateAnswer   `json:"decision"`
	Reasons  []GateReason `json:"reasons"`
	Errors   []string     `json:"errors,omitempty"`
}

// DecideMerge lists everything that stands against a merge. No evidence at all blocks.
func DecideMerge(e Evidence, securityCategories []string) GateDecision {
	d := GateDecision{Decision: GateBlock, Reasons: []GateReason{}, Errors: e.Errors}
	against := func(r GateReason, is bool) {
		if is {
			d.Reasons = append(d.Reasons, r)
		}
	}
	proof := !e.Fast && !e.Cross

	against(ReasonDepth, e.Fast && !e.DepthValid)
	against(ReasonCrossAudit, e.Cross && !e.AuditValid)
	against(ReasonReceipts, proof && !allValid(e.Receipts))
	against(ReasonCoverage, e.Covered == nil || e.Baseline == nil || float64(*e.Covered) <= *e.Baseline)
	against(ReasonMutation, proof && e.Mutation != MutationKilled)
	against(ReasonOwnership, e.Ownership != coord.OwnershipOK)
	against(ReasonHotSeam, e.Seams != coord.SeamParallel && (e.Seams != coord.SeamSerialize || !e.SeamSerialized))
	against(ReasonBurndown, e.Burndown != BurndownOK)
	against(ReasonSecurity, e.Findings == nil || anySecurity(*e.Findings, securityCategories))
	against(ReasonSevere, e.Findings == nil || anySevere(*e.Findings))
	against(ReasonInput, len(e.Errors) > 0)

	if len(d.Reasons) == 0 {
		d.Decision = GatePass
	}
	return d
}

func allValid(answers []ReceiptAnswer) bool {
	for _, a := range answers {
		if a != ReceiptValid {
			return false
		}
	}
	return len(answers) > 0
}

func anySecurity(findings []Finding, categories []string) bool {
	for _, f := range findings {
		if contains(categories, norm(f.Category)) {
			return true
		}
	}
	return false
}

func anySevere(findings []Finding) bool {
	for _, f := range findings {
		if s := norm(f.Severity); s == "critical" || s == "high" {
			return true
		}
	}
	return false
}
