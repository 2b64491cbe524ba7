package verbs

import (
	"errors"
	"io/fs"
	"os"

	"ferrox/gates/strength"
)

func judgeCheck(c *call) (any, error) {
	author, judge := c.text("author"), c.text("judge")
	if err := c.usage(); err != nil {
		return nil, err
	}
	return strength.CheckJudge(author, judge), nil
}

func severityRoute(c *call) (any, error) {
	text := c.text("findings")
	if err := c.usage(); err != nil {
		return nil, err
	}
	findings, err := strength.ReadFindings([]byte(text))
	if err != nil {
		return nil, c.invalid("findings", err)
	}
	s := c.settings.Strength
	return strength.RouteSeverity(findings, s.SecurityCategories, s.MediumClusterThreshold), nil
}

func receipt(c *call) (any, error) {
	r := strength.Receipt{Requirement: c.id("requirement"), Test: c.id("test"), Commit: c.id("commit")}
	r.FailingRun = strength.FailingRun{ExitCode: c.number("exit-code"), LogDigest: c.text("log-digest")}
	if err := c.usage(); err != nil {
		return nil, err
	}
	err := updateState(c.path(c.settings.Strength.ReceiptStore), c.limits, func(f fields) (bool, error) {
		receipts := f.sub("receipts")
		if err := receipts.set(r.Requirement, r); err != nil {
			return false, err
		}
		return true, f.set("receipts", receipts)
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

func verifyReceipt(c *call) (any, error) {
	requirement := c.id("requirement")
	if err := c.usage(); err != nil {
		return nil, err
	}
	f, err := readState(c.path(c.settings.Strength.ReceiptStore))
	if err != nil {
		return nil, err
	}
	return strength.VerifyReceipt(requirement, f.sub("receipts")[requirement], c.lookUp), nil
}

func mutationCheck(c *call) (any, error) {
	test, flipped := c.text("test"), c.text("flipped")
	if test == "" {
		c.wrong("test", "empty")
	}
	if err := c.usage(); err != nil {
		return nil, err
	}
	return strength.CheckMutation(c.optional("requirement"), test, flipped), nil
}

func burndownCheck(c *call) (any, error) {
	opened, resolved := c.number("opened"), c.number("resolved")
	if err := c.usage(); err != nil {
		return nil, err
	}
	var items []strength.Item
	if text := c.optional("items"); text != nil {
		var err error
		if items, err = strength.ReadItems([]byte(*text)); err != nil {
			return nil, c.invalid("items", err)
		}
	}
	return strength.CheckBurndown(opened, resolved, items, c.settings.Strength.SecurityAgeLimitDays), nil
}

func coverageSource(c *call) (any, error) {
	if err := c.usage(); err != nil {
		return nil, err
	}
	return c.coverage(), nil
}

// coverage counts the requirements; a file that can't be read has none.
func (c *call) coverage() strength.Coverage {
	data, err := os.ReadFile(c.path(c.settings.Strength.RequirementsPath))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.warn("the requirements can't be read and count as none: %v", err)
	}
	return strength.CountRequirements(data)
}

func coverageBaseline(c *call) (any, error) {
	if !c.present("snapshot") {
		c.wrong("snapshot", "missing")
	}
	if err := c.usage(); err != nil {
		return nil, err
	}
	covered := c.coverage().Covered
	err := updateState(c.path(c.settings.Strength.CoverageStore), c.limits, func(f fields) (bool, error) {
		return true, f.set("covered", covered)
	})
	if err != nil {
		return nil, err
	}
	return struct {
		Decision string `json:"decision"`
		Covered  int    `json:"covered"`
	}{"snapshotted", covered}, nil
}

func depthDecide(c *call) (any, error) {
	requirement := c.id("requirement")
	declared, _ := c.value("declared-depth")
	q := strength.DepthQuery{
		SelfGrade: c.text("self-grade"), DeclaredDepth: declared,
		Paths: c.optionalList("paths", ","), Categories: c.optionalList("categories", ","),
	}
	if err := c.usage(); err != nil {
		return nil, err
	}

	var d strength.DepthDecision
	err := updateState(c.path(c.settings.Strength.DepthStore), c.limits, func(f fields) (bool, error) {
		decisions := f.sub("decisions")
		q.Escalated, _ = member[bool](decisions.sub(requirement)["escalated"])
		d = strength.DecideDepth(q, c.settings.Model.RiskBoundaries)
		err := decisions.set(requirement, strength.DepthRecord{DepthDecision: d, Paths: q.Paths, Categories: q.Categories})
		return true, errors.Join(err, f.set("decisions", decisions))
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

func crossAuditCadence(c *call) (any, error) {
	q := strength.CadenceQuery{
		Event: c.id("event"), CrossesRiskBoundary: c.truth("crosses-risk-boundary"), AtIntegrationBoundary: c.truth("at-integration-boundary"),
	}
	if n := c.optionalNumber("phases-since-audit"); n != nil {
		q.PhasesSinceAudit = *n
	}
	if err := c.usage(); err != nil {
		return nil, err
	}
	return strength.DecideCadence(q, c.settings.Strength.CrossAuditMaxPhases), nil
}

func classifyFailures(c *call) (any, error) {
	failures := splitList(c.text("failures"), "|")
	if err := c.usage(); err != nil {
		return nil, err
	}
	return strength.ClassifyFailures(failures, c.optionalList("baseline", "|"), c.optionalList("env-patterns", "|"), c.optionalList("flake-patterns", "|")), nil
}

func integrationLanding(c *call) (any, error) {
	proven, ff, clean := c.truth("merged-head-proven"), c.truth("ff-only"), c.truth("protected-clean")
	if err := c.usage(); err != nil {
		return nil, err
	}
	return strength.DecideLanding(proven, ff, clean), nil
}

func blockerPolicy(c *call) (any, error) {
	remaining, human := c.truth("independent-work-remaining"), c.truth("requires-human")
	if err := c.usage(); err != nil {
		return nil, err
	}
	return strength.DecideBlocker(remaining, human), nil
}

func authorityCheck(c *call) (any, error) {
	op := c.id("op")
	if err := c.usage(); err != nil {
		return nil, err
	}
	return strength.CheckAuthority(op, c.optionalList("denied", ",")), nil
}
