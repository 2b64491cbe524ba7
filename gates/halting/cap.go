package halting

import (
	"ferrox/gates/epoch"
	"ferrox/lanes/settings"
)

// Outcome is what a fired cap resolves to (halting.md, cap_outcome).
type Outcome string

// The three outcomes of a gate's cap, and the answer under the cap.
const (
	OutcomeShip     Outcome = "ship-with-backlog" // land the passing subset, the rest goes to the backlog
	OutcomeRescope  Outcome = "stop-and-rescope"  // halt and go into the rescope routine
	OutcomeEscalate Outcome = "escalate-to-human" // ask a person
	Continue        Outcome = "continue"          // no cap has fired
)

// Trigger says which limit fired (halting.md, trigger; verbs.md 2.9).
type Trigger string

// The triggers; TriggerNone is printed, never logged.
const (
	TriggerNone       Trigger = "none"
	TriggerPassCap    Trigger = "pass-cap"
	TriggerWallClock  Trigger = "wall-clock"
	TriggerRescopeCap Trigger = "rescope-cap"
	TriggerHumanSLA   Trigger = "human-sla"
	TriggerShipClock  Trigger = "ship-clock"
	TriggerUndeclared Trigger = "undeclared-write"
)

// CapQuery is what gate.cap-check is asked. Passes is the caller's count; it may be negative or a fraction.
type CapQuery struct {
	Gate      string
	Increment string
	Passes    float64
	Start     epoch.Millis
	Now       epoch.Millis
}

// CapDecision is the answer of gate.cap-check. CapOutcome is what the gate resolves to, fired or not.
type CapDecision struct {
	Decision   Outcome `json:"decision"`
	Trigger    Trigger `json:"trigger"`
	Gate       string  `json:"gate"`
	CapOutcome Outcome `json:"cap_outcome"`
}

// CheckCap resolves a gate's caps: the passes first, then the wall clock; reaching a limit fires it.
func CheckCap(limits settings.Gate, q CapQuery) CapDecision {
	d := CapDecision{Decision: Continue, Trigger: TriggerNone, Gate: q.Gate, CapOutcome: Outcome(limits.CapOutcome)}
	switch {
	case q.Passes >= float64(limits.MaxPasses):
		d.Trigger = TriggerPassCap
	case q.Now.SecondsSince(q.Start) >= limits.WallClockSeconds:
		d.Trigger = TriggerWallClock
	default:
		return d
	}
	d.Decision = d.CapOutcome
	return d
}

// Entry is the run-log line of a fired cap. ok is false when none fired.
func (d CapDecision) Entry(q CapQuery) (e Entry, ok bool) {
	return Entry{
		TS: q.Now.String(), Gate: d.Gate, Trigger: d.Trigger, CapOutcome: string(d.CapOutcome), Increment: q.Increment,
	}, d.Trigger != TriggerNone
}
