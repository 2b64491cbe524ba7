// Command tool is ferrox-tools alone, for the tests of package verbs: the verbs, and behind the case file's name the merge hook
// as the program wires it.
package main

import (
	"context"
	"os"

	"ferrox/engine/hook"
	"ferrox/engine/verbs"
)

// hookVerb is what the case file calls the merge hook.
const hookVerb = "hook.merge-gate-guard"

func main() {
	cwd, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	if len(os.Args) > 2 && os.Args[2] == hookVerb {
		os.Exit(runHook(cwd))
	}
	os.Exit(verbs.Main(os.Args, os.Stdin, os.Stdout, os.Stderr, os.Getenv, cwd))
}

// runHook answers one event: the hook in front, the merge gate behind.
func runHook(cwd string) int {
	gate := &hook.MergeGate{
		Root: func(_ context.Context, cwd string) (string, error) { return verbs.ProjectRoot(cwd), nil },
		Run: func(ctx context.Context, root string, flags []string) (hook.Verdict, error) {
			d, err := verbs.MergeGate(ctx, root, os.Getenv, flags)
			v := hook.Verdict{Decision: string(d.Decision)}
			for _, r := range d.Reasons {
				v.Reasons = append(v.Reasons, string(r))
			}
			return v, err
		},
		Domain: func(root string) (string, error) {
			s, _, err := verbs.Settings(root, os.Getenv)
			return s.Domain, err
		},
	}
	protected := func(cwd string) ([]string, error) {
		s, _, err := verbs.Settings(cwd, os.Getenv)
		return s.Guard.Protected, err
	}
	deps := hook.Deps{Repository: hook.GitFacts{}, Gate: gate, Protected: protected}
	return hook.Main("pre-tool-use", os.Stdin, os.Stdout, os.Stderr, os.Environ(), cwd, deps)
}
