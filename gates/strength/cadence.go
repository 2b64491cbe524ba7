package strength

// CadenceQuery is what strength.cross-audit-cadence is asked (verbs.md 5.11).
type CadenceQuery struct {
	Event                 string
	CrossesRiskBoundary   bool
	AtIntegrationBoundary bool
	PhasesSinceAudit      float64
}

// CadenceDecision is the answer of strength.cross-audit-cadence.
type CadenceDecision struct {
	CrossAudit bool   `json:"crossAudit"`
	Reason     string `json:"reason"`
}

// DecideCadence says whether a cross audit is due. An event that is not known is one that asks for it.
func DecideCadence(q CadenceQuery, maxPhases int) CadenceDecision {
	switch q.Event {
	case "milestone-complete":
		return CadenceDecision{true, "milestone-boundary"}
	case "standalone-complete":
		return CadenceDecision{true, "standalone-chunk"}
	case "phase-complete":
	default:
		return CadenceDecision{true, "unknown-event-fail-safe"}
	}

	switch {
	case q.CrossesRiskBoundary:
		return CadenceDecision{true, "risk-boundary-crossed"}
	case q.AtIntegrationBoundary:
		return CadenceDecision{true, "integration-boundary"}
	case q.PhasesSinceAudit >= float64(maxPhases):
		return CadenceDecision{true, "max-phases-without-audit"}
	default:
		return CadenceDecision{false, "defer-to-milestone"}
	}
}
