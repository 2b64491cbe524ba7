package enginetest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"ferrox/engine/sqlite"
	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/mailbox"
)

// ending is what a history came to.
type ending struct {
	wrong     string
	words     string
	tasks     []string // what became of each task
	questions []string // every question that a worker asked, and its ruling
	phase     lanes.Phase
	hits      int
	outcomes  map[string]int
}

// play runs a history on a machine of its own, from the start of the batch until nothing is left to do.
func play(t *testing.T, template string, h history, m mutant) (end ending) {
	t.Helper()
	dir, err := os.MkdirTemp(scratch(), "history")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	synctest.Test(t, func(t *testing.T) {
		w, err := newWorld(dir, template, h, m)
		if err != nil {
			t.Error(err)
			return
		}
		for i, s := range h.Steps {
			if w.wrong() == "" {
				w.take(i+1, s)
			}
		}
		last := w.finishAll()
		end = w.ending(last)
		if err := w.close(); err != nil {
			t.Error(err)
		}
	})
	return end
}

// scratch is a folder in memory, where there is one: a history flushes its store some hundred times.
func scratch() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return ""
}

// rounds is how often everybody does what is left to do, before the batch has to have come to its end.
const rounds = 40

// finishAll puts everything right: nothing fails any more, every hold is ruled on, every worker hears and does its work.
func (w *world) finishAll() (s state) {
	w.fault.disarm()
	w.repo.mu.Lock()
	w.repo.inUse = ""
	w.repo.mu.Unlock()
	w.say("everything is put right")
	for range rounds {
		s = w.check()
		if w.wrong() != "" || s.batch.Phase.Ended() && !w.up() {
			return s
		}
		if !s.batch.Phase.Ended() {
			w.goOn()
		}
		for _, h := range s.holds {
			if h.State == hold.Open && !s.task(h.Task).State.Ended() {
				w.rule(h, mailbox.RoleOperator, mailbox.VerdictApprove, "go on", "")
			}
		}
		for _, id := range tasks {
			if k := w.workerOf(id); k != nil {
				if err := w.finish(k, false, true); err != nil {
					w.violate("finish: %v", err)
				}
				w.settle()
			}
		}
		w.pass(4 * slow)
		w.again()
	}
	w.violate("the batch does not come to its end: it is %s (%s)", s.batch.Phase, s.batch.Cause)
	return s
}

func (w *world) ending(s state) ending {
	for _, k := range w.workers {
		for _, q := range k.spool {
			w.violate("the question %q in the spool of %s was never read", q.Text, k.task)
		}
	}
	end := ending{wrong: w.wrong(), words: w.words(), phase: s.batch.Phase, hits: w.fault.struck(), outcomes: map[string]int{}}
	for _, t := range s.tasks {
		end.tasks = append(end.tasks, fmt.Sprintf("%s is %s, %d spent", t.ID, t.State, t.Spent))
		end.outcomes["task "+string(t.State)]++
	}
	end.outcomes["batch "+string(s.batch.Phase)]++
	for _, h := range s.holds {
		if h.Run != "" {
			end.questions = append(end.questions, fmt.Sprintf("%s asked %q: %s, %s %q", h.Task, h.Gate, h.State, h.RulingVerdict, h.Delivery))
		}
	}
	slices.Sort(end.questions)
	return end
}

// newTemplate makes an empty store, once: every history begins with a copy.
func newTemplate(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ferrox.db")
	s, err := sqlite.Open(t.Context(), file, sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}
