package trident

import "slices"

// Answer is the decision of trident.audit.
type Answer string

// The answers of trident.audit.
const (
	Complete Answer = "complete"
	Refused  Answer = "refused"
	Degraded Answer = "degraded" // a live panel is not all there
)

// The reasons of a refusal, in the order of the checks, and of a degraded audit.
const (
	ReasonCheckpointSet   = "checkpoint-set-not-bounded"
	ReasonUnbounded       = "unbounded-invocation"
	ReasonCheckpoint      = "invalid-checkpoint"
	ReasonCallerInPanel   = "caller-family-in-panel"
	ReasonNotCrossLineage = "panel-not-cross-lineage"
	ReasonAbsent          = "cli-absent"
	ReasonFailed          = "cli-failed"
	ReasonUnreadable      = "findings-unreadable"
)

// Query is what trident.audit is asked.
type Query struct {
	CallerFamily   string // not blank
	Checkpoint     string
	OpenEnded      bool
	LoopUntilClean bool
	MaxRounds      float64 // 1 when not given
	Checkpoints    []string
}

// Member is one reviewer and what it found, as keys.
type Member struct {
	Family   string
	Findings []string
}

// Decision is the answer of trident.audit. The lists are nil unless the audit is complete.
type Decision struct {
	Decision      Answer    `json:"decision"`
	Reason        string    `json:"reason,omitempty"`
	CLI           string    `json:"cli,omitempty"`
	Pass          string    `json:"pass,omitempty"`
	Bounded       bool      `json:"bounded,omitempty"`
	Checkpoint    string    `json:"checkpoint,omitempty"`
	PanelFamilies []string  `json:"panel_families,omitempty"`
	Consensus     *[]string `json:"consensus,omitempty"` // raised by at least two lineages
	Contested     *[]string `json:"contested,omitempty"` // raised by one
}

func refused(reason string) Decision { return Decision{Decision: Refused, Reason: reason} }

// Check makes the checks that need no findings. ok is true when the audit may go on.
func Check(q Query, families []string) (d Decision, ok bool) {
	points := distinct(q.Checkpoints)
	switch {
	case len(points) != 2:
		return refused(ReasonCheckpointSet), false
	case q.OpenEnded || q.LoopUntilClean || q.MaxRounds > 1:
		return refused(ReasonUnbounded), false
	case !slices.Contains(points, norm(q.Checkpoint)):
		return refused(ReasonCheckpoint), false
	}

	caller := LineageOf(q.CallerFamily)
	var others []Lineage
	for _, f := range families {
		l := LineageOf(f)
		if l == caller {
			return refused(ReasonCallerInPanel), false
		}
		if l != "" && !slices.Contains(others, l) {
			others = append(others, l)
		}
	}
	if len(others) < 2 {
		return refused(ReasonNotCrossLineage), false
	}
	return Decision{}, true
}

// Audit checks the panel and sorts its findings into what at least two lineages raised and the rest, in order of first sight.
// Two names of one lineage agree with themselves only.
func Audit(q Query, panel []Member) Decision {
	families := make([]string, len(panel))
	for i, m := range panel {
		families[i] = m.Family
	}
	if d, ok := Check(q, families); !ok {
		return d
	}

	var order []string
	raised := map[string][]Lineage{}
	for _, m := range panel {
		lineage := LineageOf(m.Family)
		for _, f := range distinct(m.Findings) {
			if raised[f] == nil {
				order = append(order, f)
			}
			if !slices.Contains(raised[f], lineage) {
				raised[f] = append(raised[f], lineage)
			}
		}
	}

	consensus, contested := []string{}, []string{}
	for _, f := range order {
		if len(raised[f]) > 1 {
			consensus = append(consensus, f)
			continue
		}
		contested = append(contested, f)
	}
	return Decision{
		Decision: Complete, Pass: "single", Bounded: true, Checkpoint: norm(q.Checkpoint),
		PanelFamilies: distinct(families), Consensus: &consensus, Contested: &contested,
	}
}

// distinct returns the words trimmed, in lower case, without blanks and repeats, in order of first sight.
func distinct(words []string) []string {
	list := []string{}
	for _, w := range words {
		if w = norm(w); w != "" && !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}
