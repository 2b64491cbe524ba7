package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// commands builds the tree of people's commands.
func (a *app) commands() *cobra.Command {
	root := &cobra.Command{
		Use: "ferrox", Short: "run coding-agent tasks in parallel lanes, and hold those that wait for a ruling",
		SilenceErrors: true, SilenceUsage: true, Args: cobra.ArbitraryArgs,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown command %q", args[0])}
			}
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	p := root.PersistentFlags()
	p.StringVar(&a.repo, "repo", "", "the repository; found from the working directory when left out")
	p.BoolVar(&a.json, "json", false, "print one JSON value")
	p.BoolVar(&a.plain, "plain", false, "no colour and no redrawing")
	p.StringVar(&a.request, "request-id", "", "the same id again gives the same answer and has no second effect")
	root.AddCommand(a.orchestrator()...)
	root.AddCommand(a.supervisor()...)
	root.AddCommand(a.operator()...)
	root.AddCommand(a.worker()...)
	return root
}

// arguments turns cobra's complaints into usage errors.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{fmt.Errorf("%s: %w", cmd.CommandPath(), err)}
		}
		return nil
	}
}

// none is a command without arguments.
func none() cobra.PositionalArgs { return arguments(cobra.NoArgs) }

func upTo(n int) cobra.PositionalArgs { return arguments(cobra.MaximumNArgs(n)) }

func exactly(n int) cobra.PositionalArgs { return arguments(cobra.ExactArgs(n)) }

// with opens the repository's state for one command.
func (a *app) with(do func(cmd *cobra.Command, args []string, e *opened) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		e, err := a.open(cmd.Context())
		if err != nil {
			return err
		}
		return errors.Join(do(cmd, args, e), e.close())
	}
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
