package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ferrox/engine"
	"ferrox/lanes"
)

func (a *app) cmdClean() *cobra.Command {
	return &cobra.Command{
		Use: "clean BATCH", Short: "remove what is safely landed or rescued of a finished batch; says what it keeps and why", Args: exactly(1),
		RunE: a.with(func(cmd *cobra.Command, args []string, e *opened) error {
			if err := a.mayCommand(cmd.Context(), e); err != nil {
				return err
			}
			v, err := e.Clean(cmd.Context(), engine.CleanOptions{Batch: lanes.BatchID(args[0]), RequestID: a.request})
			if err != nil {
				return err
			}
			return a.show(v, func(w io.Writer) { writeCleaned(w, v) })
		}),
	}
}

func writeCleaned(w io.Writer, v engine.Cleaned) {
	for _, r := range v.Rescued {
		fmt.Fprintf(w, "rescued lane %d as %s (ferrox rescue show %s)\n", r.Lane, clean(r.Ref), clean(r.Ref))
		for _, path := range r.Ignored {
			fmt.Fprintf(w, "  not in it: %s\n", clean(path))
		}
	}
	for _, r := range v.Removed {
		fmt.Fprintf(w, "removed %s %s\n", clean(r.Branch), clean(r.Worktree))
	}
	for _, k := range v.Kept {
		fmt.Fprintf(w, "kept %s %s\n", clean(k.Branch), clean(k.Worktree))
		for _, re := range k.Reasons {
			fmt.Fprintf(w, "  %s: %s\n", re.Code, clean(re.Text))
			if re.Next != "" {
				fmt.Fprintf(w, "  try: %s\n", clean(re.Next))
			}
		}
	}
	if len(v.Rescued)+len(v.Removed)+len(v.Kept) == 0 {
		fmt.Fprintf(w, "batch %s: nothing is left to clean\n", v.Batch)
	}
	fmt.Fprintf(w, "output of its workers is kept in %s\n", clean(v.Runs))
}
