package settings

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tailscale/hujson"
)

// The outcomes a fired cap may resolve to (halting.md, cap_outcome).
const (
	outcomeShip     = "ship-with-backlog"
	outcomeRescope  = "stop-and-rescope"
	outcomeEscalate = "escalate-to-human"
)

const (
	countMax = 1<<53 - 1 // whole numbers above this are not exact in JSON
	longest  = 365 * day
)

// settings reads the blocks. A key that no block is known by is only a warning: other tools keep theirs in the same file.
func (f *file) settings(root node, s *Settings) {
	if root.value.Value != nil && !root.there() {
		root.problem("null; write an object { … }")
		return
	}
	o := root.object()
	o.at("$schema").string(&s.Schema)
	o.at("runner").runner(&s.Runner)
	o.at("tasks").tasks(&s.Tasks)
	o.at("authority").authority(&s.Authority)
	o.at("notify").notify(&s.Notify)
	o.at("guard").guard(&s.Guard)
	o.at("halting").halting(&s.Halting)
	o.at("coordination").coordination(&s.Coordination)
	o.at("strength").strength(&s.Strength)
	o.at("model").model(&s.Model)
	o.at("domain").string(&s.Domain)

	for _, m := range o.unknown() {
		text := "unknown key, ignored"
		if n := Nearest(m.key, o.known); n != "" {
			text += "; did you mean \"" + n + "\"?"
		}
		m.warn("%s", text)
	}
}

func (n node) runner(r *Runner) {
	o := n.object()
	o.at("lanes").count(&r.Lanes, 1, 256)
	o.at("lanes_dir").filePath(&r.LanesDir)
	o.at("setup").argvs(&r.Setup)
	o.at("copy").words(&r.Copy)
	o.at("worker").worker(&r.Worker)
	o.at("reviewer").reviewer(&r.Reviewer)
	o.at("verify").argvs(&r.Verify)
	o.at("no_progress_limit").count(&r.NoProgressLimit, 1, 1000)
	o.at("stall_timeout").duration(&r.StallTimeout, time.Second, 30*day)
	o.at("finish_grace").duration(&r.FinishGrace, 0, day)
	o.at("hold_quiesce").duration(&r.HoldQuiesce, 0, 30*day)
	o.at("hold_timeout").duration(&r.HoldTimeout, time.Second, 30*day)
	o.at("backoff").backoff(&r.Backoff)
	o.at("on_red").choice(&r.OnRed, "report", "descope")
	o.at("sign").flag(&r.Sign)
	o.done()
}

func (n node) worker(w *Worker) {
	o := n.object()
	o.at("preset").choice(&w.Preset, "claude", "codex", "gemini", "shell")
	o.at("command").argv(&w.Command)
	o.at("max_iterations").count(&w.MaxIterations, 1, 100000)
	o.at("max_wall_clock").duration(&w.MaxWallClock, time.Second, longest)
	o.done()
}

func (n node) reviewer(r *Reviewer) {
	o := n.object()
	o.at("command").argv(&r.Command)
	o.done()
}

func (n node) backoff(b *Backoff) {
	o := n.object()
	o.at("initial").duration(&b.Initial, 0, day)
	o.at("max").duration(&b.Max, 0, day)
	o.done()
	if b.Initial > b.Max {
		n.problem("initial (%s) is longer than max (%s); raise max", formatDuration(b.Initial), formatDuration(b.Max))
	}
}

func (n node) tasks(t *Tasks) {
	o := n.object()
	o.at("roots").words(&t.Roots)
	o.at("default_review_level").count(&t.DefaultReviewLevel, 0, 3)
	o.done()
}

func (n node) authority(a *Authority) {
	o := n.object()
	o.at("require_signed").flag(&a.RequireSigned)
	o.at("allowed_signers").filePath(&a.AllowedSigners)
	o.at("reserve").reserve(&a.Reserve)
	o.done()
}

// reserve reads the gates by role. Only the operator can have gates to himself: everyone who may rule at all is either
// supervisor or operator, and an operator may do all that a supervisor may.
func (n node) reserve(to *map[string][]string) {
	o := n.object()
	gates := slices.Clone((*to)["operator"])
	o.at("operator").words(&gates)
	o.done()
	*to = map[string][]string{"operator": gates}
}

func (n node) notify(to *[]string) {
	nodes, ok := n.elements()
	if ok && len(nodes) > 0 {
		n.warn("has no effect yet")
	}
	if ok {
		*to = []string{}
	}
}

func (n node) guard(g *Guard) {
	o := n.object()
	o.at("protected").words(&g.Protected)
	o.done()
}

func (n node) halting(h *Halting) {
	o := n.object()
	o.at("gates").gates(&h.Gates)
	o.at("rescope").rescope(&h.Rescope)
	o.at("human_sla_seconds").amount(&h.HumanSLASeconds)
	o.at("ship_clock_seconds").amount(&h.ShipClockSeconds)
	o.done()
}

// gates reads the caps by gate id. Any id is an id, "__proto__" as well.
func (n node) gates(to *map[string]Gate) {
	if n.file.describe != nil {
		g := defaultGate()
		node{file: n.file, path: n.path + ".*"}.gate(&g)
		return
	}
	o := n.object()
	gates := maps.Clone(*to)
	for _, id := range o.order {
		g := Halting{Gates: gates}.Gate(id)
		o.at(id).gate(&g)
		if gates == nil {
			gates = map[string]Gate{}
		}
		gates[id] = g
	}
	*to = gates
}

func (n node) gate(g *Gate) {
	o := n.object()
	o.at("max_passes").count(&g.MaxPasses, 0, countMax)
	o.at("wall_clock_seconds").amount(&g.WallClockSeconds)
	o.at("cap_outcome").outcome(&g.CapOutcome)
	o.done()
}

// outcome reads a cap outcome. It is the one value that is put right instead of refused: a gate whose outcome nobody can
// read must still halt.
func (n node) outcome(to *string) {
	words := []string{outcomeShip, outcomeRescope, outcomeEscalate}
	n.rule(Rule{Type: "text", Enum: words})
	if !n.there() {
		return
	}
	if lit, ok := n.value.Value.(hujson.Literal); ok && lit.Kind() == '"' && slices.Contains(words, lit.String()) {
		*to = lit.String()
		return
	}
	n.warn("%s is no outcome, taken as %q; write one of %s", n.text(), outcomeRescope, quoted(words))
	*to = outcomeRescope
}

func (n node) rescope(r *Rescope) {
	o := n.object()
	o.at("max_attempts").count(&r.MaxAttempts, 0, countMax)
	o.done()
}

func (n node) coordination(c *Coordination) {
	o := n.object()
	o.at("migration_store").filePath(&c.MigrationStore)
	o.at("hot_seams").words(&c.HotSeams)
	o.at("shared_state_paths").words(&c.SharedStatePaths)
	o.done()
}

func (n node) strength(s *Strength) {
	o := n.object()
	o.at("medium_cluster_threshold").count(&s.MediumClusterThreshold, 0, countMax)
	o.at("security_age_limit_days").amount(&s.SecurityAgeLimitDays)
	o.at("receipt_store").filePath(&s.ReceiptStore)
	o.at("coverage_store").filePath(&s.CoverageStore)
	o.at("requirements_path").filePath(&s.RequirementsPath)
	o.at("findings_store").filePath(&s.FindingsStore)
	o.at("backlog_path").filePath(&s.BacklogPath)
	o.at("depth_store").filePath(&s.DepthStore)
	o.at("cross_audit_store").filePath(&s.CrossAuditStore)
	o.at("security_categories").nonEmpty(&s.SecurityCategories)
	o.at("cross_audit_max_phases").count(&s.CrossAuditMaxPhases, 0, countMax)
	o.at("merge_gate_request").filePath(&s.MergeGateRequest)
	o.done()
}

func (n node) model(m *Model) {
	o := n.object()
	o.at("trident_checkpoints").nonEmpty(&m.TridentCheckpoints)
	o.at("risk_boundaries").nonEmpty(&m.RiskBoundaries)
	o.at("trident_panel").panel(&m.TridentPanel)
	o.done()
}

// nonEmpty reads a list whose empty form means "as by default".
func (n node) nonEmpty(to *[]string) {
	list := *to
	n.words(&list)
	if len(list) > 0 {
		*to = list
	}
}

func (n node) panel(to *[]PanelMember) {
	if n.file.describe != nil {
		var m PanelMember
		node{file: n.file, path: n.path + ".*"}.panelMember(&m)
		return
	}
	nodes, ok := n.elements()
	if !ok {
		return
	}
	list := make([]PanelMember, len(nodes))
	for i, e := range nodes {
		e.panelMember(&list[i])
	}
	*to = list
}

func (n node) panelMember(m *PanelMember) {
	o := n.object()
	o.at("family").string(&m.Family)
	o.at("command").argv(&m.Command)
	o.done()
	if n.file.describe == nil && (strings.TrimSpace(m.Family) == "" || len(m.Command) == 0) {
		n.problem("a panel member needs a family and a command")
	}
}
