package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ferrox/lanes"
	"ferrox/lanes/settings"
)

func (a *app) cmdWait() *cobra.Command {
	var what, timeout string
	cmd := &cobra.Command{Use: "wait [BATCH]", Short: "wait for a hold, or for the end of a batch, with the run's exit code", Args: upTo(1)}
	cmd.Flags().StringVar(&what, "for", "end", "hold or end")
	cmd.Flags().StringVar(&timeout, "timeout", "", "give up after this long")
	cmd.RunE = a.with(func(cmd *cobra.Command, args []string, e *opened) error {
		if what != "hold" && what != "end" {
			return usageError{fmt.Errorf("--for %q: hold or end", what)}
		}
		ctx := cmd.Context()
		if timeout != "" {
			d, err := settings.ParseDuration(timeout)
			if err != nil {
				return usageError{fmt.Errorf("--timeout: %w", err)}
			}
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, d)
			defer cancel()
		}
		w, err := e.Wait(ctx, lanes.BatchID(first(args)), what == "hold")
		if err != nil {
			return err
		}
		err = a.show(w, func(out io.Writer) {
			fmt.Fprintf(out, "batch %s: %s\n", w.Batch, w.Phase)
			a.writeHolds(out, w.Holds)
		})
		if err != nil || w.Exit == 0 {
			return err
		}
		return exitCode(w.Exit)
	})
	return cmd
}
