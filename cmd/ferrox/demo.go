package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"ferrox/engine"
	"ferrox/lanes"
)

// demo tells one batch by running the program itself, step by step, and checks that each step does what it says.
type demo struct {
	*app
	exe  string
	env  []string
	told told
	hold string
}

// told is what `ferrox demo --json` prints.
type told struct {
	Repository string        `json:"repository"`
	Batch      lanes.BatchID `json:"batch"`
	Branch     string        `json:"integration_branch"`
	Steps      []demoStep    `json:"steps"`
}

// demoStep is one command with the reason for it, its real output and its exit code.
type demoStep struct {
	Why     string   `json:"why"`
	Command []string `json:"command"`
	Output  string   `json:"output"`
	Exit    int      `json:"exit"`
}

// demoEnv keeps what would lead the demo's commands to another repository or another worker out of their environment.
func demoEnv(env []string) []string {
	kept := []string{}
	for _, kv := range env {
		if !strings.HasPrefix(kv, "GIT_DIR=") && !strings.HasPrefix(kv, "GIT_WORK_TREE=") && !strings.HasPrefix(kv, "GIT_INDEX_FILE=") && !strings.HasPrefix(kv, "FERROX_") {
			kept = append(kept, kv)
		}
	}
	return kept
}

// tell runs the whole story.
func (d *demo) tell(ctx context.Context) error {
	for _, part := range []func(context.Context) error{d.prepare, d.start, d.lookAtHold, d.rule, d.end, d.evidence} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) prepare(ctx context.Context) error {
	for _, argv := range [][]string{
		{"git", "init", "-q", "-b", "main"},
		{"git", "config", "user.name", "Demo"},
		{"git", "config", "user.email", "demo@example.org"},
		{"git", "config", "commit.gpgsign", "false"},
		{"git", "add", "-A"},
		{"git", "commit", "-q", "--no-verify", "-m", "Start the letter"},
	} {
		if out, code, err := d.call(ctx, argv); err != nil || code != 0 {
			return errors.Join(err, fmt.Errorf("%s: exit %d: %s", strings.Join(argv, " "), code, out))
		}
	}
	d.say("This is a throw-away repository with four task packets; a shell script stands in for the coding agent.\n\n  $ cd %s\n", d.told.Repository)
	if !d.installed() {
		d.say("  $ alias ferrox=%s\n", d.exe)
	}
	return d.step(ctx, 0, "What would run, and in which order? The letter needs its three parts.", "ferrox", "plan")
}

func (d *demo) start(ctx context.Context) error {
	if err := d.step(ctx, 0, "Run the batch in two lanes, each a git worktree of its own. The engine goes on in the background.", "ferrox", "run", "batch", "--detach"); err != nil {
		return err
	}
	var s engine.StatusView
	if err := d.ask(ctx, &s, "ferrox", "status", "--json"); err != nil {
		return err
	}
	d.told.Batch, d.told.Branch = s.Batch, s.IntegrationBranch
	return d.step(ctx, 0, "Wait until a task asks for a decision. The worker of DEMO-2 may not choose the tone itself.", "ferrox", "wait", "--for", "hold", "--timeout", "30s")
}

func (d *demo) lookAtHold(ctx context.Context) error {
	var holds []engine.HoldView
	if err := d.ask(ctx, &holds, "ferrox", "holds", "--json"); err != nil {
		return err
	}
	if len(holds) != 1 || holds[0].Task != "DEMO-2" {
		return fmt.Errorf("one hold of DEMO-2 was expected, not %d holds", len(holds))
	}
	d.hold = string(holds[0].ID)
	if err := d.until(ctx, map[lanes.TaskID]lanes.TaskState{"DEMO-1": lanes.TaskSucceeded, "DEMO-2": lanes.TaskHeld, "DEMO-3": lanes.TaskSucceeded}); err != nil {
		return err
	}
	if err := d.step(ctx, 0, "DEMO-2 is held: no worker, no cost. The other lane went on, and what it did has landed.", "ferrox", "status"); err != nil {
		return err
	}
	if err := d.step(ctx, 0, "What its worker printed: the id of the hold.", "ferrox", "output", "DEMO-2"); err != nil {
		return err
	}
	return d.step(ctx, engine.ExitRefused, "Nobody can push it through while the question is open: refused, with every reason and exit code 4.", "ferrox", "merge", "DEMO-2")
}

func (d *demo) rule(ctx context.Context) error {
	return d.step(ctx, 0, "Rule. The worker is started again with the ruling on top of its prompt, and has to acknowledge it before it can finish.",
		"ferrox", "rule", "--reply-to", d.hold, "--verdict", "fix", "-m", "close with: See you soon")
}

func (d *demo) end(ctx context.Context) error {
	if err := d.step(ctx, 0, "Wait for the end: exit code 0 says that every task landed.", "ferrox", "wait", "--timeout", "60s"); err != nil {
		return err
	}
	all := map[lanes.TaskID]lanes.TaskState{}
	for _, id := range []lanes.TaskID{"DEMO-1", "DEMO-2", "DEMO-3", "DEMO-4"} {
		all[id] = lanes.TaskSucceeded
	}
	if err := d.until(ctx, all); err != nil {
		return err
	}
	return d.step(ctx, 0, "The same story as the log tells it.", "ferrox", "log", "--batch", string(d.told.Batch))
}

// evidence shows what is left in git: merges, the ruling in a trailer, and the work itself.
func (d *demo) evidence(ctx context.Context) error {
	if err := d.step(ctx, 0, "Each task is one merge on the integration branch. Your own branch was never touched.", "git", "log", "--graph", "--oneline", d.told.Branch); err != nil {
		return err
	}
	var detail engine.TaskDetail
	if err := d.ask(ctx, &detail, "ferrox", "show", "DEMO-2", "--json"); err != nil {
		return err
	}
	if err := d.step(ctx, 0, "The merge of DEMO-2 names the ruling that it rests on.", "git", "log", "-1", "--format=%B", string(detail.MergeCommit)); err != nil {
		return err
	}
	if out := d.told.Steps[len(d.told.Steps)-1].Output; !strings.Contains(out, "Ferrox-Ruling: ") {
		return errors.New("the merge of DEMO-2 names no ruling")
	}
	if err := d.step(ctx, 0, "And the letter, closed as ruled:", "git", "show", d.told.Branch+":letter.txt"); err != nil {
		return err
	}
	if out := d.told.Steps[len(d.told.Steps)-1].Output; !strings.HasSuffix(out, "See you soon\n") {
		return fmt.Errorf("the letter does not close as ruled: %q", out)
	}
	return nil
}

// last says what to type next.
func (d *demo) last(w io.Writer) {
	fmt.Fprintf(w, `
That was one batch. Everything is still in %s:

  $ cd %s
  $ ferrox show DEMO-2              the task with its runs, its hold and its ruling
  $ git merge %s
                                    take the work over
  $ rm -rf %s
                                    when you have seen enough

In a repository of your own:

  $ ferrox init                     settings with comments, and an example packet
  $ ferrox plan
  $ ferrox run batch
`, d.told.Repository, d.told.Repository, d.told.Branch, strings.TrimSuffix(d.told.Repository, "/letter"))
}

// until waits for tasks to reach their states.
func (d *demo) until(ctx context.Context, want map[lanes.TaskID]lanes.TaskState) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		var s engine.StatusView
		if err := d.ask(ctx, &s, "ferrox", "status", "--json"); err != nil {
			return err
		}
		missing := []string{}
		for _, t := range s.Tasks {
			if state, ok := want[t.ID]; ok && t.State != state {
				missing = append(missing, fmt.Sprintf("%s is %s instead of %s", t.ID, t.State, state))
			}
		}
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.New(strings.Join(missing, ", "))
		case <-tick.C:
		}
	}
}

// installed reports whether typing ferrox runs this very program.
func (d *demo) installed() bool {
	name, err := exec.LookPath("ferrox")
	if err != nil {
		return false
	}
	found, err := filepath.EvalSymlinks(name)
	return err == nil && found == d.exe
}

func (d *demo) say(format string, args ...any) {
	if !d.json {
		fmt.Fprintf(d.stdout, format, args...)
	}
}

// step says why, shows a command with its output, and fails when its exit code is another than want.
func (d *demo) step(ctx context.Context, want int, why string, argv ...string) error {
	d.say("\n# %s\n\n  $ %s\n", why, shown(argv))
	out, code, err := d.call(ctx, argv)
	d.told.Steps = append(d.told.Steps, demoStep{Why: why, Command: argv, Output: out, Exit: code})
	for line := range strings.Lines(out) {
		d.say("  %s", line)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", shown(argv), err)
	}
	if code != want {
		return fmt.Errorf("%s: exit %d instead of %d", shown(argv), code, want)
	}
	return nil
}

// ask runs a command whose answer only the demo reads.
func (d *demo) ask(ctx context.Context, v any, argv ...string) error {
	out, code, err := d.call(ctx, argv)
	if err != nil || code != 0 {
		return errors.Join(err, fmt.Errorf("%s: exit %d: %s", shown(argv), code, out))
	}
	return json.Unmarshal([]byte(out), v)
}

// call runs a command in the demo's repository; ferrox is this very program.
func (d *demo) call(ctx context.Context, argv []string) (string, int, error) {
	name := argv[0]
	if name == "ferrox" {
		name = d.exe
	}
	cmd := exec.CommandContext(ctx, name, argv[1:]...)
	cmd.Dir, cmd.Env = d.told.Repository, d.env
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		return string(out), exit.ExitCode(), nil
	}
	return string(out), 0, err
}

// shown writes a command as one would type it.
func shown(argv []string) string {
	words := make([]string, 0, len(argv))
	for _, arg := range argv {
		if arg == "" || strings.ContainsAny(arg, " \t'\"$&|;<>()*?\\") {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}
