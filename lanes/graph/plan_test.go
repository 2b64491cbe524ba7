package graph_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ferrox/lanes"
	"ferrox/lanes/graph"
)

// scoped reads "A:L=x,y B=x C" as tasks with size and scope; a task without = has no File Scope section.
func scoped(text string) []graph.Node {
	var nodes []graph.Node
	for i, part := range strings.Fields(text) {
		head, scope, declared := strings.Cut(part, "=")
		id, size, _ := strings.Cut(head, ":")
		n := graph.Node{ID: lanes.TaskID(id), Size: size, Scoped: declared, Seq: i}
		n.Scope = strings.FieldsFunc(scope, func(r rune) bool { return r == ',' })
		nodes = append(nodes, n)
	}
	return nodes
}

func TestAffinity(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"B=x A=x C=y":                "[[A B] [C]]",
		"A=x,y B=y,z C=z":            "[[A B C]]",
		"C=z,x B=y A=x D=y":          "[[A C] [B D]]",
		"A B=a C=":                   "[[A] [B] [C]]",
		"A=src/** B=src/a.go C=docs": "[[A B] [C]]",
		"D=w,x C=y,z B=x,y A=q E=z":  "[[A] [B C D E]]",
		"":                           "[]",
	} {
		if got := fmt.Sprint(graph.Affinity(scoped(text))); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestSeams(t *testing.T) {
	t.Parallel()
	nodes := scoped("B=src/a.go,go.mod A=go.mod C D=migrations E=docs")
	got := fmt.Sprint(graph.Seams([]string{"go.mod", "migrations/**", "nobody"}, nodes))
	if want := "[{go.mod [A B]} {migrations/** [D]}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestPlanLanes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, wave string
		limit      int
		want       string
	}{
		{"fewer groups than lanes", "A=x B=y", 5, "[{1 [A] 2} {2 [B] 2}]"},
		{"a group never splits", "A=x B=x C=x", 3, "[{1 [A B C] 6}]"},
		{"groups before single ones, however heavy", "A:L=q B:S=x C:S=x D:S=r", 2, "[{1 [B C D] 3} {2 [A] 4}]"},
		{"heaviest group first, lightest lane", "A:S=x B:S=x C:L=y D:S=y E:M=p F:S=q", 2, "[{1 [C D] 5} {2 [A B E F] 5}]"},
		{"ties by id and number", "D=d C=c B=b A=a", 2, "[{1 [A C] 4} {2 [B D] 4}]"},
		{"no scope", "A B C", 2, "[{1 [A C] 4} {2 [B] 2}]"},
		{"limit of nothing", "A=x B=y", 0, "[{1 [A B] 4}]"},
		{"no tasks", "", 3, "[]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := fmt.Sprint(graph.PlanLanes(scoped(tc.wave), tc.limit)); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

func TestPlanLanes_Property(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		nodes := drawTasks(t)
		limit := rapid.IntRange(-1, 6).Draw(t, "limit")
		plan := graph.PlanLanes(nodes, limit)
		lane := map[lanes.TaskID]lanes.Number{}
		for i, l := range plan {
			if l.Number != lanes.Number(i+1) || len(l.Tasks) == 0 {
				t.Fatalf("plan %v", plan)
			}
			for _, id := range l.Tasks {
				lane[id] = l.Number
			}
		}
		if len(lane) != len(nodes) || len(plan) > max(limit, 1) {
			t.Fatalf("%d tasks in plan %v", len(nodes), plan)
		}
		for _, a := range nodes {
			for _, b := range nodes {
				if graph.Overlaps(a, b) && lane[a.ID] != lane[b.ID] {
					t.Fatalf("%s and %s overlap and are apart in %v", a.ID, b.ID, plan)
				}
			}
		}
		other := graph.PlanLanes(rapid.Permutation(nodes).Draw(t, "other"), limit)
		if fmt.Sprint(other) != fmt.Sprint(plan) {
			t.Fatalf("another order gives %v, not %v", other, plan)
		}
	})
}

func TestNodeOf(t *testing.T) {
	t.Parallel()
	n := graph.NodeOf(lanes.Task{
		ID: "A", Path: "tasks/A", DependsOn: []lanes.TaskID{"B"}, Scope: []string{"x"}, Scoped: true, Size: "L",
		State: lanes.TaskHeld, Finished: true, Seq: 4,
	})
	if n.ID != "A" || n.Dir != "tasks/A" || !slices.Equal(n.DependsOn, []lanes.TaskID{"B"}) || !slices.Equal(n.Scope, []string{"x"}) ||
		!n.Scoped || n.Size != "L" || n.State != lanes.TaskHeld || !n.Finished || n.Seq != 4 {
		t.Errorf("%+v", n)
	}
}
