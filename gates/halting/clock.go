package halting

import "ferrox/gates/epoch"

// SLAAnswer is the decision of human-sla.check (verbs.md 3.3).
type SLAAnswer string

// The answers of human-sla.check.
const (
	SLAWithin   SLAAnswer = "within"
	SLABreached SLAAnswer = "breached"
)

// SLADecision is the answer of human-sla.check.
type SLADecision struct {
	Decision       SLAAnswer `json:"decision"`
	ElapsedSeconds float64   `json:"elapsed_seconds"`
	SLASeconds     float64   `json:"sla_seconds"`
}

// Park is the record of an increment that nobody answered for in time. No verb removes it.
type Park struct {
	Increment string `json:"increment"`
	Status    string `json:"status"` // always "parked"
	Reason    string `json:"reason"` // always "human-sla-breach"
	TS        string `json:"ts"`
}

// CheckHumanSLA times an open question; reaching the limit breaches it.
func CheckHumanSLA(limitSeconds float64, opened, now epoch.Millis) SLADecision {
	d := SLADecision{Decision: SLAWithin, ElapsedSeconds: now.SecondsSince(opened), SLASeconds: limitSeconds}
	if d.ElapsedSeconds >= limitSeconds {
		d.Decision = SLABreached
	}
	return d
}

// Breach returns the park record and the run-log line of a breach.
func Breach(increment string, now epoch.Millis) (Park, Entry) {
	ts := now.String()
	return Park{Increment: increment, Status: "parked", Reason: "human-sla-breach", TS: ts},
		Entry{TS: ts, Gate: "human-sla", Trigger: TriggerHumanSLA, CapOutcome: string(OutcomeEscalate), Increment: increment}
}

// ShipAnswer is the decision of ship-clock.check (verbs.md 3.4). Mind the letter case.
type ShipAnswer string

// The answers of ship-clock.check.
const (
	ShipGreen ShipAnswer = "green"
	ShipRed   ShipAnswer = "RED"
)

// ShipDecision is the answer of ship-clock.check.
type ShipDecision struct {
	Decision       ShipAnswer `json:"decision"`
	ElapsedSeconds float64    `json:"elapsed_seconds"`
	BudgetSeconds  float64    `json:"budget_seconds"`
}

// CheckShipClock times the last merge that advanced coverage; reaching the budget is RED.
func CheckShipClock(budgetSeconds float64, lastMerge, now epoch.Millis) ShipDecision {
	d := ShipDecision{Decision: ShipGreen, ElapsedSeconds: now.SecondsSince(lastMerge), BudgetSeconds: budgetSeconds}
	if d.ElapsedSeconds >= budgetSeconds {
		d.Decision = ShipRed
	}
	return d
}

// RedEntry is the run-log line of a RED ship clock.
func RedEntry(increment string, now epoch.Millis) Entry {
	return Entry{
		TS: now.String(), Gate: "ship-clock", Trigger: TriggerShipClock, CapOutcome: string(OutcomeRescope), Increment: increment,
	}
}
