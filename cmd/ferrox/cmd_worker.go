package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ferrox/engine"
	"ferrox/engine/crash"
	"ferrox/engine/process"
)

// worker lists what workers ask of their shim. None of these opens the store.
func (a *app) worker() []*cobra.Command {
	return []*cobra.Command{a.cmdEscalate(), a.cmdNotify(), a.cmdAck(), a.cmdGuard(), a.cmdQuery(), a.cmdHook()}
}

// workerPatience bounds how long a worker waits for its question to be durable.
const workerPatience = time.Minute

func (a *app) ask(ctx context.Context, q engine.WorkerRequest) error {
	ctx, cancel := context.WithTimeout(ctx, workerPatience)
	defer cancel()
	q.ID = a.request
	answer, err := process.Call(ctx, a.getenv, q)
	if err != nil {
		return err
	}
	defer crash.Around("print")()
	if answer.Exit != engine.ExitDone {
		return a.told(answer)
	}
	if a.json {
		fmt.Fprintln(a.stdout, answer.Result)
		return nil
	}
	fmt.Fprintln(a.stdout, answer.Text)
	var told struct{ Note string }
	if json.Unmarshal([]byte(answer.Result), &told) == nil && told.Note != "" {
		fmt.Fprintf(a.stderr, "ferrox: %s\n", clean(told.Note))
	}
	return nil
}

// told prints what the shim refused.
func (a *app) told(answer engine.WorkerAnswer) error {
	if a.json && answer.Error != "" {
		fmt.Fprintln(a.stderr, answer.Error)
	} else {
		fmt.Fprintf(a.stderr, "ferrox: %s\n", clean(answer.Text))
	}
	return exitCode(answer.Exit)
}

func (a *app) cmdEscalate() *cobra.Command {
	var q engine.WorkerRequest
	var t text
	cmd := &cobra.Command{
		Use: "escalate [--gate GATE] (TEXT | -m TEXT | -F FILE)", Short: "ask for a decision: opens a hold, prints its id; the task is held until somebody with authority rules",
		Example: "  ferrox escalate --gate code-step5 -m 'Fix or accept finding 3?'\n  ferrox escalate code-step5 'Fix or accept finding 3?'", Args: upTo(2),
	}
	cmd.Flags().StringVar(&q.Gate, "gate", "", "the gate that the question is about, a word without blanks")
	cmd.Flags().StringVar(&q.Reserve, "reserve", "", "only this role may rule: operator")
	t.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if q.Text, err = t.read(a); err != nil {
			return err
		}
		if len(args) == 2 {
			if q.Gate != "" {
				return usageError{fmt.Errorf("two gates: %s and %s", q.Gate, args[0])}
			}
			q.Gate, args = args[0], args[1:]
		}
		if len(args) == 1 {
			if q.Text != "" {
				return usageError{fmt.Errorf("the text is given twice")}
			}
			q.Text = args[0]
		}
		q.Verb = "escalate"
		return a.ask(cmd.Context(), q)
	}
	return cmd
}

func (a *app) cmdNotify() *cobra.Command {
	var q engine.WorkerRequest
	var t text
	cmd := &cobra.Command{Use: "notify [--reply-to ID] TEXT", Short: "tell the supervisor something; with a ruling's id it acknowledges the ruling", Args: arguments(cobra.ArbitraryArgs)}
	cmd.Flags().StringVar(&q.ReplyTo, "reply-to", "", "the ruling that is acknowledged")
	t.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if q.Text, err = t.read(a); err != nil {
			return err
		}
		if q.Text == "" {
			q.Text = strings.Join(args, " ")
		}
		q.Verb = "notify"
		return a.ask(cmd.Context(), q)
	}
	return cmd
}

func (a *app) cmdAck() *cobra.Command {
	return &cobra.Command{
		Use: "ack RULING", Short: "acknowledge a ruling: only then may the task finish", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.ask(cmd.Context(), engine.WorkerRequest{Verb: "ack", ReplyTo: args[0]})
		},
	}
}

func (a *app) showDone(d engine.Done) error {
	return a.show(d, func(w io.Writer) {
		what := d.Result
		if d.Task != "" {
			what = string(d.Task) + ": " + what
		}
		fmt.Fprintf(w, "batch %s: %s; %s\n", d.Batch, clean(what), clean(d.Text))
		for _, id := range d.Held {
			fmt.Fprintf(w, "%s is held: nothing changed\n", clean(string(id)))
		}
	})
}
