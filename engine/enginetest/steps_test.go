package enginetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ferrox/engine"
	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/mailbox"
)

// take does one step, and lets everybody come to rest after it.
func (w *world) take(n int, s step) state {
	w.say("%d. %s %d %d %d", n, s.Kind, s.A, s.B, s.C)
	switch id := tasks[s.A%len(tasks)]; {
	case w.byPerson(s, id), w.byMachine(s):
	default:
		if k := w.workerOf(id); k != nil {
			if err := w.byWorker(k, s); err != nil {
				w.violate("%s: %v", s.Kind, err)
			}
		}
	}
	w.settle()
	w.again()
	w.pass(2 * slow)
	w.again()
	return w.check()
}

// again starts the engine anew when it was killed or ended by a fault. One that ends for any other reason has to say so by
// its outcome.
func (w *world) again() {
	for range tries {
		p := w.running
		if w.up() && p.broken.Load() {
			w.violate("the engine stays although its store could not be written")
		}
		if w.up() {
			return
		}
		switch {
		case p.alive() == nil && p.err == nil:
			return // parked, or the batch has ended
		case p.alive() == nil && refused(p.err):
			return
		case w.fault.struck() == w.excused:
			w.violate("the engine ends: %v", p.err)
			return
		}
		w.excused = w.fault.struck()
		w.say("   the engine starts again (it ended with: %v)", p.err)
		w.resume()
	}
	w.fault.disarm()
	w.resume()
}

// refused reports whether a resume was answered, and not cut short.
func refused(err error) bool {
	var no *engine.Error
	return errors.As(err, &no) && no.Exit != engine.ExitFailed
}

func (w *world) byWorker(k *worker, s step) error {
	text := fmt.Sprintf("%s %d", s.Kind, w.stamp())
	ok, killed := engine.WorkerExit{}, engine.WorkerExit{Code: -1, Signal: "SIGKILL"}
	switch s.Kind {
	case finish:
		return w.finish(k, s.B%3 == 0, true)
	case finishDeaf:
		return w.finish(k, s.B%3 == 0, false)
	case claimEarly:
		defer k.end(w, ok)
		return k.claim()
	case claimStay:
		if err := k.tick(); err != nil {
			return err
		}
		return k.claim()
	case work:
		defer k.end(w, ok)
		if err := k.write("src/"+string(k.task)+".txt", text); err != nil {
			return err
		}
		return k.commit(w, text)
	case idleOut:
		k.end(w, ok)
	case crashOut:
		k.end(w, killed)
	case loseShim:
		k.end(w, engine.WorkerExit{Lost: true})
	case escalate, askAndEnd:
		gate := []string{"", "wording", "merge-conflict", "scope"}[s.B%4]
		w.request(k, engine.WorkerRequest{Verb: "escalate", Gate: gate, Text: text, Reserve: []string{"", "", "operator"}[s.C%3]})
		if s.Kind == askAndEnd {
			k.end(w, ok)
		}
	case askAgain:
		if h, there := w.pickHold(s.B, func(h hold.Record) bool { return h.Task == k.task && h.Gate != "merge-conflict" }); there {
			w.request(k, engine.WorkerRequest{Verb: "escalate", Gate: h.Gate, Text: h.Question})
		}
	case spool:
		k.spool = append(k.spool, k.stamp(engine.WorkerRequest{Verb: "escalate", Gate: []string{"", "spooled"}[s.B%2], Text: text}))
	case ack:
		w.ackAll(k, 1+s.B%2)
	case ackWrong:
		w.ackWrong(k, s)
	case note:
		w.request(k, engine.WorkerRequest{Verb: "notify", Text: text})
	}
	return nil
}

// stamp is a number that no text had before.
func (w *world) stamp() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ids++
	return w.ids
}

// finish does a task's work and claims it. It has heard its rulings, or is deaf.
func (w *world) finish(k *worker, shared, hears bool) error {
	if hears {
		w.ackAll(k, len(w.look().holds))
	}
	if !k.alive() {
		return nil // sent home meanwhile
	}
	path := "src/" + string(k.task) + ".txt"
	if shared {
		path = "shared.txt"
	}
	defer k.end(w, engine.WorkerExit{})
	for _, do := range []func() error{
		func() error { return k.write(path, "by "+string(k.task)+"\n") },
		func() error { return k.commit(w, "Do "+string(k.task)) },
		func() error { return k.catchUp(w) }, k.tick, k.claim,
	} {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// ackAll acknowledges rulings that the worker's task has and that are not acknowledged, up to a number.
func (w *world) ackAll(k *worker, most int) {
	for _, h := range w.look().holds {
		if h.Task == k.task && h.State == hold.Released && h.Unresolved() && most > 0 && k.alive() {
			most--
			w.request(k, engine.WorkerRequest{Verb: "ack", ReplyTo: string(h.Ruling), Text: "understood"})
		}
	}
}

// ackWrong acknowledges another task's ruling, or one that nobody gave: that has to be refused.
func (w *world) ackWrong(k *worker, s step) {
	id := "99999999999999999999999999"
	if h, there := w.pickHold(s.B, func(h hold.Record) bool { return h.Task != k.task && h.Ruling != "" }); there {
		id = string(h.Ruling)
	}
	if a := w.request(k, engine.WorkerRequest{Verb: "ack", ReplyTo: id}); a.Exit == 0 {
		w.violate("the worker of %s acknowledges %s, which is no ruling on it", k.task, id)
	}
}

// byPerson does what people do. It reports whether the step is one of theirs.
func (w *world) byPerson(s step, id lanes.TaskID) bool {
	r := []mailbox.Role{mailbox.RoleOperator, mailbox.RoleSupervisor, mailbox.RoleOperator}[s.B%3]
	switch s.Kind {
	case rule, ruleAgain, ruleOther, ruleWrong, ruleStale, extend:
		w.byRuler(s, r)
	case pause, takeover, abort:
		w.do(engine.Command{Verb: string(s.Kind), Why: "because"})
	case retry, skip, mergeNow:
		w.do(engine.Command{Verb: string(s.Kind), Task: id, Why: "because"})
	case park:
		if w.up() {
			w.running.signal <- struct{}{}
		}
	case resume:
		w.goOn()
	default:
		return false
	}
	return true
}

// goOn resumes: a live engine is told to go on.
func (w *world) goOn() {
	if !w.up() {
		w.resume()
		return
	}
	b := w.look().batch
	if b.Phase == lanes.PhasePaused || b.Pausing {
		w.do(engine.Command{Verb: "unpause"})
	}
}

func (w *world) byRuler(s step, r mailbox.Role) {
	open := func(h hold.Record) bool { return h.State == hold.Open }
	ruled := func(h hold.Record) bool { return h.State == hold.Released }
	verdict := []mailbox.Verdict{mailbox.VerdictNone, mailbox.VerdictApprove, mailbox.VerdictFix, mailbox.VerdictReject}[s.C%4]
	switch s.Kind {
	case rule:
		if h, there := w.pickHold(s.A, open); there {
			w.rule(h, r, verdict, fmt.Sprintf("ruling %d", w.stamp()), "")
		}
	case ruleAgain:
		if h, there := w.pickHold(s.A, ruled); there {
			w.rule(h, h.RulingRole, h.RulingVerdict, h.RulingText, string(h.RulingHead))
		}
	case ruleOther:
		if h, there := w.pickHold(s.A, ruled); there {
			w.refuseRule(engine.RuleRequest{Role: h.RulingRole, ReplyTo: string(h.ID), Text: fmt.Sprintf("other %d", w.stamp())}, "another ruling")
		}
	case ruleWrong:
		w.ruleWrong(s, r)
	case ruleStale:
		if h, there := w.pickHold(s.A, open); there && w.moved(h) {
			w.refuseRule(engine.RuleRequest{Role: mailbox.RoleOperator, ReplyTo: string(h.ID), Text: "stale", Head: "main"}, "a stale ruling")
		}
	case extend:
		if h, there := w.pickHold(s.A, open); there {
			w.extend(h, mailbox.RoleOperator, engine.ExtendRequest{By: time.Duration(s.C-3) * time.Hour})
		}
	}
}

func (w *world) ruleWrong(s step, r mailbox.Role) {
	h, there := w.pickHold(s.A, func(h hold.Record) bool { return h.State == hold.Open })
	q := engine.RuleRequest{Role: r, ReplyTo: string(h.ID), Text: "go on"}
	switch s.C % 5 {
	case 0:
		q.Role = mailbox.RoleWorker
	case 1:
		q.Role = mailbox.RoleUnknown
	case 2:
		q.ReplyTo = ""
	case 3:
		q.ReplyTo = "77777777777777777777777777"
	case 4:
		q.Text = "  "
		there = there || q.ReplyTo == ""
	}
	if there || s.C%5 < 4 {
		w.refuseRule(q, "a wrong ruling")
	}
}

// moved reports whether a hold's lane stands elsewhere than main.
func (w *world) moved(h hold.Record) bool {
	w.repo.mu.Lock()
	defer w.repo.mu.Unlock()
	return w.repo.branches[fmt.Sprintf("ferrox/x/lane-%d", h.Lane)] != w.repo.branches["main"]
}

// pickHold picks one of the holds that fit.
func (w *world) pickHold(n int, fits func(hold.Record) bool) (hold.Record, bool) {
	found := slices.DeleteFunc(w.look().holds, func(h hold.Record) bool { return !fits(h) })
	if len(found) == 0 {
		return hold.Record{}, false
	}
	return found[n%len(found)], true
}

// byMachine does what befalls a machine. It reports whether the step is one of these.
func (w *world) byMachine(s step) bool {
	switch s.Kind {
	case hours:
		w.clock.set(time.Duration(1+3*s.A) * time.Hour)
	case clockBack:
		w.clock.set(-time.Duration(1+s.A) * time.Hour / 2)
	case deadlines:
		w.clock.set(5 * time.Hour)
	case nothing:
	case wait:
		w.pass(time.Duration(10+10*s.A) * time.Second)
	case useBranch:
		w.repo.mu.Lock()
		w.repo.inUse = map[bool]string{true: integration}[w.repo.inUse == ""]
		w.repo.mu.Unlock()
	case killEngine:
		w.fault.arm(roleEngine, faultKill, s.A+12*(s.B%3), 1)
	case killShim:
		w.fault.arm(roleShim, faultKill, s.A%3, 1)
	case killCommand:
		w.fault.arm(roleCommand, faultKill, s.A%6, 1)
	case diskFull:
		w.fault.arm([]role{roleEngine, roleShim, roleCommand}[s.B%3], faultFull, s.A%8, 1+s.C%3)
	case locked:
		w.fault.arm([]role{roleEngine, roleShim, roleCommand}[s.B%3], faultLocked, s.A%8, 1+s.C%3)
	default:
		return false
	}
	return true
}

func short[T ~string](id T) string { return strings.TrimLeft(string(id), "0") }

func contains(text, part string) bool { return strings.Contains(text, part) }
