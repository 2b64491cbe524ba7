package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ferrox/engine"
	"ferrox/lanes"
	"ferrox/lanes/packet"
)

func (a *app) cmdPlan() *cobra.Command {
	var base string
	var limit int
	cmd := &cobra.Command{Use: "plan [PATH…]", Short: "packets found, waves, lanes, hot seams, problems; runs nothing", Args: arguments(cobra.ArbitraryArgs)}
	cmd.Flags().StringVar(&base, "base", "", "revision to read the packets at (HEAD)")
	cmd.Flags().IntVar(&limit, "lanes", 0, "lanes to plan for (settings: runner.lanes)")
	cmd.RunE = a.with(func(cmd *cobra.Command, args []string, e *opened) error {
		if limit < 0 || cmd.Flags().Changed("lanes") && limit == 0 {
			return usageError{fmt.Errorf("--lanes %d: at least 1", limit)}
		}
		v, err := e.Plan(cmd.Context(), args, base, limit)
		if err != nil {
			return err
		}
		if err := a.show(v, func(w io.Writer) { writePlan(w, v) }); err != nil {
			return err
		}
		if packet.Failed(v.Problems) {
			return exitCode(engine.ExitUsage)
		}
		return nil
	})
	return cmd
}

func writePlan(w io.Writer, v engine.PlanView) {
	rows := [][]string{}
	for _, t := range v.Tasks {
		state := ""
		if t.Done {
			state = "finished"
		}
		rows = append(rows, []string{string(t.ID), string(t.Size), fmt.Sprint(t.ReviewLevel), fmt.Sprint(len(t.Steps)), joinIDs(t.DependsOn), state, t.Title, t.Path})
	}
	table(w, []string{"TASK", "SIZE", "LEVEL", "STEPS", "DEPENDS ON", "STATE", "TITLE", "PACKET"}, rows)
	for i, wave := range v.Waves {
		fmt.Fprintf(w, "\nwave %d: %s", i+1, clean(joinIDs(wave)))
		for _, l := range v.Lanes {
			if l.Wave == i+1 {
				fmt.Fprintf(w, "\n  lane %d: %s", l.Lane, clean(joinIDs(l.Tasks)))
			}
		}
	}
	fmt.Fprintln(w)
	for _, s := range v.Seams {
		fmt.Fprintf(w, "hot seam %s: %s\n", clean(s.Seam), clean(joinIDs(s.Tasks)))
	}
	for _, dir := range v.Imports {
		fmt.Fprintf(w, "would be committed as found: %s\n", clean(dir))
	}
	for _, p := range v.Problems {
		fmt.Fprintf(w, "%s: %s\n", p.Severity, clean(p.String()))
	}
}

func joinIDs(ids []lanes.TaskID) string {
	if len(ids) == 0 {
		return "-"
	}
	parts := make([]string, 0, len(ids))
	for _, id := range ids {
		parts = append(parts, string(id))
	}
	return strings.Join(parts, ", ")
}
