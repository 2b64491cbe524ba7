package enginetest

import (
	"fmt"
	"strings"

	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/mailbox"
)

// replay folds the log and compares what comes of it with what is stored. Whether a task that may go on waits or runs is
// not in the log.
func replay(s state) (wrong []string) {
	task, held, acked := map[lanes.TaskID]string{}, map[string]string{}, map[string]bool{}
	for _, ev := range s.events {
		if next := taskAfter(ev); next != "" {
			task[ev.Task] = next
		}
		switch ev.Name {
		case "hold-opened":
			held[ev.Ref] = string(hold.Open)
		case "hold-released":
			held[ev.Ref] = string(hold.Released)
			if task[ev.Task] == string(lanes.TaskHeld) && !anyOpen(s, held, ev.Task) {
				task[ev.Task] = ready
			}
		case "hold-cancelled":
			held[ev.Ref] = string(hold.Cancelled)
		case "ruling-acknowledged":
			acked[ev.Ref] = true
		}
	}
	for _, t := range s.tasks {
		if got := stateIn(task, t.ID); got != readyOr(t.State) {
			wrong = append(wrong, fmt.Sprintf("task %s is %s, by the log it is %s", t.ID, t.State, got))
		}
	}
	for _, h := range s.holds {
		if string(h.State) != held[string(h.ID)] {
			wrong = append(wrong, fmt.Sprintf("hold %s is %s, by the log it is %q", h.ID, h.State, held[string(h.ID)]))
		}
		if is := h.Delivery == hold.DeliveryAcknowledged; h.Ruling != "" && is != acked[string(h.Ruling)] {
			wrong = append(wrong, fmt.Sprintf("ruling %s is acknowledged: %v, by the log %v", h.Ruling, is, !is))
		}
	}
	for _, m := range s.messages {
		if _, there := held[m.ReplyTo]; m.Type == mailbox.TypeRuling && !there {
			wrong = append(wrong, fmt.Sprintf("ruling %s answers %s, which the log does not know", m.ID, m.ReplyTo))
		}
	}
	return append(wrong, landings(s)...)
}

// ready is a task that may go on: it waits, or runs.
const ready = "ready"

func readyOr(st lanes.TaskState) string {
	if st == lanes.TaskPending || st == lanes.TaskRunning {
		return ready
	}
	return string(st)
}

func stateIn(task map[lanes.TaskID]string, id lanes.TaskID) string {
	if st := task[id]; st != "" {
		return st
	}
	return ready
}

// taskAfter is what a task is after an event; "" when the event says nothing of it.
func taskAfter(ev lanes.Event) string {
	switch ev.Name {
	case "worker-starting", "task-retried", "task-unblocked":
		return ready
	case "hold-opened", "task-held-again":
		return string(lanes.TaskHeld)
	case "landed":
		return string(lanes.TaskSucceeded)
	}
	if end, ok := strings.CutPrefix(ev.Name, "task-"); ok && lanes.TaskState(end).Ended() {
		return end
	}
	return ""
}

func anyOpen(s state, held map[string]string, id lanes.TaskID) bool {
	for _, h := range s.holds {
		if h.Task == id && held[string(h.ID)] == string(hold.Open) {
			return true
		}
	}
	return false
}

// landings: every merge that the log tells of is a task's, each once.
func landings(s state) (wrong []string) {
	merges := map[lanes.TaskID]string{}
	for _, ev := range s.events {
		if ev.Name == "landed" {
			if merges[ev.Task] != "" {
				wrong = append(wrong, fmt.Sprintf("%s landed twice", ev.Task))
			}
			merges[ev.Task] = ev.Ref
		}
	}
	for _, t := range s.tasks {
		if merges[t.ID] != string(t.Merge) {
			wrong = append(wrong, fmt.Sprintf("%s landed as %q, by the log as %q", t.ID, t.Merge, merges[t.ID]))
		}
	}
	return wrong
}
