package graph_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ferrox/lanes"
	"ferrox/lanes/graph"
)

// in returns the tasks with some states changed.
func in(nodes []graph.Node, states map[lanes.TaskID]lanes.TaskState) []graph.Node {
	for i := range nodes {
		if s, ok := states[nodes[i].ID]; ok {
			nodes[i].State = s
		}
	}
	return nodes
}

type states = map[lanes.TaskID]lanes.TaskState

func TestReady(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, tasks string
		states      states
		want        string
	}{
		{"order of discovery", "C, A, B<A", nil, "{[C A] [{B [A]}] [] []}"},
		{"landed", "A, B<A", states{"A": lanes.TaskSucceeded}, "{[B] [] [] []}"},
		{"one of two landed", "A, C, B<A+C", states{"A": lanes.TaskSucceeded, "C": lanes.TaskRunning}, "{[] [{B [C]}] [] []}"},
		{"ended tasks are not listed", "A, B, C", states{"A": lanes.TaskFailed, "B": lanes.TaskSkipped, "C": lanes.TaskStalled}, "{[] [] [] []}"},
		{"W65 held is waited for", "A, B<A", states{"A": lanes.TaskHeld}, "{[] [{B [A]}] [] []}"},
		{"W65 failed", "A, B<A", states{"A": lanes.TaskFailed}, "{[] [] [{B false A failed A [A]}] []}"},
		{"W65 skipped", "A, B<A", states{"A": lanes.TaskSkipped}, "{[] [] [{B false A skipped A [A]}] []}"},
		{"W65 stalled", "A, B<A", states{"A": lanes.TaskStalled}, "{[] [] [{B false A stalled A [A]}] []}"},
		{
			"W65 behind a blocked one", "A, B<A, C<B",
			states{"A": lanes.TaskFailed, "B": lanes.TaskBlocked},
			"{[] [] [{B true A failed A [A]} {C false A failed B [A]}] []}",
		},
		{
			"W65 two causes", "B, A, D<A, C<B+D",
			states{"A": lanes.TaskFailed, "B": lanes.TaskSkipped},
			"{[] [] [{D false A failed A [A]} {C false A failed D [A B]}] []}",
		},
		{
			"W65 blocked although another one still runs", "A, R, B<R+A",
			states{"A": lanes.TaskFailed, "R": lanes.TaskRunning},
			"{[] [] [{B false A failed A [A]}] []}",
		},
		{"W65 retry revives", "A, B<A, C<B", states{"B": lanes.TaskBlocked, "C": lanes.TaskBlocked}, "{[A] [] [] [B C]}"},
		{"W66 absent is not met", "A<X", nil, "{[] [] [{A false X  X [X]}] []}"},
		{"W66 another letter case is not met", "a, A<A2, B<a", states{"a": lanes.TaskSucceeded}, "{[B] [] [{A false A2  A2 [A2]}] []}"},
		{"cycle ends", "A<B, B<A", nil, "{[] [{A [B]} {B [A]}] [] []}"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := fmt.Sprint(graph.Ready(in(tasks(tc.tasks), tc.states))); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

func TestReady_FinishedBefore(t *testing.T) {
	t.Parallel()
	for _, state := range []lanes.TaskState{"", lanes.TaskPending, lanes.TaskSkipped, lanes.TaskFailed} {
		nodes := in(tasks("A, B<A"), states{"A": state})
		nodes[0].Finished = true
		if got := fmt.Sprint(graph.Ready(nodes)); got != "{[B] [] [] []}" {
			t.Errorf("%q: %s", state, got)
		}
	}
}

// TestW65_DependentsOfAFailedTask is the whole story: T1 fails, T4 is held, T6 is free, then T1 is retried.
func TestW65_DependentsOfAFailedTask(t *testing.T) {
	t.Parallel()
	nodes := in(tasks("T1, T2<T1, T3<T2, T4, T5<T4, T6"), states{"T1": lanes.TaskFailed, "T4": lanes.TaskHeld})
	if got, want := fmt.Sprint(graph.Ready(nodes)), "{[T6] [{T5 [T4]}] [{T2 false T1 failed T1 [T1]} {T3 false T1 failed T2 [T1]}] []}"; got != want {
		t.Errorf("after the failure: %s, want %s", got, want)
	}

	in(nodes, states{"T2": lanes.TaskBlocked, "T3": lanes.TaskBlocked, "T6": lanes.TaskSucceeded})
	if got, want := fmt.Sprint(graph.Ready(nodes)), "{[] [{T5 [T4]}] [{T2 true T1 failed T1 [T1]} {T3 true T1 failed T2 [T1]}] []}"; got != want {
		t.Errorf("blocked: %s, want %s", got, want)
	}

	in(nodes, states{"T1": lanes.TaskPending})
	if got, want := fmt.Sprint(graph.Ready(nodes)), "{[T1] [{T5 [T4]}] [] [T2 T3]}"; got != want {
		t.Errorf("after the retry: %s, want %s", got, want)
	}
}

// TestReady_Property: each pending or blocked task is in one list; what starts has landed dependencies only; a batch in
// which every started task ends in some way comes to an end.
func TestReady_Property(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		nodes := drawTasks(t)
		for round := 0; ; round++ {
			if round > len(nodes)*2 {
				t.Fatal("the batch does not end")
			}
			ready := graph.Ready(nodes)
			checkReady(t, nodes, ready)
			next := states{}
			for _, b := range ready.Blocked {
				if !b.Known {
					next[b.Task] = lanes.TaskBlocked
				}
			}
			for _, id := range ready.Start {
				next[id] = rapid.SampledFrom([]lanes.TaskState{lanes.TaskSucceeded, lanes.TaskFailed, lanes.TaskSkipped, lanes.TaskStalled}).Draw(t, "outcome")
			}
			if len(next) == 0 {
				break
			}
			in(nodes, next)
		}
		for _, n := range nodes {
			if !n.State.Ended() {
				t.Fatalf("%s is %s at the end", n.ID, n.State)
			}
		}
	})
}

func checkReady(t *rapid.T, nodes []graph.Node, r graph.Readiness) {
	listed := slices.Concat(r.Start, r.Revived)
	for _, w := range r.Waiting {
		listed = append(listed, w.Task)
	}
	for _, b := range r.Blocked {
		listed = append(listed, b.Task)
	}
	state := states{}
	open := 0
	for _, n := range nodes {
		state[n.ID] = n.State
		if n.State == lanes.TaskPending || n.State == lanes.TaskBlocked {
			open++
		}
	}
	unique := slices.Compact(slices.Sorted(slices.Values(listed)))
	if len(unique) != open || len(listed) != open {
		t.Fatalf("%d open tasks, listed %v", open, listed)
	}
	for _, n := range nodes {
		for _, need := range n.DependsOn {
			if slices.Contains(r.Start, n.ID) && state[need] != lanes.TaskSucceeded {
				t.Fatalf("%s starts while %s is %s", n.ID, need, state[need])
			}
		}
	}
	for _, b := range r.Blocked {
		if s := state[b.Cause]; s != b.State || s == lanes.TaskBlocked || s == lanes.TaskPending {
			t.Fatalf("%+v, but the cause is %s", b, s)
		}
	}
	if other := graph.Ready(rapid.Permutation(nodes).Draw(t, "other")); fmt.Sprint(other) != fmt.Sprint(r) {
		t.Fatalf("another order gives %v, not %v", other, r)
	}
}
