package strength

import (
	"slices"
	"strings"
)

// FailureClass says what a test failure is (verbs.md 5.11).
type FailureClass string

// The classes of failures, in the order in which they are tried.
const (
	FailurePreExisting FailureClass = "pre-existing"
	FailureEnv         FailureClass = "env-artifact"
	FailureFlake       FailureClass = "known-flake"
	FailureRegression  FailureClass = "regression"
)

// Failure is one failure with its class.
type Failure struct {
	Failure string       `json:"failure"`
	Class   FailureClass `json:"class"`
}

// FailureSummary counts failures by class.
type FailureSummary struct {
	Regression  int `json:"regression"`
	Env         int `json:"env"`
	Flake       int `json:"flake"`
	PreExisting int `json:"preExisting"`
}

// FailureDecision is the answer of strength.classify-failures.
type FailureDecision struct {
	Classified []Failure      `json:"classified"`
	Summary    FailureSummary `json:"summary"`
	Blocks     bool           `json:"blocks"`
}

// ClassifyFailures sorts failures: a name of the baseline is not new; a name that holds a pattern is what the pattern stands
// for; everything else is a regression, and a single one blocks.
func ClassifyFailures(failures, baseline, envPatterns, flakePatterns []string) FailureDecision {
	d := FailureDecision{Classified: []Failure{}}
	for _, f := range failures {
		class := FailureRegression
		switch {
		case slices.Contains(baseline, f):
			class = FailurePreExisting
			d.Summary.PreExisting++
		case containsAny(f, envPatterns):
			class = FailureEnv
			d.Summary.Env++
		case containsAny(f, flakePatterns):
			class = FailureFlake
			d.Summary.Flake++
		default:
			d.Summary.Regression++
		}
		d.Classified = append(d.Classified, Failure{f, class})
	}
	d.Blocks = d.Summary.Regression > 0
	return d
}

func containsAny(text string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return strings.Contains(text, p) })
}
