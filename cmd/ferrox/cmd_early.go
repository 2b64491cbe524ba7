package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"
)

// cmdQuery stands in the tree for the help, the page and completion. A call that is right never gets here: see early.
func (a *app) cmdQuery() *cobra.Command {
	return &cobra.Command{
		Use: "query FAMILY.VERB", Short: "ask a decision verb: caps, ownership, seams, coverage, the ship gate",
		Long: "An answer is JSON, a refusal too, with exit code 0; wrong arguments are exit code 1. `ferrox query --list` names the verbs,\n" +
			"`ferrox query FAMILY.VERB --help` explains one, [verbs.md](verbs.md) all. Called as `ferrox-tools`, the program knows nothing else.",
		Example:            "  ferrox query gate.cap-check --gate revision --increment INC-1 --passes 3 --start-ts 0 --now-ts 60000",
		DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return usageError{errors.New("ask a decision verb: its flags go behind it: ferrox query FAMILY.VERB --cwd DIR")}
		},
	}
}

// cmdHook is the same for the hooks of agents.
func (a *app) cmdHook() *cobra.Command {
	return &cobra.Command{
		Use: "hook NAME", Short: "answer an agent's hook: pre-tool-use blocks merges that the ship gate does not allow",
		Long: "The event is read from standard input in the format of Claude Code, Codex or Gemini CLI. `ferrox init --agent` writes the\n" +
			"settings that call it. Exit code 2 blocks the tool, and so does whatever cannot be found out. See [guard.md](guard.md).",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if slices.Contains(args, "--help") || slices.Contains(args, "-h") {
				return cmd.Help()
			}
			return usageError{errors.New("answer which hook? ferrox hook pre-tool-use")}
		},
	}
}
