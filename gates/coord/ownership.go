package coord

import (
	"ferrox/gates/epoch"
	"ferrox/gates/halting"
)

// OwnershipAnswer is the decision of coord.ownership-check (verbs.md 4.1).
type OwnershipAnswer string

// The answers of coord.ownership-check.
const (
	OwnershipOK         OwnershipAnswer = "ok"
	OwnershipInvalidate OwnershipAnswer = "wave-invalidating"
)

// OwnershipDecision is the answer of coord.ownership-check. Undeclared holds normalised paths in order of first sight.
type OwnershipDecision struct {
	Decision   OwnershipAnswer `json:"decision"`
	Undeclared []string        `json:"undeclared"`
}

// CheckOwnership compares what was declared with what was written, as sets of paths. Letter case counts; globs mean nothing.
func CheckOwnership(declared, actual []string) OwnershipDecision {
	seen := make(map[string]bool, len(declared))
	for _, p := range declared {
		seen[Normalize(p)] = true
	}

	d := OwnershipDecision{Decision: OwnershipOK, Undeclared: []string{}}
	for _, p := range actual {
		p = Normalize(p)
		if seen[p] {
			continue
		}
		seen[p] = true
		d.Decision = OwnershipInvalidate
		d.Undeclared = append(d.Undeclared, p)
	}
	return d
}

// Entry is the run-log line of an undeclared write. ok is false when there was none.
func (d OwnershipDecision) Entry(increment string, now epoch.Millis) (e halting.Entry, ok bool) {
	return halting.Entry{
		TS: now.String(), Gate: "coord-ownership", Trigger: halting.TriggerUndeclared,
		CapOutcome: string(OwnershipInvalidate), Increment: increment, Undeclared: d.Undeclared,
	}, d.Decision == OwnershipInvalidate
}
