package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ferrox/engine"
	"ferrox/engine/crash"
	"ferrox/engine/process"
	"ferrox/engine/sshsig"
	"ferrox/lanes/settings"
	"ferrox/mailbox"
)

// supervisor lists the commands of those who rule.
func (a *app) supervisor() []*cobra.Command {
	return []*cobra.Command{a.cmdRule(), a.cmdSend(), a.cmdInbox(), a.cmdExtend(), a.cmdSupervise()}
}

// text is a message given as -m TEXT or -F FILE (- for standard input).
type text struct {
	message string
	file    string
}

func (t *text) flags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&t.message, "message", "m", "", "the text")
	cmd.Flags().StringVarP(&t.file, "file", "F", "", "read the text from a file, or from standard input (-)")
}

// read returns the text byte-exact.
func (t *text) read(a *app) (string, error) {
	if t.message != "" && t.file != "" {
		return "", usageError{errors.New("-m and -F exclude each other")}
	}
	if t.file == "" {
		return t.message, nil
	}
	var body []byte
	var err error
	if t.file == "-" {
		body, err = io.ReadAll(io.LimitReader(a.stdin, engine.MaxText+1))
	} else {
		body, err = os.ReadFile(t.file)
	}
	if err != nil {
		return "", usageError{fmt.Errorf("-F: %w", err)}
	}
	return string(body), nil
}

func (a *app) cmdRule() *cobra.Command {
	var q engine.RuleRequest
	var t text
	var verdict, sign string
	cmd := &cobra.Command{
		Use: "rule --reply-to ID [VERDICT]", Short: "rule on a hold; every verdict releases it and is delivered, none approves anything", Args: upTo(1),
		Example: "  ferrox rule --reply-to 01K… approve\n  ferrox rule --reply-to 01K… --verdict fix -m 'use the v2 client'",
	}
	f := cmd.Flags()
	f.StringVar(&q.ReplyTo, "reply-to", "", "the hold, or an unambiguous start of its id")
	f.StringVar(&verdict, "verdict", "", "approve, fix, reject or split")
	f.StringVar(&q.Head, "head", "", "the ruling counts only while the lane stands at this commit")
	f.StringVar(&sign, "sign", "", "sign with this SSH key: a private key file, or a public key file or SHA256: fingerprint of the ssh-agent's")
	f.BoolVar(&q.DryRun, "dry-run", false, "say what would happen, change nothing")
	t.flags(cmd)
	cmd.RunE = a.with(func(cmd *cobra.Command, args []string, e *opened) (err error) {
		if q.Role, err = a.who(cmd.Context(), e); err != nil {
			return err
		}
		if len(args) == 1 && verdict != "" && args[0] != verdict {
			return usageError{fmt.Errorf("two verdicts: %s and %s", verdict, args[0])}
		}
		if len(args) == 1 {
			verdict = args[0]
		}
		if q.Verdict, err = mailbox.ParseVerdict(verdict); err != nil {
			return usageError{err}
		}
		if sign != "" {
			q.Sign = func(ctx context.Context, statement []byte) (string, error) {
				return sshsig.Sign(ctx, sign, a.getenv("SSH_AUTH_SOCK"), statement)
			}
		}
		if q.Text, err = t.read(a); err != nil {
			return err
		}
		q.RequestID = a.request
		ruled, err := e.Rule(cmd.Context(), q)
		if err != nil {
			return err
		}
		return a.show(ruled, func(w io.Writer) { writeRuled(w, ruled, q.DryRun) })
	})
	return cmd
}

func writeRuled(w io.Writer, r engine.Ruled, dry bool) {
	what := map[string]string{
		"released": "released",
		"queued":   "queued; it counts as soon as an engine runs the batch and a worker can start",
		"repeated": "repeated; the same ruling was accepted before",
	}[r.Result]
	if way, ok := rulingWays[r.Delivery]; ok && r.Result != "queued" || r.Delivery == engine.WayLive {
		what += "; " + way
	}
	if dry {
		what = "would be " + what
	}
	fmt.Fprintf(w, "hold %s: %s\n", r.Hold, what)
	if !dry {
		fmt.Fprintf(w, "ruling %s\n", r.Ruling)
	}
}

// rulingWays says for people how a ruling gets to the work.
var rulingWays = map[engine.Way]string{
	engine.WayLive:         "a worker is alive and has the ruling in its inbox; if it ends without acknowledging it, the next one starts with it",
	engine.WayNextStart:    "the worker is started with the ruling on top of its prompt",
	engine.WayWhenRuled:    "the worker is started with it once the task's other open holds are ruled on",
	engine.WayOnRetry:      "the worker is started with it once the task is retried",
	engine.WayOnResume:     "the worker is started with it once an engine runs the batch: ferrox resume",
	engine.WayAcknowledged: "the worker has acknowledged it",
}

func (a *app) cmdExtend() *cobra.Command {
	var q engine.ExtendRequest
	var by string
	cmd := &cobra.Command{Use: "extend --reply-to ID --by DUR --why TEXT", Short: "move a hold's deadline; nothing else does", Args: none()}
	f := cmd.Flags()
	f.StringVar(&q.ReplyTo, "reply-to", "", "the hold")
	f.StringVar(&by, "by", "", "how much later, as 2h or 1d")
	f.StringVar(&q.Why, "why", "", "the reason, for the log")
	cmd.RunE = a.with(func(cmd *cobra.Command, _ []string, e *opened) (err error) {
		if q.Role, err = a.who(cmd.Context(), e); err != nil {
			return err
		}
		if q.By, err = settings.ParseDuration(by); err != nil || q.By <= 0 {
			return usageError{fmt.Errorf("--by %q: a positive duration is wanted, as 2h or 1d", by)}
		}
		if strings.TrimSpace(q.Why) == "" {
			return usageError{errors.New("extend: --why TEXT is required")}
		}
		q.RequestID = a.request
		h, err := e.Extend(cmd.Context(), q)
		if err != nil {
			return err
		}
		return a.show(h, func(w io.Writer) { fmt.Fprintf(w, "hold %s: deadline is now %s\n", h.ID, h.Deadline) })
	})
	return cmd
}

// cmdSupervise runs an agent or a shell whose descendants may act as supervisor, and as no more.
func (a *app) cmdSupervise() *cobra.Command {
	cmd := &cobra.Command{Use: "supervise -- COMMAND…", Short: "run a command whose descendants may act as supervisor, and as no more", Args: arguments(cobra.MinimumNArgs(1))}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		e, err := a.open(cmd.Context())
		if err != nil {
			return err
		}
		if err = a.mayCommand(cmd.Context(), e); err == nil {
			err = a.recordSupervisor(cmd.Context(), e)
		}
		if err = errors.Join(err, e.close()); err != nil {
			return err
		}
		// What the command leaves behind would stand below nobody, and be taken for the operator.
		return errors.Join(a.runSupervised(args), process.EndLeftovers(leftoverGrace))
	}
	return cmd
}

// leftoverGrace is the time between TERM and KILL to what a supervised command left running.
const leftoverGrace = 2 * time.Second

func (a *app) runSupervised(args []string) error {
	child := exec.Command(args[0], args[1:]...)
	child.Stdin, child.Stdout, child.Stderr, child.Env = a.stdin, a.stdout, a.stderr, a.env
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, hangups...)
	defer signal.Stop(signals)
	after := crash.Around("start command")
	err := child.Start()
	after()
	if err != nil {
		return usageError{fmt.Errorf("supervise: %w", err)}
	}
	go func() {
		for s := range signals {
			_ = child.Process.Signal(s)
		}
	}()
	err = child.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exitCode(max(exit.ExitCode(), 1))
	}
	return err
}
