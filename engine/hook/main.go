package hook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"ferrox/gates/guard"
)

// Limits of one call. Together they stay below the time limit that Install writes into the agents' settings.
const (
	readLimit = 4 * time.Second
	workLimit = 9 * time.Second
	maxEvent  = 8 << 20 // bytes
)

// Repository looks a directory up for the guard.
type Repository interface {
	// Facts describes the repository that dir belongs to, as commands with this environment see it. An error means that
	// it cannot be read, or that there is none; the guard then takes every branch for protected.
	Facts(ctx context.Context, dir string, env []string) (guard.Facts, error)
}

// Gate decides on what the guard has found.
type Gate interface {
	// Check says whether the finding may go on. The reason of a refusal is for the agent; that of an allowance, if any, for
	// people. An error is a block.
	Check(ctx context.Context, cwd string, finding guard.Finding) (allow bool, reason string, err error)
}

// Deps are the hook's surroundings.
type Deps struct {
	Repository Repository
	Gate       Gate
	Protected  func(cwd string) ([]string, error) // guard.protected of the settings; an error is a block
}

// alwaysProtected are branches that only ferrox moves, whatever the settings say.
var alwaysProtected = [...]string{"ferrox/*/integration"}

// Main answers one event of the hook called name and returns the exit code: 0 to let the tool run, 2 to block it. Anything that
// goes wrong inside is a block as well: to the agents every other code means "go on".
func Main(name string, stdin io.Reader, stdout, stderr io.Writer, env []string, cwd string, deps Deps) int {
	if name != "pre-tool-use" {
		_, _ = fmt.Fprintf(stderr, "run hook %q: there is no such hook; known: pre-tool-use\n", name)
		return exitBlock
	}
	format := FormatPlain
	data, err := readEvent(stdin)
	if err != nil {
		return blocked(err).write(format, stdout, stderr)
	}
	e, err := parseEvent(data)
	format = e.format
	if err != nil {
		return blocked(err).write(format, stdout, stderr)
	}
	if e.dir == "" {
		e.dir = cwd
	}
	ctx, cancel := context.WithTimeout(context.Background(), workLimit)
	defer cancel()
	return decideInTime(ctx, e, env, deps).write(format, stdout, stderr)
}

// decideInTime blocks when there is no decision in time: an agent that waits in vain would run the command.
func decideInTime(ctx context.Context, e event, env []string, deps Deps) answer {
	done := make(chan answer, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- blocked(fmt.Errorf("decide on the event: it failed (%v); write the command in a simpler way", p))
			}
		}()
		done <- decide(ctx, e, env, deps)
	}()
	select {
	case a := <-done:
		return a
	case <-time.After(workLimit + time.Second):
		return blocked(fmt.Errorf("decide on the event: no answer within %s; write the command in a simpler way", workLimit+time.Second))
	}
}

func blocked(err error) answer {
	return answer{block: true, text: "merge guard: " + err.Error() + ". What cannot be read does not run"}
}

// readEvent reads stdin to its end, for as long as an agent may reasonably take to write it.
func readEvent(stdin io.Reader) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(stdin, maxEvent+1))
		done <- result{data, err}
	}()
	select {
	case r := <-done:
		if r.err == nil && len(r.data) > maxEvent {
			return nil, fmt.Errorf("read the event: it is longer than %d bytes", maxEvent)
		}
		return r.data, r.err
	case <-time.After(readLimit):
		return nil, fmt.Errorf("read the event: stdin did not end within %s", readLimit)
	}
}

// decide asks guard and gate about an event.
func decide(ctx context.Context, e event, env []string, deps Deps) answer {
	if !e.shell && !mcpTool(e.tool) {
		return answer{}
	}
	look := lookup{ctx: ctx, deps: deps, cwd: e.dir, env: env}
	var found []guard.Finding
	var err error
	if e.shell {
		found, err = look.line(e.command)
	} else {
		found, err = look.tool(e)
	}
	if err != nil {
		return blocked(err)
	}
	return askGate(ctx, e.dir, found, deps.Gate)
}

// askGate lets the gate decide on each finding; one refusal is a block.
func askGate(ctx context.Context, cwd string, found []guard.Finding, gate Gate) answer {
	var notes []string
	for _, f := range found {
		allow, reason, err := gate.Check(ctx, cwd, f)
		if err == nil && ctx.Err() != nil {
			err = ctx.Err()
		}
		if err != nil {
			reason = "the merge gate gave no answer: " + err.Error()
			if errors.Is(err, context.DeadlineExceeded) {
				reason = fmt.Sprintf("the merge gate gave no answer within %s", workLimit)
			}
		}
		if err != nil || !allow {
			return answer{block: true, text: refusal(f, reason)}
		}
		if reason != "" && !contains(notes, reason) {
			notes = append(notes, reason)
		}
	}
	return answer{text: strings.Join(notes, "; ")}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// refusal says what the command would do, why it may not, and what to type instead.
func refusal(f guard.Finding, reason string) string {
	next := "commit on your own branch and write .DONE; ferrox lands what the gates allow. A person lands a batch with: ferrox integrate --into BRANCH"
	switch {
	case f.Unreadable:
		next = "write the command out: git, the verb and the branch by name, quoted where they come from a variable"
	case f.Kind == guard.KindTag || f.Kind == guard.KindRelease:
		next = "leave tags and releases to a person: ferrox escalate -m 'ready to release'"
	}
	if reason == "" {
		reason = "the merge gate did not pass"
	}
	return fmt.Sprintf("merge guard: `%s`: %s.\nRefused: %s.\nNext: %s", f.Command, f.Why, strings.TrimSuffix(reason, "."), next)
}
