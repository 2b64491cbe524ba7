package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ferrox/engine"
	"ferrox/lanes"
)

const asker = `
if [ "$FERROX_RULINGS" = "" ]; then ferrox escalate 'may I?'; exit 0; fi
for r in $FERROX_RULINGS; do ferrox ack "$r" || exit 8; done
echo x >"$FERROX_TASK"; git add "$FERROX_TASK"; git commit -qm work -- "$FERROX_TASK"; sed -i 's/- \[ \]/- [x]/' "$FERROX_TASK_DIR/STATUS.md"; echo done >"$FERROX_TASK_DIR/.DONE"
`

// TestW9_RulingMeetsDeadline rules on thirty holds, each at about the moment of its deadline, under a live engine that
// parks when only parked lanes are left. Every ruling counts, and none that was said to be released waits for a resume.
func TestW9_RulingMeetsDeadline(t *testing.T) {
	t.Parallel()
	const rounds = 15
	for round := range rounds {
		tasks, offset := 4, time.Duration(round-12)*100*time.Millisecond // some go on while others expire
		if round < 10 {
			tasks, offset = 1, time.Duration(round*40-270)*time.Millisecond // the ruling races the park of the whole batch
		}
		t.Run(fmt.Sprintf("round %d", round), func(t *testing.T) {
			t.Parallel()
			var ids []string
			for n := range tasks {
				ids = append(ids, fmt.Sprintf("T-%d", n))
			}
			r := newRealRepo(t, `"lanes": 6, "backoff": {"initial": "10ms", "max": "20ms"}`, asker, ids...)
			e, said := r.start("run", "batch", "--hold-timeout", "2s")
			answers := ruleAtDeadlines(t, r, tasks, offset)
			_ = e.Wait()

			for id, result := range answers {
				t.Logf("%s: %s", id, result)
			}
			for _, task := range r.status().Tasks {
				switch answers[task.ID] {
				case "released":
					if task.State != lanes.TaskSucceeded {
						t.Errorf("W9: %s was released under a live engine and is %s\n%s", task.ID, task.State, said.String())
					}
				case "queued":
					if task.State != lanes.TaskPending && task.State != lanes.TaskSucceeded {
						t.Errorf("W9: the ruling on %s was queued and it is %s", task.ID, task.State)
					}
				default:
					t.Errorf("W9: the ruling on %s came to %q", task.ID, answers[task.ID])
				}
			}
			if s := r.status(); s.Phase == lanes.PhasePaused {
				if out, code := r.ferrox("resume"); code != 0 {
					t.Errorf("W9: resume: exit %d: %s", code, out)
				}
			}
			var log []engine.EventView
			r.json(&log, "log")
			for _, h := range r.holds() {
				names := eventsOf(log, string(h.ID))
				if h.Delivery != "acknowledged" || strings.Count(names, "hold-released") != 1 || strings.Contains(names, "hold-released hold-expired") {
					t.Errorf("W9: hold of %s is %s: %s", h.Task, h.Delivery, names)
				}
			}
		})
	}
}

// ruleAtDeadlines rules on every hold that opens, at its deadline plus offset and a little more for each.
func ruleAtDeadlines(t *testing.T, r *realRepo, tasks int, offset time.Duration) map[lanes.TaskID]string {
	t.Helper()
	answers := map[lanes.TaskID]string{}
	var mu sync.Mutex
	var all sync.WaitGroup
	seen := 0
	eventually(t, "every task asks", func() bool {
		holds := r.holds()
		for ; seen < len(holds); seen++ {
			h, late := holds[seen], offset+time.Duration(seen)*20*time.Millisecond
			all.Go(func() {
				at, err := time.Parse(time.RFC3339Nano, h.Deadline)
				if err != nil {
					t.Error(err)
				}
				<-time.After(time.Until(at.Add(late)))
				out, code := r.ferrox("rule", "--reply-to", string(h.ID), "approve")
				result := fmt.Sprintf("exit %d", code)
				for _, word := range []string{"released", "queued", "repeated"} {
					if strings.Contains(out, ": "+word) {
						result = word
					}
				}
				mu.Lock()
				answers[h.Task] = result
				mu.Unlock()
			})
		}
		return len(holds) == tasks
	})
	all.Wait()
	return answers
}

// eventsOf names the openings, ends and releases of one hold in their order.
func eventsOf(log []engine.EventView, id string) string {
	var names []string
	for _, ev := range log {
		if ev.Ref == id && slices.Contains([]string{"hold-opened", "hold-expired", "hold-released"}, ev.Event) {
			names = append(names, ev.Event)
		}
	}
	return strings.Join(names, " ")
}
