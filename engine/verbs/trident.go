package verbs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"ferrox/engine/crash"
	"ferrox/gates/trident"
	"ferrox/lanes/settings"
)

// auditRecord is a complete live audit, kept so that a merge can be held to it.
type auditRecord struct {
	Commit     string   `json:"commit"`
	Checkpoint string   `json:"checkpoint"`
	Families   []string `json:"families"`
	Consensus  []string `json:"consensus"`
}

func tridentAudit(c *call) (any, error) {
	q := trident.Query{
		CallerFamily: c.text("caller-family"), Checkpoint: c.text("checkpoint"), MaxRounds: 1,
		OpenEnded: c.present("open-ended"), LoopUntilClean: c.present("loop-until-clean"), Checkpoints: c.settings.Model.TridentCheckpoints,
	}
	if strings.TrimSpace(q.CallerFamily) == "" {
		c.wrong("caller-family", "empty; name the family that asks, or it can't be left out of the panel")
	}
	if n := c.optionalNumber("max-rounds"); n != nil {
		q.MaxRounds = *n
	}
	live := c.present("live")
	panel := ""
	if !live {
		panel = c.text("panel")
	}
	if err := c.usage(); err != nil {
		return nil, err
	}
	if live {
		return c.liveAudit(q)
	}

	members, err := trident.ReadPanel([]byte(panel))
	if err != nil {
		return nil, c.invalid("panel", err)
	}
	if c.optional("increment") != nil {
		c.warn("not recorded: only an audit that ferrox ran itself (--live) is")
	}
	return trident.Audit(q, members), nil
}

// liveAudit asks the panel of the settings, one after the other. What forbids the audit is looked at before anyone is asked.
func (c *call) liveAudit(q trident.Query) (any, error) {
	panel := c.settings.Model.TridentPanel
	families := make([]string, len(panel))
	for i, m := range panel {
		families[i] = m.Family
	}
	if d, ok := trident.Check(q, families); !ok {
		return d, nil
	}

	// The commit is read before the panel looks: what it sees later may be newer, never older.
	commit, atCommit := "", false
	if c.inRepository() {
		commit, atCommit = c.head()
	}
	var members []trident.Member
	for _, m := range panel {
		findings, reason := c.ask(m, q)
		if reason != "" {
			return trident.Decision{Decision: trident.Degraded, Reason: reason, CLI: m.Command[0]}, nil
		}
		members = append(members, trident.Member{Family: m.Family, Findings: findings})
	}
	d := trident.Audit(q, members)
	if increment := c.optional("increment"); increment != nil && d.Decision == trident.Complete {
		if !atCommit {
			c.warn("not recorded: the project has no commit that the audit could belong to")
			return d, nil
		}
		return d, c.recordAudit(*increment, auditRecord{commit, d.Checkpoint, d.PanelFamilies, *d.Consensus})
	}
	return d, nil
}

// askLimit is the time that one reviewer gets.
const askLimit = 10 * time.Minute

// ask runs one reviewer. reason says why its findings can't be had.
func (c *call) ask(m settings.PanelMember, q trident.Query) (findings []string, reason string) {
	ctx, cancel := context.WithTimeout(c.ctx, askLimit)
	defer cancel()

	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(ctx, m.Command[0], m.Command[1:]...)
	cmd.Dir = c.dir
	cmd.Stdin = strings.NewReader(prompt(q.Checkpoint))
	cmd.Stdout, cmd.Stderr = &out, &errOut
	cmd.WaitDelay = 5 * time.Second // for children that keep the output open
	after := crash.Around("ask reviewer")
	err := cmd.Run()
	after()
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit) && ctx.Err() == nil:
		c.warn("%s can't be started: %v", m.Command[0], err)
		return nil, trident.ReasonAbsent
	case err != nil:
		c.warn("%s ended with %v: %s", m.Command[0], err, firstLine(errOut.String()))
		return nil, trident.ReasonFailed
	}

	findings, err = trident.ReadFindings(out.Bytes())
	if err != nil {
		c.warn("%s: %v", m.Command[0], err)
		return nil, trident.ReasonUnreadable
	}
	return findings, ""
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

func prompt(checkpoint string) string {
	return fmt.Sprintf(`You are one of several independent reviewers from different model families. This is a single, bounded audit at the
checkpoint %q of the project in the current folder. Read what you need; change nothing.

Report what could hurt: missing requirements, unsafe assumptions, security holes, data loss, races, untested paths.
Print a JSON list and nothing else. Each finding is an object with "key" (a short, stable kebab-case name of the problem),
"title" and "severity" (critical, high, medium or low). Print [] when there is nothing to report.
`, checkpoint)
}

func (c *call) recordAudit(increment string, record auditRecord) error {
	return updateState(c.path(c.settings.Strength.CrossAuditStore), c.limits, func(f fields) (bool, error) {
		audits := f.sub("audits")
		err := audits.set(increment, record)
		return true, errors.Join(err, f.set("audits", audits))
	})
}
