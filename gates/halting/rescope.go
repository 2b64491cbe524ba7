package halting

import (
	"encoding/json"
	"fmt"

	"ferrox/gates/epoch"
)

// RescopeAnswer is the decision of rescope.check (verbs.md 3.2).
type RescopeAnswer string

// The answers of rescope.check.
const (
	RescopeAllowed     RescopeAnswer = "rescope-allowed"
	RescopeNotSmaller  RescopeAnswer = "rejected-not-smaller"
	RescopeHardDescope RescopeAnswer = "hard-descope-or-kill"
)

// RescopeRecord is what is stored of an increment: the attempts used and the size of the last one. LastSize is nil when the
// record names none, and then no size is smaller.
type RescopeRecord struct {
	Attempts float64  `json:"attempts"`
	LastSize *float64 `json:"lastSize,omitempty"`
}

// RescopeQuery is what rescope.check is asked. Sizes are compared, never interpreted.
type RescopeQuery struct {
	Increment string
	PrevSize  float64
	NewSize   float64
	Now       epoch.Millis
}

// RescopeDecision is the answer of rescope.check.
type RescopeDecision struct {
	Decision  RescopeAnswer `json:"decision"`
	Attempt   float64       `json:"attempt"`
	Increment string        `json:"increment"`
}

// ReadRescopeRecord reads the stored record of an increment. Nothing and null are "no record". A record that can't be
// understood is an error: taking it for zero would hand out the attempts again.
func ReadRescopeRecord(raw json.RawMessage) (*RescopeRecord, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var r RescopeRecord
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("read rescope record: %w; it needs {\"attempts\": n, \"lastSize\": n}", err)
	}
	if r.Attempts < 0 {
		return nil, fmt.Errorf("read rescope record: %v attempts; count them from 0", r.Attempts)
	}
	return &r, nil
}

// CheckRescope decides on one more rescope of an increment. The cap is looked at first; a scope that is not strictly smaller
// than both the given and the stored size uses no attempt. When the answer is RescopeAllowed, next is the record to store.
func CheckRescope(maxAttempts int, stored *RescopeRecord, q RescopeQuery) (d RescopeDecision, next *RescopeRecord) {
	used := 0.0
	if stored != nil {
		used = stored.Attempts
	}
	d = RescopeDecision{Decision: RescopeNotSmaller, Attempt: used, Increment: q.Increment}

	if used >= float64(maxAttempts) {
		d.Decision, d.Attempt = RescopeHardDescope, float64(maxAttempts)
		return d, nil
	}
	if q.NewSize >= q.PrevSize || !smallerThanStored(stored, q.NewSize) {
		return d, nil
	}
	d.Decision, d.Attempt = RescopeAllowed, used+1
	return d, &RescopeRecord{Attempts: d.Attempt, LastSize: &q.NewSize}
}

func smallerThanStored(stored *RescopeRecord, size float64) bool {
	if stored == nil {
		return true
	}
	return stored.LastSize != nil && size < *stored.LastSize
}

// Entry is the run-log line of a refused attempt. ok is false for the other answers.
func (d RescopeDecision) Entry(q RescopeQuery) (e Entry, ok bool) {
	return Entry{
		TS: q.Now.String(), Gate: "rescope", Trigger: TriggerRescopeCap, CapOutcome: string(RescopeHardDescope), Increment: q.Increment,
	}, d.Decision == RescopeHardDescope
}
