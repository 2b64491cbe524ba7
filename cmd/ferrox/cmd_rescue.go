package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) cmdRescue() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rescue", Short: "what was set aside before a worktree or branch was removed", Args: arguments(cobra.ArbitraryArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknown(cmd, args[0])
			}
			return usageError{fmt.Errorf("rescue what? ferrox rescue list|show|restore")}
		},
	}
	cmd.AddCommand(a.cmdRescueList(), a.cmdRescueShow(), a.cmdRescueRestore())
	return cmd
}

func (a *app) cmdRescueList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "every rescue", Args: none(),
		RunE: a.with(func(cmd *cobra.Command, _ []string, e *opened) error {
			v, err := e.Rescues(cmd.Context())
			if err != nil {
				return err
			}
			return a.show(v, func(w io.Writer) {
				rows := [][]string{}
				for _, r := range v {
					rows = append(rows, []string{r.Ref, r.Head.Short(), fmt.Sprint(len(r.Files)), r.At, shorten(strings.SplitN(r.Message, "\n", 2)[0])})
				}
				table(w, []string{"REF", "HEAD", "UNCOMMITTED", "AT", "WHAT"}, rows)
			})
		}),
	}
}

func (a *app) cmdRescueShow() *cobra.Command {
	return &cobra.Command{
		Use: "show REF", Short: "one rescue, whole", Args: exactly(1),
		RunE: a.with(func(cmd *cobra.Command, args []string, e *opened) error {
			v, err := e.RescueOf(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.show(v, func(w io.Writer) {
				table(w, nil, [][]string{{"ref", v.Ref}, {"commit", string(v.Commit)}, {"head", string(v.Head)}, {"index", string(v.Index)}, {"at", v.At}, {"message", v.Message}})
				for _, path := range v.Files {
					fmt.Fprintf(w, "  %s\n", clean(path))
				}
				fmt.Fprintf(w, "try: git diff %s %s\ntry: ferrox rescue restore %s\n", v.Head.Short(), clean(v.Ref), clean(v.Ref))
			})
		}),
	}
}

func (a *app) cmdRescueRestore() *cobra.Command {
	var into string
	cmd := &cobra.Command{Use: "restore REF", Short: "bring a rescue back into a worktree and branch of its own; writes over nothing", Args: exactly(1)}
	cmd.Flags().StringVar(&into, "into", "", "folder of the worktree; beside the lanes when left out")
	cmd.RunE = a.with(func(cmd *cobra.Command, args []string, e *opened) (err error) {
		if err := a.mayCommand(cmd.Context(), e); err != nil {
			return err
		}
		if into != "" {
			if into, err = filepath.Abs(into); err != nil {
				return usageError{fmt.Errorf("--into: %w", err)}
			}
		}
		v, err := e.RestoreRescue(cmd.Context(), args[0], into)
		if err != nil {
			return err
		}
		return a.show(v, func(w io.Writer) {
			fmt.Fprintf(w, "%s is in %s on branch %s\n", clean(v.Ref), clean(v.Worktree), clean(v.Branch))
		})
	})
	return cmd
}
