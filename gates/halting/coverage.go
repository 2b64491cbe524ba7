package halting

// CoverageAnswer is the decision of coverage.delta (verbs.md 3.5).
type CoverageAnswer string

// The answers of coverage.delta.
const (
	CoverageLanded    CoverageAnswer = "landed"
	CoverageNotLanded CoverageAnswer = "not-landed"
)

// CoverageDecision is the answer of coverage.delta.
type CoverageDecision struct {
	Decision CoverageAnswer `json:"decision"`
	Delta    float64        `json:"delta"`
}

// CoverageDelta says whether a merge advances coverage. No advance at all is "not landed".
func CoverageDelta(before, after float64) CoverageDecision {
	d := CoverageDecision{Decision: CoverageNotLanded, Delta: after - before}
	if d.Delta > 0 {
		d.Decision = CoverageLanded
	}
	return d
}
