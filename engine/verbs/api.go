package verbs

import (
	"context"
	"fmt"

	"ferrox/gates/strength"
	"ferrox/lanes/settings"
)

// ProjectRoot returns the folder that holds .planning for work in dir: inside a lane, the main checkout's.
func ProjectRoot(dir string) string {
	root, _ := findRoot(dir)
	return root
}

// Settings reads the settings that the verbs use for work in dir.
func Settings(dir string, env func(string) string) (settings.Settings, []settings.Warning, error) {
	p := project{root: ProjectRoot(dir)}
	return p.read(env, env("FERROX_WORKSTREAM"))
}

// MergeGate asks strength.merge-gate, with flags as on the command line, for the project that dir belongs to. The answer of a
// gate that could not be asked before ctx ends is an error, never a pass.
func MergeGate(ctx context.Context, dir string, env func(string) string, flags []string) (strength.GateDecision, error) {
	c := &call{ctx: ctx, env: env, cwd: dir, dir: dir, args: flags, workstream: env("FERROX_WORKSTREAM")}
	if err := c.find([]string{"strength.merge-gate"}); err != nil {
		return strength.GateDecision{}, err
	}
	c.args = flags
	c.project.open(c)
	c.limits.within(ctx)
	result, err := c.verb.run(c)
	if err == nil {
		err = ctx.Err()
	}
	d, ok := result.(strength.GateDecision)
	if err != nil || !ok {
		return strength.GateDecision{}, fmt.Errorf("ask the merge gate: %w", err)
	}
	return d, nil
}
