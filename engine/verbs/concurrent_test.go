package verbs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// The seven checks of verbs.md 13, with real processes.

// together runs many calls at once and returns the answers of those that exit 0, in no order.
func (s *sandbox) together(calls [][]string) []map[string]any {
	s.t.Helper()
	var wg sync.WaitGroup
	results := make([]ran, len(calls))
	for i, args := range calls {
		wg.Go(func() {
			cmd := s.command(append([]string{"query"}, args...)...)
			var out, errOut bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errOut
			_ = cmd.Run()
			results[i] = ran{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
		})
	}
	wg.Wait()
	var answers []map[string]any
	for i, r := range results {
		if r.exit != 0 {
			s.t.Fatalf("%q: exit %d: %s", calls[i], r.exit, r.stderr)
		}
		answers = append(answers, object(s.t, r.stdout))
	}
	return answers
}

// clean checks that no lock and no temporary file is left.
func (s *sandbox) clean() {
	s.t.Helper()
	err := filepath.WalkDir(s.dir, func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".lock") || strings.HasSuffix(path, ".tmp") {
			s.t.Errorf("left behind: %s", path)
		}
		return err
	})
	if err != nil {
		s.t.Error(err)
	}
}

func repeat(n int, args func(i int) []string) [][]string {
	calls := make([][]string, n)
	for i := range calls {
		calls[i] = args(i)
	}
	return calls
}

func TestConcurrent1_AllocationsAreUnique(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	// A lock that a crash left long ago must not let two in.
	s.write(".planning/coord/migration-seq.json.lock", "")
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(s.dir, ".planning/coord/migration-seq.json.lock"), old, old); err != nil {
		t.Fatal(err)
	}

	const n = 24
	seen := map[any]bool{}
	for _, a := range s.together(repeat(n, func(int) []string { return []string{"coord.alloc-migration"} })) {
		seen[a["number"]] = true
	}
	text, _ := s.read(".planning/coord/migration-seq.json")
	store := object(t, text)
	for i := 1; i <= n; i++ {
		if !seen[float64(i)] {
			t.Errorf("%d was given to nobody", i)
		}
	}
	if len(store["allocated"].([]any)) != n || store["next"] != float64(n+1) {
		t.Errorf("store: %s", text)
	}
	s.clean()
}

func TestConcurrent1_NoIncrementIsLost(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if out, err := s.step("count").CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	wg.Wait()
	if text, _ := s.read(".planning/state.json"); object(t, text)["n"] != 480.0 {
		t.Errorf("4 processes, 120 increments each: %s", text)
	}
	s.clean()
}

func TestConcurrent2_RescopeCapHolds(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	allowed := 0
	for _, a := range s.together(repeat(12, func(i int) []string {
		return []string{"rescope.check", "--increment", "x", "--prev-size", "100", "--new-size", fmt.Sprint(50 - i), "--now-ts", "0"}
	})) {
		if a["decision"] == "rescope-allowed" {
			allowed++
		}
	}
	if allowed < 1 || allowed > 2 {
		t.Errorf("%d of 12 were allowed, want at most 2", allowed)
	}
	s.clean()
}

func TestConcurrent3_AllParksAreKept(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.together(repeat(12, func(i int) []string {
		return []string{"human-sla.check", "--increment", fmt.Sprint("i-", i), "--opened-ts", "0", "--now-ts", "90000000"}
	}))
	text, _ := s.read(".planning/human-sla-park.json")
	if parks := object(t, text); len(parks) != 12 {
		t.Errorf("%d parks, want 12", len(parks))
	}
	s.clean()
}

// child is a process in one of the steps of testStep.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// start runs a step until it says that it is ready.
func (s *sandbox) start(step string) child {
	s.t.Helper()
	cmd := s.step(step)
	in, err := cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	c := child{cmd, in, bufio.NewScanner(out)}
	if !c.out.Scan() || c.out.Text() != "ready" {
		s.t.Fatalf("the child said %q", c.out.Text())
	}
	return c
}

func TestConcurrent4_HeldLockIsWaitedForAndNeverPassed(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.write(".planning/state.json", `{"n":7}`)
	s.start("late")

	l := defaultLimits()
	l.retries = 20
	err := updateState(filepath.Join(s.dir, ".planning/state.json"), l, func(fields) (bool, error) {
		t.Error("went ahead without the lock")
		return false, nil
	})
	if !errors.Is(err, errUnavailable) || !strings.Contains(err.Error(), "held by process ") {
		t.Errorf("got %v", err)
	}
	if text, _ := s.read(".planning/state.json"); text != `{"n":7}` {
		t.Errorf("state changed: %s", text)
	}
}

func TestConcurrent5_OldLockIsTakenOverAndTheLateHolderRefused(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	target := filepath.Join(s.dir, ".planning/state.json")
	s.write(".planning/state.json", `{"n":1}`)
	late := s.start("late")

	old := time.Now().Add(-31 * time.Second)
	if err := os.Chtimes(target+".lock", old, old); err != nil {
		t.Fatal(err)
	}
	k, err := acquire(target, defaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if k.stamp.Token != 2 {
		t.Errorf("token %d, want the reaped one plus one", k.stamp.Token)
	}

	fmt.Fprintln(late.in)
	if !late.out.Scan() || !strings.Contains(late.out.Text(), "E_FENCE_LOST") {
		t.Errorf("the late holder was told %q", late.out.Text())
	}
	if err := late.cmd.Wait(); err != nil {
		t.Error(err)
	}
	if text, _ := s.read(".planning/state.json"); text != `{"n":1}` {
		t.Errorf("the late holder wrote: %s", text)
	}
	if !k.mine() {
		t.Error("the late holder removed the new lock")
	}
	if err := replace(target, []byte(`{"n":2}`), k); err != nil {
		t.Errorf("the new holder can't write: %v", err)
	}
	k.release()
	s.clean()
}

func TestConcurrent6_KillBeforeRenameLeavesTheOldFile(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.write(".planning/state.json", `{"n":1}`)
	c := s.start("late")
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.cmd.Wait()
	if text, _ := s.read(".planning/state.json"); text != `{"n":1}` {
		t.Errorf("state changed: %s", text)
	}

	// The holder is known to be dead, so nobody waits half a minute for its lock.
	began := time.Now()
	if n := countUp(filepath.Join(s.dir, ".planning/state.json"), 1); n != 0 {
		t.Fatal("the next writer failed")
	}
	if waited := time.Since(began); waited > 20*time.Second {
		t.Errorf("waited %v for a dead process", waited)
	}
	if text, _ := s.read(".planning/state.json"); object(t, text)["n"] != 2.0 {
		t.Errorf("state: %s", text)
	}
	s.clean()
}

func TestConcurrent7_LogLinesAreWhole(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	long := strings.Repeat("långt ", 2000)
	s.together(repeat(12, func(i int) []string {
		return []string{"gate.cap-check", "--gate", long, "--increment", fmt.Sprint(i), "--passes", "3", "--start-ts", "0", "--now-ts", "0"}
	}))
	text, _ := s.read(runLogPath)
	seen := map[any]bool{}
	for line := range strings.Lines(text) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil || e["gate"] != long {
			t.Fatalf("a line is torn: %v", err)
		}
		seen[e["increment"]] = true
	}
	if len(seen) != 12 {
		t.Errorf("%d lines, want 12", len(seen))
	}
	s.clean()
}
