package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"ferrox/engine"
)

// raceTasks are the tasks of one race: as many chances for it to go either way.
func raceTasks(script string) map[string]string {
	packets := map[string]string{}
	for n := range 5 {
		packets[fmt.Sprintf("T-%d", n)] = script
	}
	return packets
}

// asked waits until every task of a race has asked and returns their holds.
func (r *testRepo) asked(n int) (holds []engine.HoldView) {
	r.t.Helper()
	r.becomes("every task has asked", func() bool {
		out, _, _ := r.ferrox("holds", "--json")
		return json.Unmarshal([]byte(out), &holds) == nil && len(holds) == n
	})
	return holds
}

// checkRace holds a finished race to what every ruling has to come to: one acknowledgement, and no copy after that.
func (r *testRepo) checkRace(n int) engine.StatusView {
	r.t.Helper()
	var s engine.StatusView
	out, _, _ := r.ferrox("status", "--json")
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		r.t.Fatal(err)
	}
	for _, task := range s.Tasks {
		if task.State != "succeeded" {
			r.t.Errorf("%s is %s: %+v", task.ID, task.State, task.Reasons)
		}
		if _, err := os.Lstat(r.outside("again-" + string(task.ID))); err == nil {
			r.t.Errorf("%s had its ruling again after it had acknowledged it", task.ID)
		}
	}
	log, _, _ := r.ferrox("log", "--json")
	if got := strings.Count(log, `"event": "ruling-acknowledged"`); got != n {
		r.t.Errorf("%d rulings were acknowledged, want %d", got, n)
	}
	return s
}

// TestF011_RulingMeetsExit rules at the instant at which the worker exits. Whoever wins, the ruling reaches the work once: the
// old worker acknowledges it from its inbox, or the next one has it in its prompt.
func TestF011_RulingMeetsExit(t *testing.T) {
	t.Parallel()
	r := newTestRepo(t, `, "lanes": 5`, raceTasks(`
up="$FERROX_WORKTREE/../.."
if [ $FERROX_ITERATION = 1 ]; then
	ferrox escalate 'may I?'
	until [ -f "$up/go-$FERROX_TASK" ]; do sleep 0.02; done
	for id in $(sed 's/.*"id":"\([^"]*\)".*/\1/' "$FERROX_INBOX"); do ferrox ack $id && touch "$up/acked-$FERROX_TASK"; done
	exit 0
fi
if [ -f "$up/acked-$FERROX_TASK" ] && [ "$FERROX_RULINGS" != "" ]; then touch "$up/again-$FERROX_TASK"; fi
finish $FERROX_TASK.txt`), nil)
	r.abortAtEnd()
	batch := r.ask(0, "batch", "run", "batch", "--detach")
	var all sync.WaitGroup
	for n, h := range r.asked(5) {
		all.Go(func() {
			<-time.After(time.Duration(n) * 20 * time.Millisecond) // the stimulus: from before the ruling to after it
			r.write("r.lanes/go-"+string(h.Task), "")
		})
		all.Go(func() {
			if out, errOut, code := r.ferrox("rule", "--reply-to", string(h.ID), "-m", "yes", "--json"); code != 0 {
				t.Errorf("rule: exit %d: %s%s", code, out, errOut)
			}
		})
	}
	all.Wait()
	r.ask(0, "exit", "wait", batch, "--timeout", "2m")
	r.checkRace(5)
}

// TestF011_AcksMeetRelaunch kills the engine, and has every worker acknowledge its ruling, twice at once, while the next engine
// finds it. Each ruling is acknowledged once, and nobody is started anew.
func TestF011_AcksMeetRelaunch(t *testing.T) {
	t.Parallel()
	r := newTestRepo(t, `, "lanes": 5`, raceTasks(`
up="$FERROX_WORKTREE/../.."
if [ $FERROX_ITERATION != 1 ]; then touch "$up/again-$FERROX_TASK"; fi
ferrox escalate 'may I?'
until [ -s "$FERROX_INBOX" ] && [ -f "$up/go" ]; do sleep 0.02; done
id=$(sed 's/.*"id":"\([^"]*\)".*/\1/' "$FERROX_INBOX")
ferrox ack $id & one=$!
ferrox notify --reply-to $id 'understood' & two=$!
wait $one || exit 8
wait $two || exit 8
[ ! -s "$FERROX_INBOX" ] || exit 8
finish $FERROX_TASK.txt`), nil)
	r.abortAtEnd()
	pid := r.ask(0, "pid", "run", "batch", "--detach")
	holds := r.asked(5)
	if out, err := r.command("kill", "-KILL", pid).CombinedOutput(); err != nil {
		t.Fatalf("kill: %v: %s", err, out)
	}
	r.becomes("the engine is gone", func() bool { return r.ask(0, "engine.state", "status") == "dead" })
	for _, h := range holds {
		if way := r.ask(0, "delivery", "rule", "--reply-to", string(h.ID), "-m", "yes"); way != "live" {
			t.Errorf("%s: the ruling goes %s", h.Task, way)
		}
	}
	var all sync.WaitGroup
	all.Go(func() { r.write("r.lanes/go", "") })
	all.Go(func() {
		if out, errOut, code := r.ferrox("resume"); code != 0 {
			t.Errorf("resume: exit %d: %s%s", code, out, errOut)
		}
	})
	all.Wait()
	for _, task := range r.checkRace(5).Tasks {
		if task.Iteration != 1 {
			t.Errorf("%s had %d runs", task.ID, task.Iteration)
		}
	}
}
