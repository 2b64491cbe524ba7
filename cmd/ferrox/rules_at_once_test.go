package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestW52_RulesAtOnce gives 50 rulings to a live engine at the same moment, beside readers. Every call that returns 0 had
// its effect, once; none reports a lock.
func TestW52_RulesAtOnce(t *testing.T) {
	t.Parallel()
	const holds = 50
	ask := fmt.Sprintf(`if [ "$FERROX_RULINGS" = "" ]; then
	for i in $(seq %d); do ferrox escalate --gate "g$i" -m "question $i" || exit 9; done
	exit 0
fi
echo $FERROX_RULINGS >"$FERROX_WORKTREE/../../rulings"
finish A.txt`, holds)
	r := newTestRepo(t, "", map[string]string{"A": ask}, nil)
	r.abortAtEnd()
	r.ask(0, "batch", "run", "batch", "--detach")
	r.becomes("50 open holds and a quiet worker", func() bool {
		out, _, _ := r.ferrox("status", "--json")
		return strings.Count(out, `"delivery"`) == holds && strings.Contains(out, `"exit_code": 0`)
	})
	var open []struct{ ID string }
	out, _, _ := r.ferrox("holds", "--json")
	if err := json.Unmarshal([]byte(out), &open); err != nil || len(open) != holds {
		t.Fatalf("holds: %v\n%s", err, out)
	}
	var all sync.WaitGroup
	run := func(args ...string) {
		all.Go(func() {
			out, errOut, code := r.ferrox(args...)
			if code != 0 {
				t.Errorf("ferrox %v: exit %d\n%s%s", args, code, out, errOut)
			}
		})
	}
	for i, h := range open {
		run("rule", "--reply-to", h.ID, "--verdict", "fix", "-m", fmt.Sprintf("answer %d", i))
		if i%5 < 2 {
			run("status", "--json")
			run("holds", "--json")
		}
	}
	all.Wait()
	if exit := r.ask(0, "exit", "wait", "--timeout", "60s"); exit != "0" {
		t.Errorf("the batch ended with %s", exit)
	}
	var ruled []struct {
		State, Delivery string
		Ruling          struct{ ID string }
	}
	out, _, _ = r.ferrox("holds", "--all", "--json")
	if err := json.Unmarshal([]byte(out), &ruled); err != nil || len(ruled) != holds {
		t.Fatalf("holds: %v\n%s", err, out)
	}
	ids := map[string]bool{}
	for _, h := range ruled {
		ids[h.Ruling.ID] = true
		if h.State != "released" || h.Delivery != "acknowledged" {
			t.Errorf("a hold is %s and its ruling %s", h.State, h.Delivery)
		}
	}
	if len(ids) != holds {
		t.Errorf("%d rulings, want %d", len(ids), holds)
	}
}
