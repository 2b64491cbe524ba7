// Package model_test has the model of a held lane checked: as it is, and with each of the things forgotten that the code
// takes care of.
package model_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// bounds say how much may happen in a model.
type bounds struct {
	asks, runs, rulers           int
	kills, losses, halts, aborts int
}

func (b bounds) flags() (all []string) {
	for _, f := range []struct {
		name string
		n    int
	}{
		{"ASKS", b.asks}, {"RUNS", b.runs}, {"RULERS", b.rulers}, {"KILLS", b.kills}, {"LOSSES", b.losses}, {"HALTS", b.halts}, {"ABORTS", b.aborts},
	} {
		all = append(all, "-D"+f.name+"="+strconv.Itoa(f.n))
	}
	return all
}

// TestModel checks every state that the model can come to, from several sides; with all sides at once there are too many.
func TestModel(t *testing.T) {
	t.Parallel()
	for name, side := range map[string]struct {
		bounds
		slow bool
	}{
		"two rulers":                      {bounds: bounds{asks: 1, runs: 2, rulers: 2}},
		"a kill and a signal":             {bounds: bounds{asks: 1, runs: 2, rulers: 1, kills: 1, halts: 1}},
		"a kill and an abort":             {bounds: bounds{asks: 1, runs: 2, rulers: 1, kills: 1, aborts: 1}},
		"two questions, two rulers":       {bounds: bounds{asks: 2, runs: 2, rulers: 2}, slow: true},
		"two kills":                       {bounds: bounds{asks: 1, runs: 2, rulers: 1, kills: 2}, slow: true},
		"a lost lock":                     {bounds: bounds{asks: 1, runs: 2, rulers: 1, losses: 1}, slow: true},
		"three runs for two questions":    {bounds: bounds{asks: 2, runs: 3, rulers: 1}, slow: true},
		"two rulers and a kill":           {bounds: bounds{asks: 1, runs: 2, rulers: 2, kills: 1}, slow: true},
		"a lost lock for an eager worker": {bounds: bounds{asks: 1, runs: 1, rulers: 1, losses: 1, halts: 1}, slow: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if side.slow && os.Getenv("FERROX_TEST_SOAK") == "" {
				t.Skip("for make model: FERROX_TEST_SOAK is not set")
			}
			verdict := check(t, "-O2", side.flags()...)
			if violated(verdict) != "" || !strings.Contains(verdict, "errors: 0") {
				t.Error(verdict)
			}
			t.Log(measured(verdict))
		})
	}
}

// TestModel_Twins forgets one thing that the code does, and has to see the invariant broken that speaks of it.
func TestModel_Twins(t *testing.T) {
	t.Parallel()
	for _, twin := range []struct {
		forgets, breaks string
		bounds
	}{
		{"ACK_BEFORE_COMMIT", "acknowledged_message_lost", bounds{asks: 1, runs: 2, rulers: 1, kills: 1}},
		{"RULE_LOOKS_FIRST", "ruling_applied_twice", bounds{asks: 1, runs: 2, rulers: 2}},
		{"RULE_LEAVES_THE_TASK", "ruled_and_never_released", bounds{asks: 1, runs: 2, rulers: 1}},
		{"LAND_UNREAD", "landed_with_an_unacknowledged_ruling", bounds{asks: 1, runs: 2, rulers: 1}},
		{"LAND_UNRULED", "landed_with_an_open_hold", bounds{asks: 1, runs: 2}},
		{"RESUME_WITHOUT_THE_PREDICATE", "landed_with_an_open_hold", bounds{asks: 1, runs: 1, kills: 1}},
		{"RECOVER_BLINDLY", "merged_twice", bounds{asks: 1, runs: 2, rulers: 1, kills: 1}},
		{"NO_FENCE", "merged_twice", bounds{asks: 1, runs: 2, rulers: 1, losses: 1}},
		{"NO_LANE_LOCK", "two_workers_in_a_lane", bounds{asks: 1, runs: 1, kills: 1}},
		{"LEAVE_THE_SPOOL", "landed_over_a_spooled_question", bounds{asks: 1, runs: 2, rulers: 1, kills: 1}},
		{"PARK_BLINDLY", "parked_under_a_ruling", bounds{asks: 1, runs: 2, rulers: 1}},
		{"ABORT_IN_TWO_WRITES", "landed_with_a_cancelled_hold", bounds{asks: 1, runs: 2, rulers: 1, kills: 1, aborts: 1}},
		{"FORGET_WHO_IS_COMING", "worker_without_a_run", bounds{asks: 1, runs: 1, kills: 1, halts: 1}},
	} {
		t.Run(twin.forgets, func(t *testing.T) {
			t.Parallel()
			verdict := check(t, "-O0", append(twin.flags(), "-D"+twin.forgets)...)
			if got := violated(verdict); got != twin.breaks {
				t.Errorf("a model that forgets this breaks %q, want %s\n%s", got, twin.breaks, verdict)
			}
		})
	}
}

// check makes a checker of the model, runs it and returns what it said.
func check(t *testing.T, optimise string, flags ...string) string {
	t.Helper()
	spin, err := exec.LookPath("spin")
	if err != nil {
		t.Skip("spin is not installed, so the model is not checked: apt-get install spin")
	}
	model, err := filepath.Abs("hold.pml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run := func(name string, args ...string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir = dir
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		return out.String(), err
	}
	if out, err := run(spin, append(flags, "-a", model)...); err != nil || strings.Contains(out, "Error") {
		t.Fatalf("spin: %v\n%s", err, out)
	}
	if out, err := run("gcc", optimise, "-w", "-DSAFETY", "-DMEMLIM=1000", "-DVECTORSZ=512", "-o", "pan", "pan.c"); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	// A state without a step is judged by the model itself, so -E leaves it alone.
	out, _ := run(filepath.Join(dir, "pan"), "-E", "-m100000")
	if !strings.Contains(out, "State-vector") || strings.Contains(out, "Search not completed") && violated(out) == "" {
		t.Fatalf("the search did not come to its end\n%s", out)
	}
	return out
}

var assertion = regexp.MustCompile(`assertion violated\s+!\((\w+)\)`)

// violated names the invariant that was broken; "" for none.
func violated(verdict string) string {
	if m := assertion.FindStringSubmatch(verdict); m != nil {
		return m[1]
	}
	return ""
}

// measured is what the search cost.
func measured(verdict string) string {
	var lines []string
	for line := range strings.Lines(verdict) {
		if strings.Contains(line, "states, stored") || strings.Contains(line, "total actual memory") || strings.Contains(line, "elapsed time") {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
	}
	return strings.Join(lines, "; ")
}
