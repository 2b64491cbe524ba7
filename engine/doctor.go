package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"ferrox/lanes"
)

// CheckState says how a check went.
type CheckState string

// The states of a check. Only a fail stands in the way of a batch.
const (
	CheckOK   CheckState = "ok"
	CheckWarn CheckState = "warn"
	CheckFail CheckState = "fail"
)

// Check is one row of `ferrox doctor`.
type Check struct {
	Check string     `json:"check"`
	State CheckState `json:"state"`
	Found string     `json:"found"`
	Fix   string     `json:"fix,omitempty"` // what to type; empty when nothing is to be done
}

// CheckOf makes a row.
func CheckOf(name string, state CheckState, fix, format string, args ...any) Check {
	return Check{Check: name, State: state, Fix: fix, Found: fmt.Sprintf(format, args...)}
}

// broken is a check that could not be made.
func broken(name string, err error) []Check {
	return []Check{CheckOf(name, CheckFail, "ferrox doctor --json", "it could not be looked at: %v", err)}
}

// CheckSettings reads the settings file as a batch would, and looks for the worker's command.
func (e *Engine) CheckSettings() []Check {
	set, warnings, _, err := e.LoadSettings()
	if err != nil {
		return []Check{CheckOf("settings", CheckFail, "edit "+SettingsFile, "%v", err)}
	}
	checks := []Check{CheckOf("settings", CheckOK, "", "%s", SettingsFile)}
	for _, w := range warnings {
		checks = append(checks, CheckOf("settings", CheckWarn, "edit "+SettingsFile, "%s", w))
	}
	command := set.Runner.Worker.Command
	if len(command) == 0 {
		return append(checks, CheckOf("worker", CheckWarn, "set runner.worker.command in "+SettingsFile, "no worker command is set"))
	}
	name := command[0]
	if strings.Contains(name, "/") && !filepath.IsAbs(name) {
		name = filepath.Join(e.Root, name) // a worker starts in its lane, which has what the checkout has
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return append(checks, CheckOf("worker", CheckFail, "install it, or edit runner.worker.command in "+SettingsFile, "%v", err))
	}
	return append(checks, CheckOf("worker", CheckOK, "", "%s", path))
}

// CheckState looks at what the store remembers: the engine, the clock, workers, lanes, and what git has beyond it.
func (e *Engine) CheckState(ctx context.Context) []Check {
	var checks []Check
	for _, look := range []func(context.Context) []Check{e.checkEngine, e.checkClock, e.checkDifferences, e.checkLocks, e.checkRescues} {
		checks = append(checks, look(ctx)...)
	}
	return checks
}

// checkEngine tells a dead engine, and workers that live on without one.
func (e *Engine) checkEngine(ctx context.Context) []Check {
	var l lanes.Lease
	err := e.Store.View(ctx, func(r Reader) (err error) {
		l, err = r.Lease(ctx)
		return err
	})
	if err != nil && !errors.Is(err, ErrNotFound) {
		return broken("engine", err)
	}
	s, err := e.EngineState(ctx, "")
	if err != nil {
		return broken("engine", err)
	}
	checks := []Check{CheckOf("engine", CheckOK, "", "%s", s.State)}
	if s.State == "dead" {
		checks = []Check{CheckOf("engine", CheckWarn, strings.TrimSpace("ferrox resume "+string(l.Batch)), "engine %d died without a word; everything it committed is there", s.PID)}
	}
	alive, err := e.LiveShims(ctx)
	switch {
	case err != nil:
		return append(checks, broken("workers", err)...)
	case s.State != "alive" && len(alive) > 0:
		return append(checks, CheckOf("workers", CheckWarn, "ferrox resume adopts them", "%d workers are alive without an engine, the first under process %d", len(alive), alive[0].PID))
	}
	return append(checks, CheckOf("workers", CheckOK, "", "%d alive", len(alive)))
}

// clockSlack is how far a record may be ahead of the clock: clocks are set back a little all the time.
const clockSlack = time.Minute

// checkClock compares the clock with the newest record. Deadlines are absolute instants: a clock that was set back makes
// them late.
func (e *Engine) checkClock(ctx context.Context) []Check {
	var last []lanes.Event
	err := e.Store.View(ctx, func(r Reader) (err error) {
		last, err = r.Events(ctx, EventFilter{Limit: 1})
		return err
	})
	if err != nil {
		return broken("clock", err)
	}
	now := e.Clock.Now()
	if len(last) > 0 && last[0].At.Sub(now) > clockSlack {
		return []Check{CheckOf("clock", CheckWarn, "set the clock", "it says %s, the newest record is of %s", stamp(now), stamp(last[0].At))}
	}
	return []Check{CheckOf("clock", CheckOK, "", "%s", stamp(now))}
}

// checkDifferences names lanes, branches and merges that only git or only the database knows.
func (e *Engine) checkDifferences(ctx context.Context) []Check {
	found, err := e.Differences(ctx)
	if err != nil {
		return broken("git against the database", err)
	}
	var checks []Check
	for _, d := range found {
		checks = append(checks, CheckOf(d.Kind, CheckWarn, d.Next, "%s: %s", d.Ref, d.Text))
	}
	if len(checks) == 0 {
		checks = append(checks, CheckOf("git against the database", CheckOK, "", "they agree"))
	}
	return checks
}

// checkLocks finds index locks that a git process left in lanes.
func (e *Engine) checkLocks(ctx context.Context) []Check {
	list, err := e.Git.Worktrees(ctx)
	if err != nil {
		return broken("index locks", err)
	}
	var checks []Check
	for _, w := range list {
		info, err := os.Stat(filepath.Join(gitDirOf(w.Dir), "index.lock"))
		if !strings.HasPrefix(w.Branch, "ferrox/") || err != nil {
			continue
		}
		age := e.Clock.Now().Sub(info.ModTime()).Round(time.Second)
		if pid := gitIn(w.Dir); pid != "" {
			checks = append(checks, CheckOf("index locks", CheckOK, "", "git %s is at work in %s", pid, w.Dir))
			continue
		}
		checks = append(checks, CheckOf("index locks", CheckWarn, "rm "+filepath.Join(gitDirOf(w.Dir), "index.lock"),
			"%s has an index.lock, %s old, and no git lives there", w.Dir, age))
	}
	if len(checks) == 0 {
		checks = append(checks, CheckOf("index locks", CheckOK, "", "none"))
	}
	return checks
}

// gitDirOf reads a worktree's link to its git directory; "" when there is none.
func gitDirOf(worktree string) string {
	data, err := os.ReadFile(filepath.Join(worktree, ".git"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.TrimPrefix(string(data), "gitdir: "))
}

// gitIn returns the pid of a git process that stands in dir or below it; "" for none.
func gitIn(dir string) string {
	names, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, name := range names {
		if comm, err := os.ReadFile(name); err != nil || strings.TrimSpace(string(comm)) != "git" {
			continue
		}
		cwd, err := os.Readlink(filepath.Join(filepath.Dir(name), "cwd"))
		if err == nil && (cwd == dir || strings.HasPrefix(cwd, dir+"/")) {
			return filepath.Base(filepath.Dir(name))
		}
	}
	return ""
}

func (e *Engine) checkRescues(ctx context.Context) []Check {
	list, err := e.Git.Rescues(ctx)
	if err != nil {
		return broken("rescues", err)
	}
	if len(list) == 0 {
		return []Check{CheckOf("rescues", CheckOK, "", "none")}
	}
	return []Check{CheckOf("rescues", CheckOK, "ferrox rescue list", "%d, the last is %s", len(list), list[len(list)-1].Ref)}
}
