package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"ferrox/engine"
	"ferrox/mailbox"
)

// inbox is how an inbox is shown, whoever's it is.
type inbox struct {
	follow bool
	jsonl  bool
	signal string // workers
}

// cmdInbox shows what waits for whoever asks: from where the process stands, never from a parameter.
func (a *app) cmdInbox() *cobra.Command {
	var in inbox
	cmd := &cobra.Command{
		Use: "inbox", Short: "what waits for this role: open questions and what workers said; for a worker its rulings and its mail", Args: none(),
		Long: "A supervisor sees what is reserved for the operator, marked as such. A worker sees what its own unit has to know: rulings that it has not acknowledged, then mail. What each field means is in docs/messages.md.",
	}
	f := cmd.Flags()
	f.BoolVar(&in.follow, "follow", false, "go on with what comes, each once")
	f.BoolVar(&in.jsonl, "jsonl", false, "one JSON object a line")
	f.StringVar(&in.signal, "signal", "", "workers: have this signal (USR1 or USR2) sent to the worker's own process whenever something comes")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if in.follow && a.json {
			in.jsonl = true
		}
		if a.getenv("FERROX_SOCKET") != "" && a.getenv("FERROX_TOKEN") != "" {
			return a.workerInbox(cmd.Context(), in)
		}
		if in.signal != "" {
			return usageError{errors.New("inbox: --signal is for workers")}
		}
		return a.with(func(cmd *cobra.Command, _ []string, e *opened) error {
			role, err := a.who(cmd.Context(), e)
			if err != nil {
				return err
			}
			return a.roleInbox(cmd.Context(), e, role, in)
		})(cmd, nil)
	}
	return cmd
}

// roleInbox shows the inbox of a supervisor or the operator.
func (a *app) roleInbox(ctx context.Context, e *opened, role mailbox.Role, in inbox) error {
	items, err := e.Inbox(ctx, role)
	if err != nil {
		return err
	}
	if a.json && !in.jsonl {
		return a.show(items, nil)
	}
	seen := map[string]bool{}
	tell := func(items []engine.InboxItem) {
		for _, item := range items {
			if !seen[item.ID] {
				seen[item.ID] = true
				a.printLine(in.jsonl, item, func(w io.Writer) { writeItem(w, item) })
			}
		}
	}
	tell(items)
	if !in.follow {
		if len(items) == 0 && !in.jsonl {
			fmt.Fprintln(a.stderr, "nothing waits for the "+string(role))
		}
		return nil
	}
	return hear(ctx, filepath.Join(e.Home, "bell"), e, func() error {
		items, err := e.Inbox(ctx, role)
		tell(items)
		return err
	})
}

// printLine prints one record: as one JSON object a line, or as text.
func (a *app) printLine(jsonl bool, v any, text func(io.Writer)) {
	if !jsonl {
		text(a.stdout)
		return
	}
	if line, err := json.Marshal(v); err == nil {
		fmt.Fprintln(a.stdout, string(line))
	}
}

func writeItem(w io.Writer, i engine.InboxItem) {
	head := i.Kind
	if i.Gate != "" {
		head += " on gate " + i.Gate
	}
	if i.ReplyTo != "" {
		head += " to " + i.ReplyTo
	}
	if i.ReservedFor != "" {
		head += ", reserved for the " + string(i.ReservedFor)
	}
	if i.Expired {
		head += ", expired"
	}
	fmt.Fprintf(w, "%s\n", clean(fmt.Sprintf("%s %s %s [%s] %s", clock(i.TS), i.ID, i.Task, head, i.Text)))
}
