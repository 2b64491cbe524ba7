package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ferrox/engine/crash"
)

// liveWorker asks, waits for its ruling in its inbox, acknowledges it and finishes. Every prompt with a ruling is noted.
const liveWorker = `
up="$FERROX_WORKTREE/../.."
if [ "$FERROX_RULINGS" = "" ] && [ $FERROX_ITERATION = 1 ]; then
	ferrox escalate 'may I?'
	touch "$up/asked"
	until [ -s "$FERROX_INBOX" ]; do sleep 0.02; done
	ferrox ack $(sed 's/.*"id":"\([^"]*\)".*/\1/' "$FERROX_INBOX") || exit 8
fi
if [ "$FERROX_RULINGS" != "" ]; then echo $FERROX_RULINGS >>"$up/prompts"; fi
finish T-1.txt`

// rulesLive runs a batch of one task whose live worker is ruled on, killing its shim at a point, and returns the points that the
// shim passed.
func rulesLive(t *testing.T, at string) (r *testRepo, points []string) {
	t.Helper()
	r = newTestRepo(t, "", map[string]string{"T-1": liveWorker}, nil)
	r.abortAtEnd()
	log := filepath.Join(filepath.Dir(r.dir), "points")
	r.env = []string{crash.Log + "=" + log, crash.At + "=" + at}
	r.ask(0, "batch", "run", "batch", "--detach")
	r.becomes("the worker has asked", func() bool { _, err := os.Lstat(r.outside("asked")); return err == nil })
	hold := r.ask(0, "[0].id", "holds")
	if way := r.ask(0, "delivery", "rule", "--reply-to", hold, "-m", "yes"); way != "live" {
		t.Errorf("the ruling goes %s", way)
	}
	r.ask(0, "exit", "wait", "--timeout", "2m")
	body, err := os.ReadFile(log)
	if err != nil && at == "" {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(body)) {
		if name := strings.TrimSpace(line); strings.HasPrefix(name, "shim: ") && !slices.Contains(points, name) {
			points = append(points, name)
		}
	}
	return r, points
}

// TestF011_CrashAtDelivery kills the shim before and after everything that it makes durable of a live delivery. The ruling that
// the worker did not acknowledge stands in the next prompt, and is acknowledged once; one that it did acknowledge does not.
func TestF011_CrashAtDelivery(t *testing.T) {
	t.Parallel()
	_, points := rulesLive(t, "")
	points = slices.DeleteFunc(points, func(name string) bool {
		return !strings.Contains(name, "inbox") && !strings.Contains(name, "ruling-")
	})
	if len(points) < 6 {
		t.Fatalf("a delivery passes %q only", points)
	}
	for _, at := range points {
		t.Run(testName(at), func(t *testing.T) {
			t.Parallel()
			r, _ := rulesLive(t, at)
			log, _, _ := r.ferrox("log", "--json")
			// What the worker acknowledged at the last moment, by way of the spool, counts too.
			acknowledged := strings.Index(log, `"event": "ruling-acknowledged"`) < strings.LastIndex(log, `"event": "worker-starting"`)
			if booked := strings.HasSuffix(at, "ruling-acknowledged after"); booked && !acknowledged {
				t.Error("an acknowledgement that was stored is gone")
			}
			if n := strings.Count(log, `"event": "ruling-acknowledged"`); n != 1 {
				t.Errorf("the ruling was acknowledged %d times", n)
			}
			prompts, err := os.ReadFile(r.outside("prompts"))
			if again := err == nil && len(prompts) > 0; again == acknowledged {
				t.Errorf("the next prompt has the ruling: %v", again)
			}
			if runs := r.ask(0, "tasks[0].iteration", "status"); runs != "2" {
				t.Errorf("%s runs", runs)
			}
			if state := r.ask(0, "tasks[0].state", "status"); state != "succeeded" {
				t.Errorf("the task is %s", state)
			}
		})
	}
}
