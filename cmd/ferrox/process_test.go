package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ferrox/engine"
)

// realRepo is a repository for tests that need processes of their own: engines that are killed, commands that race.
type realRepo struct {
	t   *testing.T
	dir string
	env []string
}

// newRealRepo makes a repository with one packet for each id; every worker runs script.
func newRealRepo(t *testing.T, runner, script string, ids ...string) *realRepo {
	t.Helper()
	top := t.TempDir()
	r := &realRepo{t: t, dir: filepath.Join(top, "r")}
	r.env = append(os.Environ(), "HOME="+top, "GIT_CONFIG_NOSYSTEM=1", "PATH="+filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"), "TOP="+top)
	r.write("../.gitconfig", "[user]\n\tname = Tess\n\temail = tess@example.org\n[init]\n\tdefaultBranch = main\n")
	r.write(".planning/config.json", `{"runner": {"worker": {"preset": "shell", "command": ["sh", "-c", ". \"$FERROX_WORKTREE/worker.sh\""], "max_iterations": 100}, `+runner+`}}`)
	r.write("worker.sh", script)
	for _, id := range ids {
		r.write("tasks/"+id+"-x/PROMPT.md", "# Task: "+id+" - Title\n\n**Size:** S\n\n## Review Level: 0\n\n## Dependencies\n\n**None**\n\n## Steps\n\n### Step 1: Part\n\n- [ ] box\n")
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "start"}} {
		if out, err := r.command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return r
}

func (r *realRepo) write(name, body string) {
	r.t.Helper()
	full := filepath.Join(r.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(body), 0o644)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *realRepo) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = r.dir, r.env
	return cmd
}

// ferrox runs the program to its end and returns standard output and the exit code.
func (r *realRepo) ferrox(args ...string) (string, int) {
	r.t.Helper()
	cmd := r.command(binary, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Errorf("ferrox %v: %v", args, err)
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		r.t.Logf("ferrox %v: exit %d: %s", args, code, stderr.String())
		return stdout.String(), code
	}
	return stdout.String(), 0
}

func (r *realRepo) json(into any, args ...string) {
	r.t.Helper()
	out, code := r.ferrox(append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), into); err != nil || code != 0 {
		r.t.Fatalf("ferrox %v: exit %d, %v: %s", args, code, err, out)
	}
}

func (r *realRepo) holds() (v []engine.HoldView) {
	r.t.Helper()
	r.json(&v, "holds", "--all")
	return v
}

func (r *realRepo) status() (v engine.StatusView) {
	r.t.Helper()
	r.json(&v, "status")
	return v
}

// start starts an engine and returns it with what it prints.
func (r *realRepo) start(args ...string) (*exec.Cmd, *bytes.Buffer) {
	r.t.Helper()
	cmd := r.command(binary, args...)
	said := new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, said
}

// eventually polls until ok, with a bound.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(30 * time.Second); ; {
		if ok() {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("not in 30 s: %s", what)
		}
	}
}

// chain asks one question a run, notes its id, and kills the engine as soon as the question was taken.
const chain = `
for r in $FERROX_RULINGS; do ferrox ack "$r" || exit 8; grep -qF "ruling for $FERROX_ITERATION." "$FERROX_PROMPT_FILE" || exit 7; done
if [ -f "$TOP/enough" ]; then
	echo x >x; git add x; git commit -qm work; sed -i 's/- \[ \]/- [x]/' "$FERROX_TASK_DIR/STATUS.md"; echo done >"$FERROX_TASK_DIR/.DONE"; exit 0
fi
until [ -s "$TOP/engine" ]; do sleep 0.01; done
id=$(ferrox escalate "question of $FERROX_ITERATION") || exit 9
kill -KILL $(cat "$TOP/engine")
echo "$id" >>"$TOP/asked"
`

// TestW14_DurableBeforeSaid kills the engine right after an escalation was taken, and right after a ruling was: what was
// said to be stored is there after the restart, once, and reaches the worker.
func TestW14_DurableBeforeSaid(t *testing.T) {
	t.Parallel()
	repeats := 20
	if testing.Short() {
		repeats = 3
	}
	r := newRealRepo(t, `"backoff": {"initial": "10ms", "max": "20ms"}`, chain, "T-1")
	top := filepath.Dir(r.dir)
	engineFile := filepath.Join(top, "engine")
	args := []string{"run", "batch"}
	for n := 1; n <= repeats; n++ {
		e, said := r.start(args...)
		r.write("../engine", fmt.Sprint(e.Process.Pid))
		_ = e.Wait()
		args = []string{"resume"}
		var ids []string
		eventually(t, "the worker notes its question\n"+said.String(), func() bool {
			body, err := os.ReadFile(filepath.Join(top, "asked"))
			ids = strings.Fields(string(body))
			return err == nil && len(ids) == n
		})
		holds := r.holds()
		if len(holds) != n || string(holds[n-1].ID) != ids[n-1] || holds[n-1].State != "open" {
			t.Fatalf("W14: repeat %d: asked %v, holds are %+v", n, ids, holds)
		}

		e, said = r.start("resume")
		eventually(t, "the engine is up and the lane is quiet", func() bool {
			s := r.status()
			return s.Engine.State == "alive" && s.Engine.PID == e.Process.Pid && s.Lanes[0].Worker.State == "exited"
		})
		if err := os.Remove(engineFile); err != nil { // a worker that this engine still starts kills the next one
			t.Fatal(err)
		}
		out, code := r.ferrox("rule", "--reply-to", ids[n-1], "-m", fmt.Sprintf("ruling for %d.", n+1), "--json")
		<-time.After(time.Duration(n%5) * 2 * time.Millisecond) // the stimulus: at most 10 ms after the answer
		_ = e.Process.Kill()
		_ = e.Wait()
		if code != 0 || !strings.Contains(out, `"released"`) {
			t.Fatalf("W14: repeat %d: rule: exit %d: %s\n%s", n, code, out, said.String())
		}
		h := r.holds()[n-1]
		if h.State != "released" || h.Ruling == nil || h.Ruling.Text != fmt.Sprintf("ruling for %d.", n+1) {
			t.Fatalf("W14: repeat %d: the ruling is gone: %+v", n, h)
		}
		if n == repeats {
			r.write("../enough", "")
		}
	}
	if out, code := r.ferrox("resume"); code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	holds := r.holds()
	for _, h := range holds {
		if h.AcknowledgedAt == "" {
			t.Errorf("never acknowledged: %+v", h)
		}
	}
	if s := r.status(); len(holds) != repeats || s.Phase != "completed" || s.Tasks[0].Iteration != repeats+1 {
		t.Errorf("%d holds, batch %s, %d runs", len(holds), s.Phase, s.Tasks[0].Iteration)
	}
}
