package enginetest

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

// checks is how many histories each property draws, unless -rapid.checks says otherwise.
const checks = "15"

// soakTime is the variable that makes the soak test draw histories for that long.
const soakTime = "FERROX_TEST_SOAK_TIME"

func TestMain(m *testing.M) {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "rapid.checks" })
	if !chosen {
		if err := flag.Set("rapid.checks", checks); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	goleak.VerifyTestMain(m)
}

// tell says what went wrong, in words and as a history that can be pasted.
func tell(h history, end ending) string {
	return fmt.Sprintf("%s\n\n%s\n\n%#v", end.wrong, end.words, h)
}

// promises draws a history of everything that can happen and plays it.
func promises(t *testing.T, template string, rt *rapid.T) (history, ending) {
	h := histories(anyKind(), "1m").Draw(rt, "history")
	end := play(t, template, h, sound)
	if end.wrong != "" {
		rt.Fatalf("%s", tell(h, end))
	}
	return h, end
}

// same draws a history and plays it with its crashes and without. What becomes of every task and of every question is the
// same.
func same(t *testing.T, template string, rt *rapid.T) (history, ending) {
	h := histories(crashKinds(), "9h").Draw(rt, "history")
	cut := play(t, template, h, sound)
	whole := play(t, template, h.calm(), sound)
	if wrong := cut.wrong + whole.wrong; wrong != "" {
		rt.Fatalf("%s\n%s", wrong, tell(h, cut))
	}
	if !slices.Equal(cut.tasks, whole.tasks) || !slices.Equal(cut.questions, whole.questions) {
		rt.Fatalf("with crashes:\n%q\n%q\nwithout:\n%q\n%q\n%s\n--- without ---\n%s",
			cut.tasks, cut.questions, whole.tasks, whole.questions, tell(h, cut), whole.words)
	}
	return h, cut
}

func TestHistories_KeepEveryPromise(t *testing.T) {
	t.Parallel()
	template := newTemplate(t)
	rapid.Check(t, func(rt *rapid.T) { promises(t, template, rt) })
}

func TestHistories_EndTheSameWhereverTheyAreCut(t *testing.T) {
	t.Parallel()
	template := newTemplate(t)
	rapid.Check(t, func(rt *rapid.T) { same(t, template, rt) })
}

// What is wrong on purpose is found, by histories that nobody made for it.
func TestHistories_FindEveryMutant(t *testing.T) {
	t.Parallel()
	template := newTemplate(t)
	for m, kinds := range mutants {
		t.Run(string(m), func(t *testing.T) {
			t.Parallel()
			for seed := range 40 {
				if end := play(t, template, histories(kinds, "1m").Example(seed), m); end.wrong != "" {
					t.Logf("history %d: %s", seed, end.wrong)
					return
				}
			}
			t.Error("40 histories found nothing wrong")
		})
	}
}

// TestSoak draws histories for as long as FERROX_TEST_SOAK_TIME says, and counts what happened in them.
func TestSoak(t *testing.T) {
	text := os.Getenv(soakTime)
	if text == "" {
		t.Skip(soakTime + " is not set")
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("read %s: %v", soakTime, err)
	}
	template, counts, n := newTemplate(t), map[string]int{}, 0
	for end := time.Now().Add(d); time.Now().Before(end) && !t.Failed(); {
		rapid.Check(t, func(rt *rapid.T) {
			play := promises
			if n++; n%3 == 0 {
				play = same
			}
			h, end := play(t, template, rt)
			counts["faults that struck"] += end.hits
			for _, s := range h.Steps {
				counts["step "+string(s.Kind)]++
			}
			for what, times := range end.outcomes {
				counts[what] += times
			}
		})
	}
	t.Logf("%d histories", n)
	for _, what := range slices.SortedFunc(maps.Keys(counts), cmp.Compare) {
		t.Logf("%8d %s", counts[what], what)
	}
}
