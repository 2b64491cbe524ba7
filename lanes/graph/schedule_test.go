package graph_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ferrox/lanes"
	"ferrox/lanes/graph"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// situation reads "A:running@1 B<A:blocked C@2!30s~src" as tasks in order of discovery (state, lane, back-off, scope) and
// "1:running=A 2:idle" as lanes.
func situation(limit int, taskText, laneText string) graph.Situation {
	s := graph.Situation{Limit: limit, Now: now}
	for i, f := range strings.Fields(taskText) {
		t := lanes.Task{Seq: i, State: lanes.TaskPending}
		f, scope, scoped := strings.Cut(f, "~")
		if t.Scoped = scoped; scoped {
			t.Scope = strings.Split(scope, "+")
		}
		f, wait, waits := strings.Cut(f, "!")
		if d, err := time.ParseDuration(wait); waits && err == nil {
			t.RetryAt = now.Add(d)
		}
		f, lane, _ := strings.Cut(f, "@")
		_, _ = fmt.Sscan(lane, &t.Lane)
		f, state, stated := strings.Cut(f, ":")
		if stated {
			t.State = lanes.TaskState(state)
		}
		id, needs, _ := strings.Cut(f, "<")
		t.ID = lanes.TaskID(id)
		for _, need := range strings.FieldsFunc(needs, func(r rune) bool { return r == '+' }) {
			t.DependsOn = append(t.DependsOn, lanes.TaskID(need))
		}
		s.Tasks = append(s.Tasks, t)
	}
	for _, f := range strings.Fields(laneText) {
		var l lanes.Lane
		f, task, _ := strings.Cut(f, "=")
		l.Task = lanes.TaskID(task)
		number, state, _ := strings.Cut(f, ":")
		_, _ = fmt.Sscan(number, &l.Number)
		l.State = lanes.LaneState(state)
		s.Lanes = append(s.Lanes, l)
	}
	return s
}

// shown prints moves as "start A@1 B@0, block C(A), unblock D, queued 1, wake 30s".
func shown(m graph.Moves) string {
	var parts []string
	add := func(word string, items []string) {
		if len(items) > 0 {
			parts = append(parts, word+" "+strings.Join(items, " "))
		}
	}
	var start, block, unblock []string
	for _, p := range m.Start {
		start = append(start, fmt.Sprintf("%s@%d", p.Task, p.Lane))
	}
	for _, b := range m.Block {
		var refs []string
		for _, r := range b.Reasons {
			refs = append(refs, r.Ref)
		}
		block = append(block, fmt.Sprintf("%s(%s)", b.Task, strings.Join(refs, "+")))
	}
	for _, id := range m.Unblock {
		unblock = append(unblock, string(id))
	}
	add("start", start)
	add("block", block)
	add("unblock", unblock)
	if m.Queued > 0 {
		parts = append(parts, fmt.Sprintf("queued %d", m.Queued))
	}
	if !m.WakeAt.IsZero() {
		parts = append(parts, "wake "+m.WakeAt.Sub(now).String())
	}
	return strings.Join(parts, ", ")
}

func TestSchedule(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name         string
		limit        int
		tasks, lanes string
		want         string
	}{
		{"fresh lanes up to the limit", 2, "A B C", "", "start A@0 B@0, queued 1"},
		{"order of discovery, not of ids", 1, "B A", "", "start B@0, queued 1"},
		{"idle lanes before fresh ones", 3, "A B", "2:idle 1:done", "start A@2 B@0"},
		{"the lowest idle lane first", 3, "A B", "3:idle 1:idle", "start A@1 B@3"},
		{"a running lane counts", 1, "A:running@1 B", "1:running=A", "queued 1"},
		{"F084 a held lane counts and keeps nobody else waiting", 2, "A:held@1 B C", "1:held=A", "start B@0, queued 1"},
		{"a parked lane does not count", 1, "A:held@1 B", "1:parked=A", "start B@0"},
		{"a stalled lane does not count", 1, "A:stalled@1 B", "1:stalled=A", "start B@0"},
		{"a done lane is not reused", 1, "A", "1:done", "start A@0"},
		{"what waits for a held task waits", 2, "A:held@1 B<A", "1:parked=A", ""},
		{"what it depends on landed", 1, "A:succeeded B<A", "1:idle", "start B@1"},

		{"a ruled task goes on in its lane", 1, "A@1", "1:held=A", "start A@1"},
		{"a ruling un-parks at once, without a slot", 1, "A@1 B:running@2", "1:parked=A 2:running=B", "start A@1"},
		{"an un-parked lane counts before later tasks", 1, "A@1 B", "1:parked=A", "start A@1, queued 1"},
		{"and before earlier ones", 1, "B A@1", "1:parked=A", "start A@1, queued 1"},
		{"a ruled task and one without a lane", 2, "B A@1", "1:held=A", "start A@1 B@0"},
		{"a lane of another task is not its own", 1, "A@1 B:running@1", "1:running=B", "queued 1"},
		{"a retried task needs a slot", 1, "A@1 B:running@2", "1:stalled=A 2:running=B", "queued 1"},
		{"and goes back to its lane", 1, "A@1", "1:stalled=A 2:idle", "start A@1"},

		{"overlap waits for the running one", 2, "A:running@1~src B~src/x", "1:running=A", "queued 1"},
		{"overlap waits for the held one", 2, "A:held@1~src B~src/x C~doc", "1:held=A", "start C@0, queued 1"},
		{"overlap of two that could start", 2, "A~src B~src", "", "start A@0, queued 1"},
		{"overlap with a parked one waits for nothing", 2, "A:held@1~src B~src", "1:parked=A", "start B@0"},
		{"overlap with a stalled one waits for nothing", 2, "A:stalled@1~src B~src", "1:stalled=A", "start B@0"},
		{"overlap with one that is being un-parked", 2, "B~src A@1~src", "1:parked=A", "start A@1, queued 1"},
		{"a retried task waits for an overlapping one", 2, "A@1~src B:running@2~src", "1:stalled=A 2:running=B", "queued 1"},
		{"no scope overlaps nothing", 2, "A:running@1~src B", "1:running=A", "start B@0"},

		{"back-off", 2, "A!30s B!10s C", "", "start C@0, wake 10s"},
		{"back-off in its own lane", 2, "A@1!30s", "1:running=A", "wake 30s"},
		{"back-off that ended", 1, "A!-1s B!0s", "", "start A@0, queued 1"},
		{"back-off of a task that waits for another", 1, "A:running@1 B<A!30s", "1:running=A", ""},

		{"W65 blocked by a failed one", 2, "A:failed B<A C<B", "", "block B(A) C(A)"},
		{"W65 every root is named", 2, "A:failed B:skipped D<A C<D+B", "", "block D(A) C(A+B)"},
		{"W66 an id that nobody has", 2, "A<X", "", "block A(X)"},
		{"W65 a retry revives the whole chain", 2, "A B<A:blocked C<B:blocked", "", "start A@0, unblock B C"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := shown(graph.Schedule(situation(tc.limit, tc.tasks, tc.lanes))); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

// TestW65_ReasonsOfABlockedTask: the reasons name the roots, and are said anew only when the roots change.
func TestW65_ReasonsOfABlockedTask(t *testing.T) {
	t.Parallel()
	s := situation(1, "A:failed B:skipped D<A C<D+B+X", "")
	block := graph.Schedule(s).Block
	if len(block) != 2 {
		t.Fatalf("blocked: %v", block)
	}
	want := []lanes.Reason{
		{Code: "dependency-unmet", Ref: "A", Clears: "operator", Next: "ferrox retry A", Text: "it depends on A, which is failed, by way of other tasks"},
		{Code: "dependency-unmet", Ref: "B", Clears: "operator", Next: "ferrox retry B", Text: "it depends on B, which is skipped"},
		{Code: "dependency-unmet", Ref: "X", Clears: "operator", Next: "ferrox plan", Text: "it depends on X, which is not part of the batch"},
	}
	if got := block[1].Reasons; !slices.Equal(got, want) {
		t.Errorf("reasons %v\nwant %v", got, want)
	}

	for i, b := range []int{2, 3} {
		s.Tasks[b].State, s.Tasks[b].Reasons = lanes.TaskBlocked, block[i].Reasons
	}
	if got := shown(graph.Schedule(s)); got != "" {
		t.Errorf("blocked already: %s", got)
	}
	s.Tasks[0].State = lanes.TaskSucceeded
	if got := shown(graph.Schedule(s)); got != "block C(B+X), unblock D" {
		t.Errorf("one root has landed: %s", got)
	}
}

func drawSituation(t *rapid.T) graph.Situation {
	s := graph.Situation{Limit: rapid.IntRange(1, 4).Draw(t, "limit"), Now: now}
	for i := range rapid.IntRange(1, 7).Draw(t, "tasks") {
		task := lanes.Task{
			ID: lanes.TaskID(rune('A' + i)), Seq: i, Scoped: rapid.Bool().Draw(t, "scoped"),
			Scope:   rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "a/b", "c/**"}), 0, 2).Draw(t, "scope"),
			RetryAt: now.Add(time.Duration(rapid.IntRange(-1, 1).Draw(t, "back-off")) * time.Minute),
			State: rapid.SampledFrom([]lanes.TaskState{
				lanes.TaskPending, lanes.TaskPending, lanes.TaskPending, lanes.TaskRunning, lanes.TaskHeld,
				lanes.TaskSucceeded, lanes.TaskStalled, lanes.TaskBlocked,
			}).Draw(t, "state"),
		}
		for j := range i {
			if rapid.IntRange(0, 4).Draw(t, "needs") == 0 {
				task.DependsOn = append(task.DependsOn, s.Tasks[j].ID)
			}
		}
		s.Tasks = append(s.Tasks, task)
		drawLane(t, &s, i)
	}
	return s
}

// drawLane gives a task a lane of a fitting state, or adds one that nobody has.
func drawLane(t *rapid.T, s *graph.Situation, i int) {
	fitting := map[lanes.TaskState][]lanes.LaneState{
		lanes.TaskPending:   {"", lanes.LaneRunning, lanes.LaneHeld, lanes.LaneParked, lanes.LaneStalled},
		lanes.TaskRunning:   {lanes.LaneRunning},
		lanes.TaskHeld:      {lanes.LaneHeld, lanes.LaneParked},
		lanes.TaskSucceeded: {"", lanes.LaneIdle},
		lanes.TaskStalled:   {lanes.LaneStalled},
		lanes.TaskBlocked:   {""},
	}[s.Tasks[i].State]
	state := rapid.SampledFrom(fitting).Draw(t, "lane")
	if state == "" {
		return
	}
	l := lanes.Lane{Number: lanes.Number(len(s.Lanes) + 1), State: state, Task: s.Tasks[i].ID}
	if s.Tasks[i].Lane = l.Number; state == lanes.LaneIdle {
		l.Task, s.Tasks[i].Lane = "", 0
	}
	s.Lanes = append(s.Lanes, l)
}

// TestSchedule_Property: what starts is pending and due, has its dependencies, a lane that is its own, idle or fresh, and a
// slot unless it goes on in its lane; it overlaps nothing that counts.
func TestSchedule_Property(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSituation(t)
		tasks, byLane := map[lanes.TaskID]lanes.Task{}, map[lanes.Number]lanes.Lane{}
		for _, task := range s.Tasks {
			tasks[task.ID] = task
		}
		counted := 0
		busy := map[lanes.TaskID]bool{}
		for _, l := range s.Lanes {
			byLane[l.Number] = l
			if l.State == lanes.LaneRunning || l.State == lanes.LaneHeld {
				counted++
				busy[l.Task] = true
			}
		}
		moves := graph.Schedule(s)
		used := map[lanes.Number]bool{}
		for _, p := range moves.Start {
			if l := byLane[p.Lane]; l.State == lanes.LaneParked && l.Task == p.Task {
				busy[p.Task] = true
				counted++
			}
		}
		for _, p := range moves.Start {
			task, lane := tasks[p.Task], byLane[p.Lane]
			switch {
			case task.State != lanes.TaskPending:
				t.Fatalf("%s starts and is %s", p.Task, task.State)
			case task.RetryAt.After(now):
				t.Fatalf("%s starts before its back-off ended", p.Task)
			case p.Lane != 0 && used[p.Lane]:
				t.Fatalf("lane %d is given twice", p.Lane)
			case p.Lane != 0 && lane.Task != p.Task && lane.State != lanes.LaneIdle:
				t.Fatalf("%s starts in lane %d, which is %s and has %s", p.Task, p.Lane, lane.State, lane.Task)
			}
			for _, need := range task.DependsOn {
				if tasks[need].State != lanes.TaskSucceeded {
					t.Fatalf("%s starts while %s is %s", p.Task, need, tasks[need].State)
				}
			}
			used[p.Lane] = true
			if busy[p.Task] {
				continue // it goes on
			}
			if counted++; counted > s.Limit {
				t.Fatalf("%s takes slot %d of %d", p.Task, counted, s.Limit)
			}
			for id := range busy {
				if graph.Overlaps(graph.NodeOf(tasks[id]), graph.NodeOf(task)) {
					t.Fatalf("%s starts beside %s, which it overlaps", p.Task, id)
				}
			}
			busy[p.Task] = true
		}
	})
}

// TestSchedule_Seams: tasks that touch one of the hot seams wait for each other although their scopes do not overlap; a
// task without a scope, or beside the seams, waits for nobody.
func TestSchedule_Seams(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ tasks, lanes, want string }{
		{"A~go.mod B~db/migrations/**", "", "start A@0, queued 1"},
		{"A:held@1~go.mod B~db/migrations/**", "1:held=A", "queued 1"},
		{"A:held@1~go.mod B~db/migrations/**", "1:parked=A", "start B@0"},
		{"A:running@1~go.mod B~src C", "1:running=A", "start B@0 C@0"},
	} {
		s := situation(4, tc.tasks, tc.lanes)
		s.Seams = []string{"go.mod", "db/migrations/**"}
		if got := shown(graph.Schedule(s)); got != tc.want {
			t.Errorf("%s | %s: %s, want %s", tc.tasks, tc.lanes, got, tc.want)
		}
		s.Seams = nil
		if m := graph.Schedule(s); m.Queued != 0 {
			t.Errorf("%s without seams: %s", tc.tasks, shown(m))
		}
	}
}
