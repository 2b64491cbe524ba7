package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// noted1 and noted2 frame a worker that writes down each of its runs, and says so when it is not the only one in its lane.
const noted1 = `base="$FERROX_WORKTREE/../.."
mkdir "$base/alive-$FERROX_TASK" || echo "$FERROX_TASK twice" >>"$base/starts"
echo "$FERROX_TASK $FERROX_ITERATION" >>"$base/starts"
`

const noted2 = `
rmdir "$base/alive-$FERROX_TASK"
`

func killedBatch(t *testing.T) *testRepo {
	plain := noted1 + "finish $FERROX_TASK.txt" + noted2
	ask := noted1 + `if [ "$FERROX_RULINGS" = "" ]; then ferrox escalate --gate g -m 'which?'; else finish $FERROX_TASK.txt; fi` + noted2
	r := newTestRepo(t, `, "lanes": 2, "no_progress_limit": 1`,
		map[string]string{"A": plain, "B": plain, "C": ask, "D": plain}, map[string]string{"B": "A", "D": "C"})
	r.abortAtEnd()
	return r
}

// drive runs the batch to its end and answers its hold. The engine is killed when it has shown event number at (0: never).
// It returns the number of the last event.
func (r *testRepo) drive(at int) (last int) {
	r.t.Helper()
	args := []string{"run", "batch", "--no-wait", "--jsonl"}
	for range 8 {
		seen, code := r.engineUntil(at, args...)
		last = max(last, seen)
		if at > 0 && seen >= at {
			at = 0
		}
		switch code {
		case 0:
			return last
		case 3:
			if hold := r.ask(0, "[0].state", "holds"); hold == "open" {
				r.ask(0, "result", "rule", "--reply-to", r.ask(0, "[0].id", "holds"), "--verdict", "fix", "-m", "the second")
			}
		case -1: // killed
		case 4: // it had ended before the kill
			if r.ask(0, "phase", "status") == "completed" {
				return last
			}
			r.t.Fatalf("ferrox %v: exit %d", args, code)
		default:
			r.t.Fatalf("ferrox %v: exit %d", args, code)
		}
		args = []string{"resume", "--no-wait", "--jsonl"}
		if _, _, none := r.ferrox("status"); none == 5 {
			args = []string{"run", "batch", "--no-wait", "--jsonl"}
		}
	}
	r.t.Fatal("the batch does not end")
	return last
}

// engineUntil runs an engine and kills it once it has shown an event with that number.
func (r *testRepo) engineUntil(at int, args ...string) (last, code int) {
	r.t.Helper()
	cmd := r.command(binary, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var ev struct{ Seq int }
		if err := json.Unmarshal(lines.Bytes(), &ev); err != nil {
			r.t.Errorf("a line that is no object: %s", lines.Bytes())
		}
		last = ev.Seq
		if at > 0 && last >= at {
			time.AfterFunc(time.Duration(at%4)*15*time.Millisecond, func() { _ = cmd.Process.Kill() }) // in the middle of something
		}
	}
	if err := cmd.Wait(); err != nil {
		r.t.Logf("ferrox %v: %v\n%s", args, err, said.Bytes())
	}
	return last, cmd.ProcessState.ExitCode()
}

// result is what must be the same however often the engine was killed.
func (r *testRepo) result() string {
	r.t.Helper()
	starts, err := os.ReadFile(r.outside("starts"))
	if err != nil {
		r.t.Fatal(err)
	}
	runs := strings.Fields(strings.ReplaceAll(strings.TrimSpace(string(starts)), " ", "/"))
	slices.Sort(runs)
	branch := r.ask(0, "integration_branch", "status")
	tree := r.git("ls-tree", "-r", "--name-only", branch)
	merges := strings.Fields(r.git("log", "--first-parent", "--format=%(trailers:key=Ferrox-Task,valueonly)", branch))
	slices.Sort(merges)
	states := ""
	for _, id := range []string{"A", "B", "C", "D"} {
		states += r.ask(0, "tasks[id="+id+"].state", "status") + " " + r.ask(0, "tasks[id="+id+"].iteration", "status") + " "
		r.git("merge-base", "--is-ancestor", r.ask(0, "tasks[id="+id+"].authorized_commit", "status"), branch)
	}
	return fmt.Sprintf("phase %s\nholds %s\nstates %s\nruns %v\nmerges %v\ntree\n%s", r.ask(0, "phase", "status"),
		r.ask(0, "holds.#", "status"), states, runs, merges, tree)
}

// TestKilledEngine kills the engine after each of its events in turn. Whatever the instant, the batch ends as the
// undisturbed one does: no worker ran twice, each lane was merged once, and the ruling was delivered once. W38 F022 F026
// F072 F084 F090 F103.
func TestKilledEngine(t *testing.T) {
	t.Parallel()
	calm := killedBatch(t)
	last, want := calm.drive(0), calm.result()
	if !strings.Contains(want, "runs [A/1 B/1 C/1 C/2 D/1]\nmerges [A B C D]") || last < 15 {
		t.Fatalf("the undisturbed run: %d events\n%s", last, want)
	}
	step := 1
	if testing.Short() || raceEnabled {
		step = 4
	}
	for at := 1; at < last; at += step {
		t.Run(fmt.Sprintf("W38 killed after event %d", at), func(t *testing.T) {
			t.Parallel()
			r := killedBatch(t)
			r.drive(at)
			if got := r.result(); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// killer is a git that kills the engine at one kind of call, once: before git has done it, or after.
const killer = `#!/bin/sh
git=%s
mine() { [ "$(cat /proc/$PPID/comm)" = ferrox ] && case " $* " in *"$KILL_AT"*) [ ! -e "$KILL_MARK" ] && : >"$KILL_MARK";; *) false;; esac; }
if [ "$KILL_WHEN" = before ] && mine "$@"; then kill -9 $PPID; exit 1; fi
if [ "$KILL_WHEN" = after ] && mine "$@"; then "$git" "$@"; kill -9 $PPID; exit 0; fi
exec "$git" "$@"
`

// TestKilledEngine_InGit kills the engine right before and right after git has done something for it. The ref says which
// side of the crash a landing is on. W19 W38 F022.
func TestKilledEngine_InGit(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	calm := killedBatch(t)
	calm.drive(0)
	want := calm.result()
	for _, at := range []string{" ferrox: create ", " ferrox: land ", " worktree add ", " rev-list ", " reset "} {
		for _, when := range []string{"before", "after"} {
			t.Run("W19 "+when+at, func(t *testing.T) {
				t.Parallel()
				r := killedBatch(t)
				bin, mark := t.TempDir(), filepath.Join(t.TempDir(), "killed")
				if err := os.WriteFile(filepath.Join(bin, "git"), fmt.Appendf(nil, killer, git), 0o755); err != nil {
					t.Fatal(err)
				}
				r.env = []string{"PATH=" + bin + ":" + filepath.Dir(binary) + ":" + os.Getenv("PATH"), "KILL_AT=" + at, "KILL_WHEN=" + when, "KILL_MARK=" + mark}
				r.drive(0)
				if _, err := os.Stat(mark); err != nil {
					t.Fatal("the engine was not killed")
				}
				if got := r.result(); got != want {
					t.Errorf("got\n%s\nwant\n%s", got, want)
				}
			})
		}
	}
}
