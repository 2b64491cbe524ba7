package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"ferrox/engine"
	"ferrox/engine/process"
	"ferrox/lanes"
)

func (a *app) cmdGuard() *cobra.Command {
	guard := &cobra.Command{Use: "guard", Short: "checks for agents", Args: none(), RunE: func(*cobra.Command, []string) error {
		return usageError{errors.New("guard what? ferrox guard lane")}
	}}
	guard.AddCommand(&cobra.Command{
		Use: "lane", Short: "am I in the right worktree, branch and base? exit 42 if not", Args: none(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			g, err := a.guardLane(cmd.Context())
			if err != nil {
				return err
			}
			err = a.show(g, func(w io.Writer) {
				if g.OK {
					fmt.Fprintf(w, "lane %d: %s on %s\n", g.Lane, clean(g.Worktree), clean(g.Branch))
				}
				for _, text := range g.Against {
					fmt.Fprintf(w, "wrong: %s\n", clean(text))
				}
			})
			if err == nil && !g.OK {
				return exitCode(engine.ExitGuard)
			}
			return err
		},
	})
	return guard
}

// guardLane asks the store, or, for a worker, the shim: workers never open the store.
func (a *app) guardLane(ctx context.Context) (engine.LaneGuard, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return engine.LaneGuard{}, err
	}
	if a.getenv("FERROX_TOKEN") == "" {
		e, err := a.open(ctx)
		if err != nil {
			return engine.LaneGuard{}, err
		}
		g, err := e.GuardLane(ctx, cwd)
		return g, errors.Join(err, e.close())
	}
	answer, err := process.Call(ctx, a.getenv, engine.WorkerRequest{Verb: "lane"})
	if err != nil || answer.Exit != 0 {
		return engine.LaneGuard{}, errors.Join(err, fmt.Errorf("ask the shim for the lane: %s", answer.Text))
	}
	var l lanes.Lane
	if err := json.Unmarshal([]byte(answer.Result), &l); err != nil {
		return engine.LaneGuard{}, err
	}
	if !strings.HasPrefix(cwd+"/", l.Worktree+"/") {
		return engine.LaneGuard{Lane: l.Number, Worktree: l.Worktree, Branch: l.Branch, Base: l.Base, Against: []string{cwd + " is not in the lane's worktree"}}, nil
	}
	git, _, err := a.openRepo(ctx)
	if err != nil {
		return engine.LaneGuard{}, err
	}
	return engine.GuardLane(ctx, git, l)
}
