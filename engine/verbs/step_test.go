package verbs

import (
	"context"
	"os"

	"ferrox/engine/hook"
)

// hookVerb is what the case file calls the merge hook; it is not a verb of this package.
const hookVerb = "hook.merge-gate-guard"

// runHook answers one event as the program does: the hook in front, the merge gate of this package behind.
func runHook(cwd string) int {
	gate := &hook.MergeGate{
		Root: func(_ context.Context, cwd string) (string, error) { return ProjectRoot(cwd), nil },
		Run: func(ctx context.Context, root string, flags []string) (hook.Verdict, error) {
			d, err := MergeGate(ctx, root, os.Getenv, flags)
			v := hook.Verdict{Decision: string(d.Decision)}
			for _, r := range d.Reasons {
				v.Reasons = append(v.Reasons, string(r))
			}
			return v, err
		},
		Domain: func(root string) (string, error) {
			s, _, err := Settings(root, os.Getenv)
			return s.Domain, err
		},
	}
	protected := func(cwd string) ([]string, error) {
		s, _, err := Settings(cwd, os.Getenv)
		return s.Guard.Protected, err
	}
	deps := hook.Deps{Repository: hook.GitFacts{}, Gate: gate, Protected: protected}
	return hook.Main("pre-tool-use", os.Stdin, os.Stdout, os.Stderr, os.Environ(), cwd, deps)
}

func testStep(step, cwd string) int { return 99 }
