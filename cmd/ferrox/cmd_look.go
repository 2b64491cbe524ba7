package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"ferrox/engine"
	"ferrox/engine/process"
	"ferrox/lanes"
)

// operator lists the commands that look.
func (a *app) operator() []*cobra.Command {
	return []*cobra.Command{
		a.cmdStatus(), a.cmdBatches(), a.cmdLanes(), a.cmdHolds(), a.cmdShow(), a.cmdOutput(), a.cmdLog(), a.cmdPaths(), a.cmdVersion(), a.cmdCompletion(),
		a.cmdBackup(), a.cmdRestore(), a.cmdDoctor(),
	}
}

func (a *app) cmdStatus() *cobra.Command {
	return &cobra.Command{
		Use: "status [BATCH]", Short: "batch, tasks, lanes, holds, branches, and what happens next", Args: upTo(1),
		RunE: a.with(func(cmd *cobra.Command, args []string, e *opened) error {
			v, err := e.Status(cmd.Context(), lanes.BatchID(first(args)))
			if err != nil {
				return err
			}
			return a.show(v, func(w io.Writer) { a.writeStatus(w, v) })
		}),
	}
}

func (a *app) cmdBatches() *cobra.Command {
	return &cobra.Command{
		Use: "batches", Short: "every batch, newest first", Args: none(),
		RunE: a.with(func(cmd *cobra.Command, _ []string, e *opened) error {
			v, err := e.Batches(cmd.Context())
			if err != nil {
				return err
			}
			return a.show(v, func(w io.Writer) {
				rows := [][]string{}
				for _, b := range v {
					rows = append(rows, []string{string(b.Batch), string(b.Phase), fmt.Sprintf("%d/%d", b.Succeeded, b.Tasks), fmt.Sprint(b.Held), age(b.CreatedAt, a.clock().Now()), b.Branch})
				}
				table(w, []string{"BATCH", "PHASE", "LANDED", "HELD", "AGE", "BRANCH"}, rows)
			})
		}),
	}
}

func (a *app) cmdLanes() *cobra.Command {
	var held bool
	var batch string
	cmd := &cobra.Command{Use: "lanes", Short: "one row a lane", Args: none()}
	cmd.Flags().BoolVar(&held, "held", false, "only lanes whose task is held")
	cmd.Flags().StringVar(&batch, "batch", "", "the batch; the newest when left out")
	cmd.RunE = a.with(func(cmd *cobra.Command, _ []string, e *opened) error {
		v, err := e.Lanes(cmd.Context(), lanes.BatchID(batch), held)
		if err != nil {
			return err
		}
		return a.show(v, func(w io.Writer) { a.writeLanes(w, v) })
	})
	return cmd
}

func (a *app) cmdHolds() *cobra.Command {
	var all bool
	cmd := &cobra.Command{Use: "holds", Short: "unresolved holds of every batch", Args: none()}
	cmd.Flags().BoolVar(&all, "all", false, "resolved and cancelled ones too")
	cmd.RunE = a.with(func(cmd *cobra.Command, _ []string, e *opened) error {
		v, err := e.Holds(cmd.Context(), all)
		if err != nil {
			return err
		}
		if len(v) == 0 && !a.json {
			fmt.Fprintln(a.stderr, "no hold is unresolved")
		}
		return a.show(v, func(w io.Writer) { a.writeHolds(w, v) })
	})
	return cmd
}

func (a *app) cmdShow() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "a hold, message, task, lane, run or event, whole", Args: exactly(1),
		RunE: a.with(func(cmd *cobra.Command, args []string, e *opened) error {
			v, err := e.Show(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if a.json {
				return a.show(v, nil)
			}
			body, err := json.MarshalIndent(v, "", "  ")
			if err != nil {
				return err
			}
			var fields map[string]any
			if err := json.Unmarshal(body, &fields); err != nil {
				return err
			}
			writeFields(a.stdout, body)
			return nil
		}),
	}
}

// writeFields prints a record one field a line, in the order of its JSON.
func writeFields(w io.Writer, body []byte) {
	dec := json.NewDecoder(strings.NewReader(string(body)))
	if _, err := dec.Token(); err != nil {
		return
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return
		}
		var s string
		if json.Unmarshal(value, &s) != nil {
			s = string(value)
		}
		fmt.Fprintf(w, "%-20s %s\n", key, clean(s))
	}
}

func (a *app) cmdOutput() *cobra.Command {
	var follow bool
	var iteration int
	var batch string
	cmd := &cobra.Command{Use: "output TASK", Short: "what a task's worker printed", Args: exactly(1)}
	f := cmd.Flags()
	f.BoolVar(&follow, "follow", false, "go on until the run ends")
	f.IntVar(&iteration, "iteration", 0, "which run; the newest when left out")
	f.StringVar(&batch, "batch", "", "the batch; the newest when left out")
	cmd.RunE = a.with(func(cmd *cobra.Command, args []string, e *opened) error {
		run, err := e.RunOf(cmd.Context(), lanes.BatchID(batch), lanes.TaskID(args[0]), iteration)
		if err != nil {
			return err
		}
		if a.json {
			var b strings.Builder
			if err := process.ReadOutput(cmd.Context(), run.Dir, &b, false); err != nil {
				return err
			}
			return a.show(map[string]any{"task": run.Task, "iteration": run.Iteration, "run": run.ID, "output": strings.ToValidUTF8(b.String(), "\uFFFD")}, nil)
		}
		err = process.ReadOutput(cmd.Context(), run.Dir, a.stdout, follow)
		if errors.Is(err, os.ErrNotExist) {
			return nil // it has printed nothing yet
		}
		return err
	})
	return cmd
}

func (a *app) cmdLog() *cobra.Command {
	var follow, jsonl bool
	var f engine.EventFilter
	var batch, task string
	cmd := &cobra.Command{Use: "log", Short: "what happened, oldest first", Args: none()}
	fl := cmd.Flags()
	fl.BoolVar(&follow, "follow", false, "go on with what happens")
	fl.StringVar(&batch, "batch", "", "only this batch")
	fl.StringVar(&task, "task", "", "only this task")
	fl.BoolVar(&jsonl, "jsonl", false, "one JSON object a line")
	cmd.RunE = a.with(func(cmd *cobra.Command, _ []string, e *opened) error {
		f.Batch, f.Task = lanes.BatchID(batch), lanes.TaskID(task)
		if follow && a.json {
			jsonl = true
		}
		if err := known(cmd.Context(), e, f); err != nil {
			return err
		}
		events, err := e.Log(cmd.Context(), f)
		if err != nil {
			return err
		}
		if a.json && !jsonl {
			return a.show(events, nil)
		}
		print := func(events []engine.EventView) {
			for _, ev := range events {
				a.printEvent(ev, jsonl)
				f.After = ev.Seq
			}
		}
		print(events)
		if !follow {
			return nil
		}
		return a.followLog(cmd.Context(), e, &f, print)
	})
	return cmd
}

// known refuses a batch or task that does not exist: its log would be empty for another reason than that nothing happened.
func known(ctx context.Context, e *opened, f engine.EventFilter) error {
	if f.Batch != "" {
		if _, err := e.BatchOf(ctx, f.Batch); err != nil {
			return err
		}
	}
	if f.Task == "" {
		return nil
	}
	v, err := e.Show(ctx, string(f.Task))
	if _, isTask := v.(engine.TaskDetail); err == nil && !isTask {
		err = &engine.Error{Exit: engine.ExitNotFound, Code: "not-found", Message: fmt.Sprintf("no batch has a task %q", f.Task), Next: "ferrox status"}
	}
	return err
}

func (a *app) printEvent(ev engine.EventView, jsonl bool) {
	if !jsonl {
		fmt.Fprintln(a.stdout, a.paint(ev.Event, eventLine(ev)))
		return
	}
	if line, err := json.Marshal(ev); err == nil {
		fmt.Fprintln(a.stdout, string(line))
	}
}

// followLog prints events as they come. It looks only when somebody has committed.
func (a *app) followLog(ctx context.Context, e *opened, f *engine.EventFilter, print func([]engine.EventView)) error {
	return e.Follow(ctx, func() (bool, error) {
		events, err := e.Log(ctx, *f)
		print(events)
		return false, err
	})
}

// paths is where things live on this machine.
type paths struct {
	Repository string `json:"repository"`
	State      string `json:"state"`
	Database   string `json:"database"`
	Settings   string `json:"settings"`
	Lanes      string `json:"lanes"`
	Refused    string `json:"refused"`
	EngineLog  string `json:"engine_log"`
}

func (a *app) cmdPaths() *cobra.Command {
	return &cobra.Command{
		Use: "paths", Short: "where things live on this machine", Args: none(),
		RunE: a.with(func(_ *cobra.Command, _ []string, e *opened) error {
			v := paths{
				Repository: e.Root, State: e.Home, Database: filepath.Join(e.Home, "ferrox.db"), Settings: filepath.Join(e.Root, engine.SettingsFile),
				Lanes: e.LanesRoot(), Refused: filepath.Join(e.Home, "refused"), EngineLog: filepath.Join(e.Home, "engine.log"),
			}
			return a.show(v, func(w io.Writer) {
				table(w, nil, [][]string{
					{"repository", v.Repository},
					{"state", v.State},
					{"database", v.Database},
					{"settings", v.Settings},
					{"lanes", v.Lanes},
					{"refused claims", v.Refused},
					{"engine log", v.EngineLog},
				})
			})
		}),
	}
}

func (a *app) cmdVersion() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "which ferrox this is", Args: none(),
		RunE: func(*cobra.Command, []string) error {
			v := map[string]string{"version": "0.1.0"}
			if info, ok := debug.ReadBuildInfo(); ok {
				v["go"] = info.GoVersion
				for _, s := range info.Settings {
					if s.Key == "vcs.revision" {
						v["commit"] = s.Value
					}
				}
			}
			return a.show(v, func(w io.Writer) { fmt.Fprintf(w, "ferrox %s (%s)\n", v["version"], v["go"]) })
		},
	}
}

func (a *app) cmdCompletion() *cobra.Command {
	return &cobra.Command{
		Use: "completion SHELL", Short: "print a completion script for bash, zsh, fish or powershell", Args: exactly(1), ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.stdout, true)
			case "zsh":
				return root.GenZshCompletion(a.stdout)
			case "fish":
				return root.GenFishCompletion(a.stdout, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.stdout)
			}
			return usageError{fmt.Errorf("completion: %q is none of bash, zsh, fish, powershell", args[0])}
		},
	}
}
