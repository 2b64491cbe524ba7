package lanes_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ferrox/lanes"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

var budget = lanes.Budget{MaxIterations: 5, NoProgressLimit: 3, BackoffInitial: 10 * time.Second, BackoffMax: time.Minute}

func TestBudget_Spend(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name        string
		spent, idle int // before
		run         lanes.RunFacts
		next        lanes.Input
		after       [2]int // spent and idle
		wait        time.Duration
		code        lanes.Code // of the first reason; "" when none is added
		text        string     // part of it
	}{
		{"a commit is progress", 1, 2, lanes.RunFacts{HeadMoved: true}, lanes.Start, [2]int{2, 0}, 0, "", ""},
		{"a tick is progress", 1, 2, lanes.RunFacts{BoxesTicked: true}, lanes.Start, [2]int{2, 0}, 0, "", ""},
		{"an acknowledgement is progress", 1, 2, lanes.RunFacts{Acknowledged: true}, lanes.Start, [2]int{2, 0}, 0, "", ""},
		{"an exit code alone is not", 0, 0, lanes.RunFacts{ExitCode: 0}, lanes.Start, [2]int{1, 1}, 10 * time.Second, "", ""},
		{"a claim alone is not", 0, 0, lanes.RunFacts{Claimed: true}, lanes.Start, [2]int{1, 1}, 10 * time.Second, "", ""},
		{"the back-off doubles", 1, 1, lanes.RunFacts{}, lanes.Start, [2]int{2, 2}, 20 * time.Second, "", ""},
		{"F006 a run that opened a hold is free", 4, 2, lanes.RunFacts{OpenedHold: true}, lanes.Start, [2]int{4, 2}, 0, "", ""},
		{"F007 also when it did nothing else and crashed", 4, 2, lanes.RunFacts{OpenedHold: true, Signal: "SIGSEGV"}, lanes.Start, [2]int{4, 2}, 0, "", ""},
		{"W4 a run that ferrox ended is free", 4, 2, lanes.RunFacts{Interrupted: true, EndedBy: "park"}, lanes.Start, [2]int{4, 2}, 0, "", ""},

		{"three runs that did nothing", 2, 2, lanes.RunFacts{ExitCode: 3}, lanes.Stall, [2]int{3, 3}, 0, lanes.CodeNoProgress, "3 runs in a row did nothing; the last one exited with 3"},
		{"the last one was ended", 2, 2, lanes.RunFacts{Signal: "SIGKILL", EndedBy: "stall"}, lanes.Stall, [2]int{3, 3}, 0, lanes.CodeNoProgress, "was ended (stall)"},
		{"the last one crashed", 2, 2, lanes.RunFacts{Signal: "SIGSEGV", Tail: "core dumped"}, lanes.Fail, [2]int{3, 3}, 0, lanes.CodeWorkerFailed, "was killed by SIGSEGV: core dumped"},
		{"the last one found no command", 2, 2, lanes.RunFacts{ExitCode: 127}, lanes.Fail, [2]int{3, 3}, 0, lanes.CodeWorkerFailed, "exited with 127"},
		{"125 is the command's own", 2, 2, lanes.RunFacts{ExitCode: 125}, lanes.Stall, [2]int{3, 3}, 0, lanes.CodeNoProgress, ""},
		{"126 is not", 2, 2, lanes.RunFacts{ExitCode: 126}, lanes.Fail, [2]int{3, 3}, 0, lanes.CodeWorkerFailed, ""},
		{"a claim before the crash", 2, 2, lanes.RunFacts{Claimed: true, Signal: "SIGSEGV"}, lanes.Stall, [2]int{3, 3}, 0, lanes.CodeNoProgress, ""},
		{"a ruling that is not acknowledged", 2, 2, lanes.RunFacts{Unacknowledged: "H-1", HeadMoved: true}, lanes.Stall, [2]int{3, 3}, 0, lanes.CodeHoldUnacknowledged, "without acknowledging"},
		{"the cap", 4, 0, lanes.RunFacts{HeadMoved: true}, lanes.Stall, [2]int{5, 0}, 0, lanes.CodeCapFired, "5 runs and no claim that holds"},
		{"idle goes before the cap", 4, 2, lanes.RunFacts{}, lanes.Stall, [2]int{5, 3}, 0, lanes.CodeNoProgress, ""},
		{"no command at all", 1, 1, lanes.RunFacts{Failure: "no such file", ExitCode: -1}, lanes.Fail, [2]int{1, 1}, 0, lanes.CodeWorkerFailed, "could not be started: no such file"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			before := lanes.Task{ID: "T-1", Spent: tc.spent, NoProgress: tc.idle, Reasons: []lanes.Reason{{Code: lanes.CodeStepsOpen}}}
			after, next := budget.Spend(before, tc.run, now)
			if next != tc.next || after.Spent != tc.after[0] || after.NoProgress != tc.after[1] {
				t.Errorf("%s, spent %d, idle %d; want %s, %v", next, after.Spent, after.NoProgress, tc.next, tc.after)
			}
			if next == lanes.Start && tc.wait > 0 && !after.RetryAt.Equal(now.Add(tc.wait)) {
				t.Errorf("goes on at %s, want after %s", after.RetryAt, tc.wait)
			}
			if next == lanes.Start && tc.wait == 0 && after.RetryAt.After(now) {
				t.Errorf("goes on only at %s", after.RetryAt)
			}
			said(t, after, tc.code, tc.text)
		})
	}
}

// said checks the reason that was put before those that stood.
func said(t *testing.T, after lanes.Task, code lanes.Code, text string) {
	t.Helper()
	if code == "" {
		if len(after.Reasons) != 1 {
			t.Errorf("reasons %v", after.Reasons)
		}
		return
	}
	if len(after.Reasons) != 2 || after.Reasons[1].Code != lanes.CodeStepsOpen {
		t.Fatalf("reasons %v: one new, the old one kept", after.Reasons)
	}
	if r := after.Reasons[0]; r.Code != code || !strings.Contains(r.Text, text) || r.Clears == "" || r.Next == "" || r.Ref == "" {
		t.Errorf("reason %+v, want %s with %q", r, code, text)
	}
}

func TestBudget_Backoff(t *testing.T) {
	t.Parallel()
	var waits []time.Duration
	endless := budget
	endless.MaxIterations, endless.NoProgressLimit = 0, 0
	task := lanes.Task{}
	for range 6 {
		var next lanes.Input
		if task, next = endless.Spend(task, lanes.RunFacts{}, now); next != lanes.Start {
			t.Fatalf("%s: without limits it goes on", next)
		}
		waits = append(waits, task.RetryAt.Sub(now))
	}
	for i, want := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, time.Minute, time.Minute, time.Minute} {
		if waits[i] != want {
			t.Errorf("waits %v", waits)
			break
		}
	}
	short := lanes.Budget{BackoffInitial: time.Hour, BackoffMax: time.Minute}
	if task, _ := short.Spend(lanes.Task{}, lanes.RunFacts{}, now); task.RetryAt.Sub(now) != time.Minute {
		t.Errorf("above the limit at once: %s", task.RetryAt.Sub(now))
	}
}

func drawRun(t *rapid.T) lanes.RunFacts {
	return lanes.RunFacts{
		OpenedHold: rapid.Bool().Draw(t, "opened a hold"), Interrupted: rapid.Bool().Draw(t, "interrupted"),
		HeadMoved: rapid.Bool().Draw(t, "head moved"), BoxesTicked: rapid.Bool().Draw(t, "boxes ticked"),
		Acknowledged: rapid.Bool().Draw(t, "acknowledged"), Claimed: rapid.Bool().Draw(t, "claimed"),
		Unacknowledged: rapid.SampledFrom([]string{"", "", "H-1"}).Draw(t, "unacknowledged"),
		Signal:         rapid.SampledFrom([]string{"", "SIGKILL"}).Draw(t, "signal"),
		EndedBy:        rapid.SampledFrom([]string{"", "stall", "wall-clock"}).Draw(t, "ended by"),
		ExitCode:       rapid.IntRange(-1, 130).Draw(t, "exit code"),
	}
}

// TestBudget_HoldsAndInterruptionsAreFree (F006, F007, W4): whatever else such a run did, no counter moves, no reason is
// added, and the task goes on at once.
func TestBudget_HoldsAndInterruptionsAreFree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		run := drawRun(t)
		if rapid.Bool().Draw(t, "which") {
			run.OpenedHold = true
		} else {
			run.Interrupted = true
		}
		before := lanes.Task{Spent: rapid.IntRange(0, 9).Draw(t, "spent"), NoProgress: rapid.IntRange(0, 9).Draw(t, "idle"), Iteration: 7}
		after, next := budget.Spend(before, run, now)
		if next != lanes.Start || after.Spent != before.Spent || after.NoProgress != before.NoProgress || after.Iteration != 7 || len(after.Reasons) > 0 || !after.RetryAt.IsZero() {
			t.Fatalf("%s, %+v", next, after)
		}
	})
}

// TestBudget_Ends: a task whose runs count ends after max_iterations at the latest, and only with a reason.
func TestBudget_Ends(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		task := lanes.Task{ID: "T-1"}
		for counted := 1; ; counted++ {
			run := drawRun(t)
			run.OpenedHold, run.Interrupted = false, false
			var next lanes.Input
			task, next = budget.Spend(task, run, now)
			if _, err := lanes.TaskRunning.Fire(next); err != nil {
				t.Fatalf("%v", err)
			}
			if next != lanes.Start {
				if len(task.Reasons) == 0 {
					t.Fatalf("%s without a reason", next)
				}
				return
			}
			if counted >= budget.MaxIterations {
				t.Fatalf("run %d of %d counted and the task goes on", counted, budget.MaxIterations)
			}
		}
	})
}
