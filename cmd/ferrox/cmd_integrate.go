package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ferrox/engine"
	"ferrox/engine/hook"
	"ferrox/engine/verbs"
	"ferrox/lanes"
)

func (a *app) cmdIntegrate() *cobra.Command {
	var o engine.IntegrateOptions
	cmd := &cobra.Command{
		Use: "integrate [BATCH] --into BRANCH", Short: "merge the integration branch into BRANCH, through the ship gate", Args: upTo(1),
		Example: "  ferrox integrate --into main",
	}
	cmd.Flags().StringVar(&o.Into, "into", "", "the branch that takes the work")
	cmd.RunE = a.with(func(cmd *cobra.Command, args []string, e *opened) error {
		if o.Into == "" {
			return usageError{fmt.Errorf("integrate: --into BRANCH is required")}
		}
		if err := a.mayCommand(cmd.Context(), e); err != nil {
			return err
		}
		if err := e.attend(); err != nil {
			return err
		}
		o.Batch = lanes.BatchID(first(args))
		done, err := e.Integrate(cmd.Context(), o)
		if err != nil {
			return err
		}
		return a.show(done, func(w io.Writer) {
			fmt.Fprintf(w, "batch %s: %s; %s is at %s\n", done.Batch, done.Result, clean(done.Into), done.Commit.Short())
		})
	})
	return cmd
}

// shipGate asks strength.merge-gate with the project's evidence manifest, in which what ferrox measured takes the place of
// the caller's word.
func (a *app) shipGate(root string) engine.ShipGate {
	return func(ctx context.Context, m engine.Measured) ([]lanes.Reason, error) {
		flags, in, err := hook.ManifestFlags(root)
		if err != nil || !in {
			return nil, err
		}
		flags = measured(flags, map[string]string{
			"--declared": strings.Join(m.Declared, ","), "--actual": strings.Join(m.Actual, ","), "--files": strings.Join(m.Actual, ","),
			"--hot-seam-serialized": "true",
		})
		for _, path := range m.Actual {
			if strings.Contains(path, ",") {
				return nil, fmt.Errorf("%q has a comma, which the gate's lists cannot express", path)
			}
		}
		d, err := verbs.MergeGate(ctx, root, a.getenv, flags)
		if err != nil || d.Decision == "pass" {
			return nil, err
		}
		return shipReasons(d.Reasons, d.Errors), nil
	}
}

// measured puts values in the place of a manifest's.
func measured(flags []string, values map[string]string) []string {
	var kept []string
	for i := 0; i+1 < len(flags); i += 2 {
		if _, own := values[flags[i]]; !own {
			kept = append(kept, flags[i], flags[i+1])
		}
	}
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		kept = append(kept, name, values[name])
	}
	return kept
}

func shipReasons[T ~string](codes []T, errs []string) []lanes.Reason {
	var reasons []lanes.Reason
	for _, c := range codes {
		text := "the ship gate says " + string(c)
		if string(c) == "input-verb-error" {
			text += ": " + strings.Join(errs, ", ")
		}
		reasons = append(reasons, lanes.Reason{Code: lanes.Code(c), Ref: "strength.merge-gate", Text: text, Clears: "operator", Next: "ferrox query strength.merge-gate"})
	}
	if reasons == nil {
		reasons = []lanes.Reason{{Code: lanes.CodeFactUnreadable, Ref: "strength.merge-gate", Text: "the ship gate blocks and says no reason", Clears: "operator", Next: "ferrox query strength.merge-gate"}}
	}
	return reasons
}
