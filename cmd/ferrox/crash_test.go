package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"ferrox/engine/crash"
)

// soaking reports whether there is time for what takes hours.
func soaking() bool { return os.Getenv("FERROX_TEST_SOAK") != "" }

// crashSeed chooses which crashes come in a row.
const crashSeed = 1

// TestCrash_EveryPoint kills the program before and after every commit and every effect, and goes on: the batch must end as
// the undisturbed one does, with everything there that was answered. F022 W38.
//
// In every run of the tests each point is taken once, by its name, at its first passing; four far apart share a run. With
// FERROX_TEST_SOAK each passing of each point is taken, in a run of its own, and more pairs of crashes in a row.
func TestCrash_EveryPoint(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a run of a batch for every crash point")
	}
	calm := newCrashRun(t, "")
	calm.drive()
	want := calm.result()
	for _, part := range []string{"merges [A B C D", "phase completed", "hold B merge-conflict released", "hold C g released", "landed 4", "effects still owed 0"} {
		if !strings.Contains(want, part) {
			t.Fatalf("the undisturbed run lacks %q:\n%s", part, want)
		}
	}
	names, all := calm.points()
	if len(names) < 100 {
		t.Fatalf("only %d points: %q", len(names), names)
	}
	plan := chained(names, 4)
	pairs := 10
	if soaking() {
		plan, pairs = all, 100
	}
	t.Logf("%d points, %d passings, %d runs, %d pairs, seed %d", len(names), len(all), len(plan), pairs, crashSeed)
	for _, at := range plan {
		t.Run(testName(at), func(t *testing.T) {
			t.Parallel()
			crashAt(t, at, want, true)
		})
	}
	chance := rand.New(rand.NewPCG(crashSeed, 0))
	for range pairs {
		first := chance.IntN(len(all))
		then, _, _ := strings.Cut(all[first+chance.IntN(len(all)-first)], "#") // what comes later in good order may come in recovery
		at := all[first] + ">" + then + "#1"
		t.Run("in a row "+testName(at), func(t *testing.T) {
			t.Parallel()
			crashAt(t, at, want, false)
		})
	}
}

// crashAt drives a batch with crashes. With all, what it did not come to in one run it has to come to in runs of their own.
func crashAt(t *testing.T, at, want string, all bool) {
	t.Helper()
	c := newCrashRun(t, at)
	c.drive()
	if got := c.result(); got != want {
		t.Errorf("crash at %s: got\n%s\nwant\n%s", at, got, want)
	}
	deaths, stops := c.deaths(), strings.Split(at, ">")
	switch {
	case deaths == 0 && len(stops) == 1:
		t.Errorf("nobody passed %s", at)
	case !all:
		t.Logf("%d crashes", deaths)
	default:
		for _, missed := range stops[deaths:] {
			crashAt(t, missed, want, all)
		}
	}
}

// testName makes a name for a subtest that -run can take.
func testName(at string) string { return strings.NewReplacer(" ", "_", "#1", "").Replace(at) }

// deaths is how many of the crashes that were asked for came about.
func (c *crashRun) deaths() int {
	c.t.Helper()
	body, err := os.ReadFile(c.log)
	if err != nil && !os.IsNotExist(err) {
		c.t.Fatal(err)
	}
	return crash.Deaths(c.at, string(body))
}

// points reads which points were passed: each name at its first passing, and every passing.
func (c *crashRun) points() (names, all []string) {
	c.t.Helper()
	body, err := os.ReadFile(c.log)
	if err != nil {
		c.t.Fatal(err)
	}
	count := map[string]int{}
	for name := range strings.Lines(string(body)) {
		name = strings.TrimSuffix(name, "\n")
		count[name]++
		all = append(all, fmt.Sprintf("%s#%d", name, count[name]))
		if count[name] == 1 {
			names = append(names, name+"#1")
		}
	}
	return names, all
}

// chained puts names that are far apart into one run, in their order.
func chained(names []string, n int) (chains []string) {
	runs := (len(names) + n - 1) / n
	chains = make([]string, runs)
	for i, name := range names {
		if chains[i%runs] != "" {
			name = ">" + name
		}
		chains[i%runs] += name
	}
	return chains
}
