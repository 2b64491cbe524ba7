package main

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ferrox/engine"
	"ferrox/engine/crash"
)

// The workers of the crash batch. Each takes a lock of its lane that the kernel frees with the last process that has it,
// so that two workers in one lane see each other, and tidies up what a killed run left half-done. A command of theirs that is
// killed is given again, as a person would.
//
// A waits for B to have started. B changes the same file, so its merge conflicts, and resolves it after a ruling. C claims
// while its own question is open, and again before it has acknowledged the ruling. B acknowledges through the spool.
const (
	crashGuard = `base="$FERROX_WORKTREE/../.."
exec 9>"$base/alive-$FERROX_LANE"; flock -n 9 || echo "two workers in lane $FERROX_LANE" >>"$base/twice"
[ "$FERROX_ITERATION" = 1 ] || { git reset -q --hard && git clean -qfd -e STATUS.md -e .DONE; } || exit 6
export FERROX_TEST_CRASH_AT="$CRASH_AT" FERROX_TEST_CRASH_LOG="$CRASH_LOG"
again() { n=0; until "$@"; do n=$((n+1)); [ $n -lt 5 ] || exit 8; done; }
acknowledge() { for r in $FERROX_RULINGS; do again "$@" ferrox ack "$r"; echo "$r" >>"$base/acked"; done; FERROX_RULINGS=; }
claim() { echo "$1" >"$FERROX_TASK_DIR/.DONE.tmp" && mv "$FERROX_TASK_DIR/.DONE.tmp" "$FERROX_TASK_DIR/.DONE" && echo "$1" >>"$base/claims"; }
deliver() {
	git cat-file -e "HEAD:$1" 2>/dev/null || { echo "$FERROX_TASK" >"$1" && git add -- "$1" && git commit -qm "work on $FERROX_TASK" -- "$1" || exit 7; }
	finish ''
}
head="ferrox/$FERROX_BATCH/integration"
wait_for() { n=0; until eval "$1"; do n=$((n+1)); [ $n -lt 1200 ] || exit 7; sleep 0.05; done; }
`
	crashA = crashGuard + `wait_for '[ -e "$base/b-started" ]'; deliver shared.txt`
	crashB = crashGuard + `: >"$base/b-started"
if [ "$FERROX_RULINGS" != "" ]; then : >"$base/b-ruled"; fi
acknowledge env FERROX_SOCKET=/none
if [ -e "$base/b-ruled" ]; then
	git merge -q "$head" >/dev/null 2>&1 || { echo both >shared.txt; git add shared.txt; git commit -qm resolved; }
	deliver b.txt
else
	wait_for 'git cat-file -e "$head:shared.txt" 2>/dev/null'
	deliver shared.txt
fi`
	crashC = crashGuard + `if [ -e "$base/c-ruled" ]; then acknowledge; deliver c.txt
elif [ "$FERROX_RULINGS" != "" ]; then (FERROX_RULINGS=; deliver c.txt); : >"$base/c-ruled"
else
	again sh -c 'ferrox escalate --gate g -m which? >"'$base'/c-id"'; cat "$base/c-id" >>"$base/c-asked"
	claim unasked
fi`
	crashD = crashGuard + `deliver d.txt`
)

// quietGit is a configuration under which git does no chores of its own.
const quietGit = "[user]\n\tname = Tess\n\temail = tess@example.org\n[init]\n\tdefaultBranch = main\n[maintenance]\n\tauto = false\n"

// crashRun is one run of the crash batch by somebody who gives every command again that was killed.
type crashRun struct {
	*testRepo
	at      string   // where it crashes
	log     string   // every crash point that was passed, by any process
	asked   []string // the environment of a process that may be killed
	rulings []string // every ruling that was answered
}

// newCrashRun makes the batch's repository. at says where to crash; passings are counted over all processes.
func newCrashRun(t *testing.T, at string) *crashRun {
	t.Helper()
	r := newTestRepo(t, `, "lanes": 2, "no_progress_limit": 8`,
		map[string]string{"A": crashA, "B": crashB, "C": crashC, "D": crashD}, map[string]string{"C": "A", "D": "A"})
	r.abortAtEnd()
	r.write("home/.gitconfig", quietGit)
	log := filepath.Join(filepath.Dir(r.dir), "points")
	return &crashRun{testRepo: r, at: at, log: log, asked: []string{crash.Log + "=" + log, crash.At + "=" + at, "CRASH_LOG=" + log, "CRASH_AT=" + at}}
}

// maxEngines is how often an engine may be started for one batch: it parks twice, and some are killed.
const maxEngines = 20

// killed is the exit code of a process that was.
const killed = -1

// within runs the program where it may be killed, for a bounded time.
func (c *crashRun) within(args ...string) (stdout string, code int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Minute)
	defer cancel()
	cmd := c.command(binary, args...)
	bounded := exec.CommandContext(ctx, cmd.Path, cmd.Args[1:]...)
	var said strings.Builder
	bounded.Dir, bounded.Env, bounded.Stderr = cmd.Dir, slices.Concat(cmd.Env, c.asked), &said
	bounded.Cancel = func() error { return bounded.Process.Signal(syscall.SIGQUIT) } // tells what it waits for
	bounded.WaitDelay = 10 * time.Second
	out, err := bounded.Output()
	if ctx.Err() != nil {
		c.t.Fatalf("ferrox %v does not end: %v\n%s\n%s", args, err, said.String(), c.status())
	}
	code = bounded.ProcessState.ExitCode()
	c.t.Logf("ferrox %v: exit %d %s", args, code, said.String())
	return string(out), code
}

// again gives a command until it was not killed.
func (c *crashRun) again(args ...string) (stdout string, code int) {
	c.t.Helper()
	for range 8 {
		if stdout, code = c.within(args...); code != killed {
			return stdout, code
		}
	}
	c.t.Fatalf("ferrox %v is killed every time", args)
	return "", 0
}

// drive takes the batch to its end, the merged branch, and the removed lanes. Rulings are given where holds are open.
func (c *crashRun) drive() {
	c.t.Helper()
	phase, engines := "none", 0
	for ; phase != "completed"; phase = c.phase() {
		if engines++; engines > maxEngines {
			c.t.Fatalf("%d engines, and the batch has not ended:\n%s", maxEngines, c.status())
		}
		args := []string{"resume", "--no-wait"}
		if phase == "none" {
			args = []string{"run", "batch", "--batch", "x", "--no-wait"}
		}
		switch _, code := c.within(args...); code {
		case engine.ExitDone, engine.ExitParked, killed:
		default:
			c.t.Fatalf("ferrox %v: exit %d\n%s", args, code, c.status())
		}
		c.rule()
	}
	for _, args := range [][]string{{"integrate", "x", "--into", "main"}, {"clean", "x"}} {
		if out, code := c.again(args...); code != engine.ExitDone {
			c.t.Fatalf("ferrox %v: exit %d\n%s", args, code, out)
		}
	}
}

func (c *crashRun) status() string {
	out, _, _ := c.ferrox("status", "--json")
	return out
}

// phase is where the batch stands; "none" before it is recorded. Whoever looks in between must never see a task that has
// landed while its hold binds it.
func (c *crashRun) phase() string {
	c.t.Helper()
	out, errOut, code := c.ferrox("status", "--json")
	var v struct {
		Phase string
		Tasks []struct{ ID, State string }
		Holds []struct{ ID, Task string }
	}
	switch err := json.Unmarshal([]byte(out), &v); {
	case code == engine.ExitNotFound:
		return "none"
	case code != engine.ExitDone || err != nil:
		c.t.Fatalf("status: exit %d, %v\n%s%s", code, err, out, errOut)
	}
	for _, h := range v.Holds {
		for _, task := range v.Tasks {
			if task.ID == h.Task && task.State == "succeeded" {
				c.t.Fatalf("%s has landed past its hold %s:\n%s", h.Task, h.ID, out)
			}
		}
	}
	return v.Phase
}

// rule gives every open hold its ruling.
func (c *crashRun) rule() {
	c.t.Helper()
	out, _, code := c.ferrox("holds", "--json")
	var holds []struct{ ID, State string }
	if err := json.Unmarshal([]byte(out), &holds); code == engine.ExitDone && err != nil {
		c.t.Fatalf("holds: %v\n%s", err, out)
	}
	for _, h := range holds {
		if h.State != "open" {
			continue
		}
		out, code := c.again("rule", "--reply-to", h.ID, "fix", "-m", "the second", "--request-id", "r-"+h.ID, "--json")
		var answer struct{ Ruling string }
		if err := json.Unmarshal([]byte(out), &answer); code != engine.ExitDone || err != nil {
			c.t.Fatalf("rule on %s: exit %d, %v", h.ID, code, err)
		}
		c.rulings = append(c.rulings, answer.Ruling)
	}
}
