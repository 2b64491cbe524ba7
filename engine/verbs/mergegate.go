package verbs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"ferrox/gates/coord"
	"ferrox/gates/strength"
)

// mergeGate gathers the evidence for one merge. Every step that fails is noted, and leaves its criterion unmet.
type mergeGate struct {
	*call
	increment    string
	requirements []string
	declared     []string
	actual       []string
	files        []string
	opened       string
	resolved     string
	test         string
	flipped      string
	e            strength.Evidence
}

func mergeGateVerb(c *call) (any, error) {
	g := &mergeGate{
		call: c, increment: c.id("increment"), requirements: c.list("requirements"),
		declared: c.list("declared"), actual: c.list("actual"), files: c.list("files"), opened: c.text("opened"), resolved: c.text("resolved"),
	}
	if len(g.requirements) == 0 {
		c.wrong("requirements", "names no requirement")
	}
	depth, _ := c.value("depth")
	tier, _ := c.value("audit-tier")
	g.e.Fast, g.e.Cross = depth == string(strength.DepthFast), tier == strength.TierCross
	if !g.e.Fast && !g.e.Cross {
		g.test, g.flipped = c.id("mutation-test"), c.text("mutation-flipped")
	}
	if err := c.usage(); err != nil {
		return nil, err
	}
	return g.decide()
}

func (g *mergeGate) decide() (strength.GateDecision, error) {
	g.depth()
	g.crossAudit()
	g.receipts()
	g.coverageNow()
	g.mutation()
	g.ownership()
	g.seams()
	g.burndownAndFindings()
	migration := g.migration()

	d := strength.DecideMerge(g.e, g.settings.Strength.SecurityCategories)
	if d.Decision == strength.GatePass && migration != nil {
		g.consumed(*migration)
		d = strength.DecideMerge(g.e, g.settings.Strength.SecurityCategories)
	}
	if d.Decision == strength.GateBlock && g.e.Fast {
		return d, g.escalate()
	}
	return d, nil
}

func (g *mergeGate) failed(step string, err error) {
	g.e.Errors = append(g.e.Errors, step+":"+err.Error())
}

// depth checks that every requirement was decided as fast, and still is with the files that changed.
func (g *mergeGate) depth() {
	if !g.e.Fast {
		return
	}
	f, err := readState(g.path(g.settings.Strength.DepthStore))
	if err != nil {
		g.failed("depth-audit", err)
		return
	}
	paths := g.files
	if ref, ok := g.value("diff-base"); ok {
		paths = slices.Concat(paths, g.changedSince(ref))
	}
	decisions := f.sub("decisions")
	for _, r := range g.requirements {
		stored, ok := member[strength.DepthRecord](decisions[r])
		again := strength.DecideDepth(strength.DepthQuery{SelfGrade: stored.RiskGrade, Paths: paths, Categories: stored.Categories},
			g.settings.Model.RiskBoundaries)
		if !ok || stored.Depth != strength.DepthFast || stored.Escalated || again.Depth != strength.DepthFast {
			return
		}
	}
	g.e.DepthValid = true
}

// crossAudit asks for the verdict and, in a repository, for a recorded audit of this increment at this commit. Outside one
// there is no commit to hold the caller to.
func (g *mergeGate) crossAudit() {
	verdict, _ := g.value("cross-audit")
	if !g.e.Cross || verdict != "passed" {
		return
	}
	if !g.inRepository() {
		g.warn("outside a git repository the cross audit is taken on the caller's word")
		g.e.AuditValid = true
		return
	}

	f, err := readState(g.path(g.settings.Strength.CrossAuditStore))
	if err != nil {
		g.failed("cross-audit", err)
		return
	}
	commit, known := g.head()
	audit, found := member[auditRecord](f.sub("audits")[g.increment])
	g.e.AuditValid = known && found && audit.Commit == commit
	if !g.e.AuditValid {
		g.warn("no cross audit of increment %q at this commit is recorded; run trident.audit --live --increment %s", g.increment, g.increment)
	}
}

func (g *mergeGate) receipts() {
	if g.e.Fast || g.e.Cross {
		return
	}
	f, err := readState(g.path(g.settings.Strength.ReceiptStore))
	if err != nil {
		g.failed("verify-receipt", err)
		return
	}
	stored := f.sub("receipts")
	for _, r := range g.requirements {
		g.e.Receipts = append(g.e.Receipts, strength.VerifyReceipt(r, stored[r], g.lookUp).Decision)
	}
}

func (g *mergeGate) coverageNow() {
	covered := g.coverage().Covered
	g.e.Covered = &covered

	// A baseline that is absent, damaged or without a number is no bar at all, so there is nothing to have passed.
	f, err := readState(g.path(g.settings.Strength.CoverageStore))
	baseline, ok := member[float64](f["covered"])
	if err != nil || !ok {
		g.e.Errors = append(g.e.Errors, "coverage-baseline-missing")
		return
	}
	g.e.Baseline = &baseline
}

func (g *mergeGate) mutation() {
	g.e.Mutation = strength.CheckMutation(nil, g.test, g.flipped).Decision
}

func (g *mergeGate) ownership() {
	g.e.Ownership = coord.CheckOwnership(g.declared, g.actual).Decision
}

// seams takes the registry as it is configured: an empty list can't say that anything is safe.
func (g *mergeGate) seams() {
	g.e.Seams = coord.RegistryOf(g.settings.Coordination).CheckSeams(g.files).Decision
	serialized, _ := g.value("hot-seam-serialized")
	g.e.SeamSerialized = serialized == "true"
}

// burndownAndFindings takes what the caller names together with what is stored: leaving a flag out hides nothing.
func (g *mergeGate) burndownAndFindings() {
	backlog, err := g.backlog()
	if err != nil {
		g.failed("burndown-check", err)
		g.failed("severity-route", err)
		return
	}

	items, err := strength.ReadItems([]byte(g.jsonList("items")))
	if err != nil {
		g.failed("burndown-check", err)
	} else {
		g.e.Burndown = g.burndown(append(items, backlog.Items...))
	}

	given, err := strength.ReadFindings([]byte(g.jsonList("findings")))
	if err != nil {
		g.failed("severity-route", err)
		return
	}
	stored, err := g.storedFindings()
	if err != nil {
		g.failed("severity-route", err)
		return
	}
	all := append(append(given, stored...), backlog.Findings...)
	g.e.Findings = &all
}

func (g *mergeGate) jsonList(name string) string {
	if v, ok := g.value(name); ok {
		return v
	}
	return "[]"
}

// burndown is not ok with a count that is no number.
func (g *mergeGate) burndown(items []strength.Item) strength.BurndownAnswer {
	opened, okOpened := parseNumber(g.opened)
	resolved, okResolved := parseNumber(g.resolved)
	if !okOpened || !okResolved {
		return strength.BurndownBlocked
	}
	return strength.CheckBurndown(opened, resolved, items, g.settings.Strength.SecurityAgeLimitDays).Decision
}

func (g *mergeGate) backlog() (strength.Backlog, error) {
	data, err := os.ReadFile(g.path(g.settings.Strength.BacklogPath))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return strength.Backlog{}, fmt.Errorf("read backlog: %w", err)
	}
	return strength.ReadBacklog(data), nil
}

// storedFindings reads {"open": […]}. A store of another shape is an error: it may hold what nobody can see.
func (g *mergeGate) storedFindings() ([]strength.Finding, error) {
	data, err := os.ReadFile(g.path(g.settings.Strength.FindingsStore))
	if errors.Is(err, fs.ErrNotExist) || (err == nil && len(bytes.TrimSpace(data)) == 0) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read findings: %w", err)
	}
	var store struct {
		Open json.RawMessage `json:"open"`
	}
	if err := json.Unmarshal(data, &store); err != nil {
		return nil, errors.New("read findings: the store is no JSON object; put it right")
	}
	if len(store.Open) == 0 {
		return nil, nil
	}
	return strength.ReadFindings(store.Open)
}

// migration looks whether the number can be consumed; it is consumed when nothing else stands against the merge.
func (g *mergeGate) migration() *float64 {
	text, given := g.value("migration-number")
	if !given {
		return nil
	}
	n, ok := parseNumber(text)
	if !ok {
		g.e.Errors = append(g.e.Errors, "consume-migration:non-finite-number")
		return nil
	}
	m, err := g.migrations()
	if err != nil {
		g.failed("consume-migration", err)
		return nil
	}
	if answer := m.Consumable(n); answer != coord.MigrationConsumed {
		g.e.Errors = append(g.e.Errors, "consume-migration:"+string(answer))
		return nil
	}
	return &n
}

func (g *mergeGate) consumed(n float64) {
	answer, err := g.consume(n)
	if err != nil {
		g.failed("consume-migration", err)
		return
	}
	if answer != coord.MigrationConsumed {
		g.e.Errors = append(g.e.Errors, "consume-migration:"+string(answer))
	}
}

// escalate marks the decisions of a blocked fast path, so that the next try takes the full one.
func (g *mergeGate) escalate() error {
	return updateState(g.path(g.settings.Strength.DepthStore), g.limits, func(f fields) (bool, error) {
		decisions, changed := f.sub("decisions"), false
		for _, r := range g.requirements {
			record := decisions.sub(r)
			if len(record) == 0 || strings.TrimSpace(string(record["escalated"])) == "true" {
				continue
			}
			record["escalated"] = json.RawMessage("true")
			if err := decisions.set(r, record); err != nil {
				return false, err
			}
			changed = true
		}
		if !changed {
			return false, nil
		}
		return true, f.set("decisions", decisions)
	})
}
