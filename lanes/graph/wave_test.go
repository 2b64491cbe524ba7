package graph_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ferrox/lanes"
	"ferrox/lanes/graph"
)

// tasks reads "A, B<A, C<A+B" as pending tasks in order of discovery.
func tasks(text string) []graph.Node {
	var nodes []graph.Node
	for i, part := range strings.Split(text, ", ") {
		id, needs, _ := strings.Cut(part, "<")
		n := graph.Node{ID: lanes.TaskID(id), State: lanes.TaskPending, Seq: i}
		for _, need := range strings.FieldsFunc(needs, func(r rune) bool { return r == '+' }) {
			n.DependsOn = append(n.DependsOn, lanes.TaskID(need))
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func TestWaves(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"A":                               "[[A]]",
		"D<B+C, C<A, B<A, A":              "[[A] [B C] [D]]",
		"B, A":                            "[[A B]]",
		"C<A+A, A, B<A":                   "[[A] [B C]]",
		"A, B<A, C<B, D<A, E<D+C, F<X, X": "[[A X] [B D F] [C] [E]]",
	} {
		waves, err := graph.Waves(tasks(text))
		if got := fmt.Sprint(waves); got != want || err != nil {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
}

func TestWaves_LandedAndFinishedAreMet(t *testing.T) {
	t.Parallel()
	nodes := tasks("A, B, C<A+B, D<C")
	nodes[0].Finished = true
	nodes[1].State = lanes.TaskSucceeded
	waves, err := graph.Waves(nodes)
	if got := fmt.Sprint(waves); got != "[[C] [D]]" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if waves, err := graph.Waves(nil); len(waves) > 0 || err != nil {
		t.Errorf("no tasks: %v, %v", waves, err)
	}
}

func TestW66_CyclesAndUnknownIDs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"A<A":                "A → A is a cycle",
		"B<C, C<A, A<B":      "A → B → C → A is a cycle",
		"A, B<A+C, C<B, D<C": "B → C → B is a cycle",
	} {
		_, err := graph.Waves(tasks(text))
		var cycle *graph.CycleError
		if !errors.As(err, &cycle) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}

	_, err := graph.Waves(tasks("A, B<a"))
	var unknown *graph.UnknownError
	if !errors.As(err, &unknown) || *unknown != (graph.UnknownError{Task: "B", Dependency: "a"}) ||
		!strings.Contains(err.Error(), `"B" depends on "a"`) {
		t.Errorf("an id in another letter case: %v", err)
	}
}

func TestCycles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"A, B<A":                     "[]",
		"A<A, B<A":                   "[[A]]",
		"C<B, B<A, A<C":              "[[A C B]]",
		"C<D, D<C, A<B, B<A":         "[[A B] [C D]]",
		"A<B, B<A+C, C<B, X<unknown": "[[A B] [B C]]",
	} {
		if got := fmt.Sprint(graph.Cycles(tasks(text))); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	nodes := tasks("A<B, B<A")
	nodes[1].State = lanes.TaskSucceeded
	if got := graph.Cycles(nodes); len(got) > 0 {
		t.Errorf("a task that landed is part of %v", got)
	}
	if got := graph.CyclePath(nil); got != "" {
		t.Errorf("no cycle is written as %q", got)
	}
}

// drawTasks makes tasks without cycles, in some order. Their states are left pending.
func drawTasks(t *rapid.T) []graph.Node {
	count := rapid.IntRange(1, 10).Draw(t, "count")
	names := rapid.Permutation([]string{"A", "B", "C", "D", "E", "F", "G", "H", "I", "J"}).Draw(t, "names")
	var nodes []graph.Node
	for i := range count {
		n := graph.Node{ID: lanes.TaskID(names[i]), State: lanes.TaskPending, Seq: i, Scoped: true}
		n.Size = rapid.SampledFrom([]string{"S", "M", "L", ""}).Draw(t, "size")
		n.Scope = rapid.SliceOfN(rapid.SampledFrom([]string{"a", "a/x.go", "b/*", "c/**", "c/y.go", "d", "e", "f"}), 0, 2).Draw(t, "scope")
		if i > 0 {
			for _, at := range rapid.SliceOfNDistinct(rapid.IntRange(0, i-1), 0, min(i, 3), rapid.ID).Draw(t, "needs") {
				n.DependsOn = append(n.DependsOn, nodes[at].ID)
			}
		}
		nodes = append(nodes, n)
	}
	return rapid.Permutation(nodes).Draw(t, "order")
}

func TestWaves_Property(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		nodes := drawTasks(t)
		waves, err := graph.Waves(nodes)
		if err != nil || len(graph.Cycles(nodes)) > 0 {
			t.Fatalf("tasks without a cycle: %v, %v", err, graph.Cycles(nodes))
		}
		at := map[lanes.TaskID]int{}
		for i, wave := range waves {
			if !slices.IsSorted(wave) || len(wave) == 0 {
				t.Fatalf("wave %v", wave)
			}
			for _, id := range wave {
				at[id] = i + 1
			}
		}
		for _, n := range nodes {
			first := 1
			for _, need := range n.DependsOn {
				first = max(first, at[need]+1)
			}
			if at[n.ID] != first {
				t.Fatalf("%s is in wave %d of %v, want %d", n.ID, at[n.ID], waves, first)
			}
		}
		other, _ := graph.Waves(rapid.Permutation(nodes).Draw(t, "other"))
		if fmt.Sprint(other) != fmt.Sprint(waves) || len(at) != len(nodes) {
			t.Fatalf("another order gives %v, not %v", other, waves)
		}
	})
}

// TestCycles_Property closes a cycle among tasks that had none: it is found, and its every step is a dependency.
func TestCycles_Property(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		nodes := drawTasks(t)
		at := rapid.IntRange(0, len(nodes)-1).Draw(t, "at")
		needs := map[lanes.TaskID][]lanes.TaskID{}
		for _, n := range nodes {
			needs[n.ID] = n.DependsOn
		}
		last := nodes[at].ID // walk down to a task that needs nothing, and let it need the first one
		for len(needs[last]) > 0 {
			last = needs[last][0]
		}
		for i := range nodes {
			if nodes[i].ID == last {
				nodes[i].DependsOn = []lanes.TaskID{nodes[at].ID}
				needs[last] = nodes[i].DependsOn
			}
		}

		cycles := graph.Cycles(nodes)
		if len(cycles) == 0 {
			t.Fatal("the cycle is not found")
		}
		for _, c := range cycles {
			for i, id := range c {
				if !slices.Contains(needs[id], c[(i+1)%len(c)]) {
					t.Fatalf("%v: %s does not depend on the next one", c, id)
				}
			}
		}
		if _, err := graph.Waves(nodes); err == nil {
			t.Fatal("there are waves")
		}
		if other := graph.Cycles(rapid.Permutation(nodes).Draw(t, "other")); fmt.Sprint(other) != fmt.Sprint(cycles) {
			t.Fatalf("another order gives %v, not %v", other, cycles)
		}
	})
}
