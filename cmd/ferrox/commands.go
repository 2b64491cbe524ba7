package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

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
				return unknown(cmd, args[0])
			}
			if a.json {
				return usageError{errors.New("--json wants a command")}
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
	group(root, "run", "Run batches:", a.orchestrator())
	group(root, "rule", "Rule on holds:", a.supervisor())
	group(root, "look", "Look:", a.operator())
	group(root, "worker", "For workers and agents:", a.worker())
	root.SetHelpCommand(help())
	return root
}

// group adds commands under a heading of the help.
func group(root *cobra.Command, id, title string, commands []*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: id, Title: title})
	for _, cmd := range commands {
		cmd.GroupID = id
	}
	root.AddCommand(commands...)
}

// unknown is a command that does not exist, with the one that may be meant.
func unknown(cmd *cobra.Command, name string) error {
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		if i := slices.IndexFunc(near, func(c string) bool { return strings.HasPrefix(c, name) }); i > 0 {
			near = near[i:]
		}
		return usageError{fmt.Errorf("unknown command %q; did you mean %s?", name, cmd.CommandPath()+" "+near[0])}
	}
	return usageError{fmt.Errorf("unknown command %q", name)}
}

// help is cobra's help command, but an unknown command is an error.
func help() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "explain a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) > 0 {
				return unknown(about, rest[0])
			}
			if err != nil {
				return usageError{err}
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// arguments turns cobra's complaints into usage errors.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{fmt.Errorf("%s: %w", cmd.UseLine(), err)}
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
