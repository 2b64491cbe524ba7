package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The marks that are asked for, as ratios or times less what git takes in the same run.
const (
	batchMark = 1.5
	claimMark = 20 * time.Millisecond
	ruleMark  = 30 * time.Millisecond
)

// benchWorker is the trivial worker of the batch: one commit, the box, the claim.
const benchWorker = `echo "$FERROX_TASK" >"out-$FERROX_TASK" && git add "out-$FERROX_TASK" && git commit -qm "$FERROX_TASK" &&
sed -i 's/- \[ \]/- [x]/' "$FERROX_TASK_DIR/STATUS.md" && echo done >"$FERROX_TASK_DIR/.DONE.tmp" && mv "$FERROX_TASK_DIR/.DONE.tmp" "$FERROX_TASK_DIR/.DONE"
`

// benchRepo makes a repository with n trivial packets whose STATUS.md is there already.
func benchRepo(b *testing.B, n, lanes int, settings, worker string) string {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "repo")
	put := func(name, body string) {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(body), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	put(".planning/config.json", fmt.Sprintf(`{"runner": {"lanes": %d, "finish_grace": "30s", "worker": {"preset": "shell", "command": ["sh", "-c", ". ./worker.sh"]}%s}}`, lanes, settings))
	put("worker.sh", worker)
	for i := 1; i <= n; i++ {
		task := fmt.Sprintf("tasks/T-%d-x/", i)
		put(task+"PROMPT.md", fmt.Sprintf("# Task: T-%d - Trivial\n\n## Review Level: 0\n\n## Dependencies\n\n**None**\n\n## File Scope\n\n- `out-T-%d`\n\n## Steps\n\n### Step 1: Do it\n\n- [ ] done\n", i, i))
		put(task+"STATUS.md", fmt.Sprintf("# T-%d: Trivial — Status\n\n### Step 1: Do it\n\n**Status:** ⬜ Not Started\n\n- [ ] done\n", i))
	}
	shell(b, dir, "git init -q -b main && git config user.name t && git config user.email t@example.org && git add -A && git commit -qm start")
	return dir
}

func shell(b *testing.B, dir, script string) string {
	b.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

func timed(b *testing.B, dir, script string) time.Duration {
	b.Helper()
	began := time.Now()
	shell(b, dir, script)
	return time.Since(began)
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// met prints a figure beside its mark, met or not.
func met(ok bool) string {
	if ok {
		return "met"
	}
	return "NOT met"
}

// BenchmarkBatch runs 100 trivial tasks in two lanes, against the same git work and spawns without supervision.
func BenchmarkBatch(b *testing.B) {
	const tasks, rounds = 100, 3
	floorScript, err := filepath.Abs(filepath.Join("..", "..", "testdata", "bench", "floor.sh"))
	if err != nil {
		b.Fatal(err)
	}
	var ours, floor []time.Duration
	for range b.N {
		for range rounds {
			floorRepo := benchRepo(b, tasks, 2, "", benchWorker)
			floor = append(floor, timed(b, floorRepo, fmt.Sprintf("sh %s %s %d", floorScript, floorRepo, tasks)))
			repo := benchRepo(b, tasks, 2, "", benchWorker)
			ours = append(ours, timed(b, repo, "ferrox run batch >run.log"))
		}
	}
	ratio := float64(median(ours)) / float64(median(floor))
	b.ReportMetric(ratio, "batch/floor")
	b.Logf("100 trivial tasks in 2 lanes: ferrox %v, floor %v, ratio %.2f (mark ≤ %.1f): %s", median(ours), median(floor), ratio, batchMark, met(ratio <= batchMark))
}

// BenchmarkClaim measures from a worker's rename of .DONE, at its exit, until the decision on it is recorded, less the git
// processes that the decision asks.
func BenchmarkClaim(b *testing.B) {
	worker := `date +%s%N >"$FERROX_WORKTREE/../claimed-$FERROX_TASK"; echo done >"$FERROX_TASK_DIR/.DONE.tmp" && exec mv "$FERROX_TASK_DIR/.DONE.tmp" "$FERROX_TASK_DIR/.DONE"` + "\n"
	const tasks = 20
	var took []time.Duration
	var git time.Duration
	for range b.N {
		repo := benchRepo(b, tasks, 1, `, "no_progress_limit": 1`, worker)
		shell(b, repo, "ferrox run batch >run.log || true")
		decided := eventTimes(b, repo, "claim-refused")
		for i := 1; i <= tasks; i++ {
			id := fmt.Sprintf("T-%d", i)
			took = append(took, decided[id].Sub(noted(b, repo+".lanes", "claimed-"+id)))
		}
		git = gitStatus(b, repo)
	}
	report(b, ".DONE renamed → decision recorded", took, git, claimMark)
}

// BenchmarkRuleToWorker measures from a ruling's commit until the first instruction of the worker that is started with it,
// less the git processes that come in between.
func BenchmarkRuleToWorker(b *testing.B) {
	worker := `if [ "$FERROX_RULINGS" = "" ]; then ferrox escalate "first or second?"; exit 0; fi
date +%s%N >"$FERROX_WORKTREE/../started-$FERROX_TASK"; ferrox ack $FERROX_RULINGS; ` + benchWorker
	const tasks = 12
	var took []time.Duration
	var git time.Duration
	for range b.N {
		repo := benchRepo(b, tasks, tasks, "", worker)
		shell(b, repo, "ferrox run batch --detach")
		landed := 1
		for len(heldTasks(b, repo)) < tasks {
			shell(b, repo, "ferrox wait --for hold >/dev/null")
		}
		for _, h := range heldTasks(b, repo) { // one at a time: the lanes of the others are not to be measured
			shell(b, repo, "ferrox rule --reply-to "+h+" approve; until ferrox log | grep -c ' landed ' | grep -qx "+strconv.Itoa(landed)+"; do :; done")
			landed++
		}
		shell(b, repo, "ferrox wait >/dev/null")
		ruled := eventTimes(b, repo, "hold-released")
		for i := 1; i <= tasks; i++ {
			id := fmt.Sprintf("T-%d", i)
			took = append(took, noted(b, repo+".lanes", "started-"+id).Sub(ruled[id]))
		}
		git = gitStatus(b, repo)
	}
	report(b, "ruling committed → worker's first instruction", took, git, ruleMark)
}

func report(b *testing.B, what string, took []time.Duration, git, mark time.Duration) {
	b.Helper()
	own := median(took) - git
	b.ReportMetric(float64(own.Microseconds())/1000, "ms-less-git")
	b.Logf("%s: %v, git probes %v, less those %v (mark ≤ %v): %s", what, median(took), git, own, mark, met(own <= mark))
}

func heldTasks(b *testing.B, repo string) (ids []string) {
	b.Helper()
	var holds []struct{ ID, State string }
	if err := json.Unmarshal([]byte(shell(b, repo, "ferrox holds --json")), &holds); err != nil {
		b.Fatal(err)
	}
	for _, h := range holds {
		if h.State == "open" {
			ids = append(ids, h.ID)
		}
	}
	return ids
}

// eventTimes returns when an event of that name first happened to each task.
func eventTimes(b *testing.B, repo, name string) map[string]time.Time {
	b.Helper()
	times := map[string]time.Time{}
	for _, ev := range logged(b, repo) {
		if at, err := time.Parse(time.RFC3339Nano, ev.TS); err == nil && ev.Event == name && times[ev.Task].IsZero() {
			times[ev.Task] = at
		}
	}
	return times
}

type loggedEvent struct{ TS, Event, Task string }

func logged(b *testing.B, repo string) (events []loggedEvent) {
	b.Helper()
	if err := json.Unmarshal([]byte(shell(b, repo, "ferrox log --json")), &events); err != nil {
		b.Fatal(err)
	}
	return events
}

// noted reads an instant that a worker wrote down.
func noted(b *testing.B, lanes, name string) time.Time {
	b.Helper()
	found, err := filepath.Glob(filepath.Join(lanes, "*", name))
	if err != nil || len(found) == 0 {
		b.Fatalf("no %s in %s: %v", name, lanes, err)
	}
	body, err := os.ReadFile(found[0])
	if err != nil {
		b.Fatal(err)
	}
	ns, err := strconv.ParseInt(strings.TrimSpace(string(body)), 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return time.Unix(0, ns)
}

// gitStatus times the one git process that a claim and a start each ask: what the lane looks like.
func gitStatus(b *testing.B, repo string) time.Duration {
	b.Helper()
	return probe(b, repo, "status", "--porcelain=v2", "-z", "--branch", "--untracked-files=all")
}

func probe(b *testing.B, repo string, args ...string) time.Duration {
	b.Helper()
	var took []time.Duration
	for range 15 {
		cmd := exec.Command("git", args...)
		cmd.Dir = repo
		began := time.Now()
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	return median(took)
}
