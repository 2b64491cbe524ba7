package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ferrox/engine"
	"ferrox/lanes"
	"ferrox/lanes/settings"
)

// orchestrator lists the commands that run batches.
func (a *app) orchestrator() []*cobra.Command {
	run := &cobra.Command{Use: "run", Short: "run a batch", Args: arguments(cobra.ArbitraryArgs), RunE: func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknown(cmd, args[0])
		}
		return usageError{fmt.Errorf("run what? ferrox run batch")}
	}}
	run.AddCommand(a.cmdRunBatch())
	return []*cobra.Command{
		a.cmdInit(), a.cmdDemo(), a.cmdPlan(), run, a.cmdResume(), a.cmdWait(),
		a.cmdControl("pause", "[BATCH]", "lanes stop at their next safe point, then the engine ends; held lanes stay as they are", false),
		a.cmdControl("takeover", "[BATCH]", "stop and look: nothing starts, lands or is removed until resume", true),
		a.cmdControl("abort", "[BATCH]", "end workers, cancel holds, fail what has not landed; keeps every commit and worktree", true),
		a.cmdTask("retry", "revive a task that stalled, failed or was skipped", false),
		a.cmdTask("skip", "give a task up; its commits are kept", true),
		a.cmdTask("merge", "land what the predicate allows, again", false),
		a.cmdIntegrate(),
		a.cmdClean(), a.cmdRescue(),
	}
}

// stay says how an engine process behaves.
type stay struct {
	noWait bool
	detach bool
	jsonl  bool
}

func (s *stay) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&s.noWait, "no-wait", false, "park (exit 3) as soon as only held work is left")
	f.BoolVar(&s.detach, "detach", false, "run the engine in its own session and return")
	f.BoolVar(&s.jsonl, "jsonl", false, "print every event as one JSON object a line")
}

func (a *app) cmdRunBatch() *cobra.Command {
	var s stay
	var o engine.StartOptions
	var batch, timeout string
	var only []string
	var level int
	cmd := &cobra.Command{
		Use: "batch [PATH…]", Short: "run task packets through lanes, holds and merges",
		Example: "  ferrox run batch\n  ferrox run batch tasks/TP-1-title --lanes 2 --no-wait",
	}
	f := cmd.Flags()
	f.IntVar(&o.Lanes, "lanes", 0, "lanes that work at the same time (settings: runner.lanes)")
	f.StringVar(&batch, "batch", "", "name of the batch")
	f.StringSliceVar(&only, "only", nil, "run these tasks only")
	f.StringVar(&o.Worker, "worker", "", "worker preset (settings: runner.worker.preset)")
	f.StringVar(&timeout, "hold-timeout", "", "time until a held lane parks (settings: runner.hold_timeout)")
	f.StringVar(&o.Base, "base", "", "revision to start from (HEAD)")
	f.IntVar(&level, "review-level", 0, "review level for every packet; 0 runs packets that ask for reviews without them")
	s.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if o.Lanes < 0 || cmd.Flags().Changed("lanes") && o.Lanes == 0 {
			return usageError{fmt.Errorf("--lanes %d: at least 1", o.Lanes)}
		}
		if timeout != "" {
			if o.HoldTimeout, err = holdTimeout(timeout); err != nil {
				return usageError{err}
			}
		}
		if cmd.Flags().Changed("review-level") {
			o.ReviewLevel = &level
		}
		o.Paths, o.Batch = args, lanes.BatchID(batch)
		for _, id := range only {
			o.Only = append(o.Only, lanes.TaskID(id))
		}
		if s.detach {
			return a.detach(cmd.Context())
		}
		return a.engine(cmd.Context(), s, func(ctx context.Context, e *opened, ro engine.RunOptions) (engine.Outcome, error) {
			return e.StartBatch(ctx, o, ro, a.started)
		})
	}
	return cmd
}

// holdTimeout reads --hold-timeout in the range of the settings.
func holdTimeout(text string) (time.Duration, error) {
	d, err := settings.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("--hold-timeout: %w", err)
	}
	if d < time.Second || d > 30*24*time.Hour {
		return 0, fmt.Errorf("--hold-timeout %s: it is between 1s and 30d", text)
	}
	return d, nil
}

func (a *app) cmdResume() *cobra.Command {
	var s stay
	var o engine.ResumeOptions
	cmd := &cobra.Command{Use: "resume [BATCH]", Short: "go on with a batch: holds first, live workers adopted", Args: upTo(1)}
	f := cmd.Flags()
	f.IntVar(&o.Lanes, "lanes", 0, "lanes that work at the same time, from now on")
	f.BoolVar(&o.Reload, "reload", false, "take the settings of today instead of those frozen with the batch")
	f.BoolVar(&o.Force, "force", false, "retry all failed and stalled tasks; never overrides a live engine")
	s.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.Lanes < 0 || cmd.Flags().Changed("lanes") && o.Lanes == 0 {
			return usageError{fmt.Errorf("--lanes %d: at least 1", o.Lanes)}
		}
		o.Batch = lanes.BatchID(first(args))
		if s.detach {
			return a.detach(cmd.Context())
		}
		return a.engine(cmd.Context(), s, func(ctx context.Context, e *opened, ro engine.RunOptions) (engine.Outcome, error) {
			return e.Resume(ctx, o, ro, a.started)
		})
	}
	return cmd
}

// started tells whoever waits that the batch is durable and the engine runs.
func (a *app) started(b lanes.Batch, notes []string) {
	for _, n := range notes {
		fmt.Fprintln(a.stderr, clean(n))
	}
	if fd := a.getenv(detachEnv); fd != "" {
		a.tellParent(fd, b)
	}
}

// engine runs an engine in this process. The first signal parks it in good order, the second ends it at once.
func (a *app) engine(ctx context.Context, s stay, do func(context.Context, *opened, engine.RunOptions) (engine.Outcome, error)) error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, hangups...)
	defer signal.Stop(signals)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	park := make(chan struct{}, 1)
	go func() {
		<-signals
		park <- struct{}{}
		<-signals
		cancel()
	}()
	e, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = e.close() }()
	if err := a.mayRun(ctx, e); err != nil {
		return err
	}
	if err := e.attend(); err != nil {
		return err
	}
	a.follow(e, s)
	out, err := do(ctx, e, engine.RunOptions{NoWait: s.noWait, Signal: park})
	if err != nil {
		return err
	}
	return a.ended(out, s)
}

// follow prints events while the engine runs.
func (a *app) follow(e *opened, s stay) {
	e.OnEvent = func(ev lanes.Event) {
		v := engine.ViewEvent(ev)
		switch {
		case s.jsonl:
			if line, err := json.Marshal(v); err == nil {
				fmt.Fprintln(a.stdout, string(line))
			}
		case !a.json:
			fmt.Fprintln(a.stdout, a.paint(v.Event, eventLine(v)))
		}
	}
}

func (a *app) ended(out engine.Outcome, s stay) error {
	if a.json && !s.jsonl {
		if err := json.NewEncoder(a.stdout).Encode(out); err != nil {
			return err
		}
	}
	if !a.json && !s.jsonl {
		what := string(out.Phase)
		if out.Cause != "" {
			what += " (" + string(out.Cause) + ")"
		}
		if out.Text != "" {
			what = out.Text
		}
		fmt.Fprintf(a.stdout, "batch %s: %s\n", out.Batch, clean(what))
		if out.Exit == engine.ExitParked {
			fmt.Fprintf(a.stdout, "next: ferrox holds, ferrox resume %s\n", out.Batch)
		}
	}
	if out.Exit != engine.ExitDone {
		return exitCode(out.Exit)
	}
	return nil
}

// cmdControl is a command on a whole batch.
func (a *app) cmdControl(verb, use, short string, needsWhy bool) *cobra.Command {
	var why string
	cmd := &cobra.Command{Use: verb + " " + use, Short: short, Args: upTo(1)}
	cmd.Flags().StringVar(&why, "why", "", "the reason, for the log")
	cmd.RunE = a.with(func(cmd *cobra.Command, args []string, e *opened) error {
		if needsWhy && strings.TrimSpace(why) == "" {
			return usageError{fmt.Errorf("%s: --why TEXT is required", verb)}
		}
		return a.command(cmd.Context(), e, engine.Command{Verb: verb, Batch: lanes.BatchID(first(args)), Why: why})
	})
	return cmd
}

// cmdTask is a command on one task.
func (a *app) cmdTask(verb, short string, needsWhy bool) *cobra.Command {
	var why, batch string
	cmd := &cobra.Command{Use: verb + " TASK", Short: short, Args: exactly(1)}
	cmd.Flags().StringVar(&why, "why", "", "the reason, for the log")
	cmd.Flags().StringVar(&batch, "batch", "", "the batch; the newest when left out")
	cmd.RunE = a.with(func(cmd *cobra.Command, args []string, e *opened) error {
		if needsWhy && strings.TrimSpace(why) == "" {
			return usageError{fmt.Errorf("%s: --why TEXT is required", verb)}
		}
		return a.command(cmd.Context(), e, engine.Command{Verb: verb, Batch: lanes.BatchID(batch), Task: lanes.TaskID(args[0]), Why: why})
	})
	return cmd
}

func (a *app) command(ctx context.Context, e *opened, c engine.Command) error {
	if err := a.mayCommand(ctx, e); err != nil {
		return err
	}
	if err := e.attend(); err != nil {
		return err
	}
	c.RequestID = a.request
	done, err := e.Do(ctx, c)
	if err != nil {
		return err
	}
	return a.showDone(done)
}
