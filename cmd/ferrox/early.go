package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ferrox/engine"
	"ferrox/engine/hook"
	"ferrox/engine/verbs"
)

// toolsName is the other name of the program: called so, it knows the decision verbs only.
const toolsName = "ferrox-tools"

// early runs what needs no command tree: the shim, the decision verbs and the hooks of agents.
func (a *app) early(args []string) (int, bool) {
	switch {
	case filepath.Base(args[0]) == toolsName:
		return a.verb(args), true
	case len(args) > 3 && args[1] == "shim" && args[2] == "--spec":
		return a.shim(args[3]), true
	case len(args) > 1 && args[1] == "query":
		return a.verb(append([]string{args[0]}, args[1:]...)), true
	case len(args) > 2 && args[1] == "hook" && !strings.HasPrefix(args[2], "-"):
		return a.hook(args[2]), true
	}
	return 0, false
}

func (a *app) verb(argv []string) int {
	cwd, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(a.stderr, "Error: find the working directory:", err)
		return engine.ExitFailed
	}
	return verbs.Main(argv, a.stdin, a.stdout, a.stderr, a.getenv, cwd)
}

// hook answers an agent's hook. What cannot be found out blocks.
func (a *app) hook(name string) int {
	cwd, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(a.stderr, "ferrox: find the working directory:", err)
		return engine.ExitUsage
	}
	git := hook.GitFacts{}
	gate := &hook.MergeGate{
		Root: func(_ context.Context, dir string) (string, error) { return verbs.ProjectRoot(dir), nil },
		Run: func(ctx context.Context, root string, flags []string) (hook.Verdict, error) {
			d, err := verbs.MergeGate(ctx, root, a.getenv, flags)
			v := hook.Verdict{Decision: string(d.Decision)}
			for _, r := range d.Reasons {
				v.Reasons = append(v.Reasons, string(r))
			}
			return v, err
		},
		Domain: func(root string) (string, error) {
			set, _, err := verbs.Settings(root, a.getenv)
			return set.Domain, err
		},
	}
	protected := func(dir string) ([]string, error) {
		set, _, err := verbs.Settings(dir, a.getenv)
		return set.Guard.Protected, err
	}
	return hook.Main(name, a.stdin, a.stdout, a.stderr, a.env, cwd, hook.Deps{Repository: git, Gate: gate, Protected: protected})
}
