package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ferrox/engine"
	"ferrox/lanes"
	"ferrox/mailbox"
)

// cmdSend sends a message that is no ruling.
func (a *app) cmdSend() *cobra.Command {
	var q engine.SendRequest
	var t text
	var kind, batch string
	cmd := &cobra.Command{
		Use: "send --to TASK|LANE|all --type info|query|steer|abort (TEXT | -m TEXT | -F FILE)", Args: arguments(cobra.ArbitraryArgs),
		Short:   "send a message to a unit, whether or not a worker is alive; none of them releases a hold",
		Long:    fmt.Sprintf("What each type does, and what it never does, is in docs/messages.md. A text has %d bytes at the most.", mailbox.MaxMail),
		Example: "  ferrox send --to T-1 --type query\n  ferrox send --to lane-2 --type steer -m 'leave the API as it is'\n  ferrox send --to all --type info 'CI is down until noon'\n  ferrox send --to T-1 --type abort -m 'wrong idea'",
	}
	f := cmd.Flags()
	f.StringVar(&q.To, "to", "", "a task, a lane (lane-2), or all: every unfinished unit of the batch")
	f.StringVar(&kind, "type", "", "info, query, steer or abort")
	f.StringVar(&batch, "batch", "", "the batch; the newest when left out")
	t.flags(cmd)
	cmd.RunE = a.with(func(cmd *cobra.Command, args []string, e *opened) (err error) {
		if q.Role, err = a.who(cmd.Context(), e); err != nil {
			return err
		}
		if q.Type, err = sentType(q.Role, kind); err != nil {
			return err
		}
		if q.To == "" {
			return usageError{errors.New("send: --to TASK, LANE or all is required")}
		}
		if q.Text, err = t.words(a, args); err != nil {
			return err
		}
		if rule, _ := mailbox.RuleOf(q.Type); rule.Ends { // without a live engine this process ends the worker
			if err := e.attend(); err != nil {
				return err
			}
		}
		q.Batch, q.RequestID = lanes.BatchID(batch), a.request
		sent, err := e.Send(cmd.Context(), q)
		if err != nil {
			return err
		}
		return a.show(sent, func(w io.Writer) { writeSent(w, sent) })
	})
	return cmd
}

// sentType reads the type of a message. Who may send none is told so before anything else.
func sentType(role mailbox.Role, word string) (mailbox.Type, error) {
	if no := mailbox.MaySend(role, mailbox.TypeSteer); no != nil {
		return "", &engine.Error{Exit: engine.ExitRefused, Code: string(no.Code), Message: no.Text, Next: no.Next}
	}
	if word == "" {
		return "", usageError{errors.New("send: --type info, query, steer or abort is required")}
	}
	kind, no := mailbox.ParseSent(word)
	if no != nil {
		return "", usageError{no}
	}
	return kind, nil
}

// words reads a text that may also stand on the command line.
func (t *text) words(a *app, args []string) (string, error) {
	said, err := t.read(a)
	if err != nil || len(args) == 0 {
		return said, err
	}
	if said != "" {
		return "", usageError{errors.New("the text is given twice")}
	}
	return strings.Join(args, " "), nil
}

func writeSent(w io.Writer, s engine.Sent) {
	for _, u := range s.Units {
		where := string(u.Task)
		if u.Lane != 0 {
			where += fmt.Sprintf(" [lane %d]", u.Lane)
		}
		switch s.Type {
		case mailbox.TypeQuery:
			fmt.Fprintf(w, "%s: %s; worker: %s\n", clean(where), u.State, u.Worker)
		case mailbox.TypeAbort:
			fmt.Fprintf(w, "%s: %s; it is %s, and every commit and its worktree are kept\n", clean(where), s.Result, u.State)
		default:
			fmt.Fprintf(w, "%s: %s %s %s; %s\n", clean(where), s.Type, u.Message, resultOf(u), ways[u.Delivery])
		}
		for _, h := range u.Holds {
			fmt.Fprintf(w, "  hold %s\n", clean(holdLine(h, time.Now())))
		}
	}
}

func resultOf(u engine.SentUnit) string {
	if u.Repeated {
		return "waits already"
	}
	return "is kept"
}

// ways says for people how a message gets to the work.
var ways = map[engine.Way]string{
	engine.WayLive:         "a worker is alive and has it in its inbox",
	engine.WayNextStart:    "the worker is started with it in its prompt",
	engine.WayWhenRuled:    "the worker is started with it in its prompt once every open hold is ruled on",
	engine.WayOnRetry:      "a worker has it in its prompt once the task is not stalled or blocked any more",
	engine.WayOnResume:     "a worker has it in its prompt once an engine runs the batch: ferrox resume",
	engine.WayAcknowledged: "the worker has acknowledged it",
}

// holdLine is one hold of an answer, on one line.
func holdLine(h engine.HoldAnswer, now time.Time) string {
	line := string(h.ID) + " " + string(h.State)
	if h.Gate != "" {
		line += ", gate " + h.Gate
	}
	switch {
	case h.State == "released":
		line += ", ruling " + string(h.Delivery)
	case h.State == "open" && h.Expired:
		line += ", expired"
	case h.State == "open":
		line += ", deadline " + due(h.Deadline, now)
	}
	if h.NotedAt != "" {
		line += ", seen " + h.NotedAt
	}
	return line + ": " + shorten(h.Question)
}
