package enginetest

import (
	"context"
	"errors"
	"fmt"

	"ferrox/engine"
	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/mailbox"
)

// tries is how often somebody says again what a machine did not answer.
const tries = 4

// hear runs a short-lived process to its end, and once more when it was killed or the store could not be written.
func (w *world) hear(r role, verb string, do func(context.Context, *engine.Engine) error) error {
	for range tries {
		p := w.newProc(r, w.outside)
		p.verb = verb
		done := make(chan error, 1)
		go func() { done <- do(p.ctx, p.engine()) }()
		err, ended := w.await(done)
		if !ended {
			w.violate("%s does not come to its end", verb)
			p.kill()
			return errKilled
		}
		p.cancel()
		if p.alive() == nil && !errors.Is(err, engine.ErrDisk) && !errors.Is(err, engine.ErrBusy) {
			return err
		}
		p.kill()
	}
	w.fault.disarm()
	return w.hear(r, verb, do)
}

// await lets time pass until a process has ended.
func (w *world) await(done chan error) (error, bool) {
	w.settle()
	for range 60 {
		select {
		case err := <-done:
			return err, true
		default:
			w.pass(slow)
		}
	}
	return nil, false
}

// heard says how a command was answered. An answer that is neither what was asked for nor a refusal is a fault.
func (w *world) heard(what string, err error) bool {
	var no *engine.Error
	switch {
	case err == nil:
		w.say("   %s", what)
		return true
	case errors.As(err, &no) && no.Exit != engine.ExitFailed:
		w.say("   refused: %s: %s", no.Code, no.Message)
	default:
		w.violate("%s: %v", what, err)
	}
	return false
}

// do has a command carried out.
func (w *world) do(c engine.Command) {
	c.Batch = batchID
	c.RequestID = "do-" + w.newID()
	var done engine.Done
	err := w.hear(roleCommand, c.Verb, func(ctx context.Context, e *engine.Engine) (err error) {
		done, err = e.Do(ctx, c)
		return err
	})
	w.heard(c.Verb+" "+string(c.Task)+": "+done.Result, err)
}

// rule rules on a hold.
func (w *world) rule(h hold.Record, r mailbox.Role, v mailbox.Verdict, text, head string) {
	q := engine.RuleRequest{Role: r, ReplyTo: string(h.ID), Verdict: v, Text: text, Head: head, RequestID: "rule-" + w.newID()}
	var out engine.Ruled
	err := w.hear(roleCommand, "rule", func(ctx context.Context, e *engine.Engine) (err error) {
		out, err = e.Rule(ctx, q)
		return err
	})
	if !w.heard(fmt.Sprintf("%s rules on %s of %s: %s, %s %q", r, short(h.ID), h.Task, out.Result, v, text), err) {
		return
	}
	w.promise(fmt.Sprintf("ruling %s on hold %s: %s %q", out.Ruling, h.ID, v, text), func(s state) bool {
		now, there := s.hold(h.ID)
		return there && now.Ruling == out.Ruling && now.RulingText == text && now.RulingVerdict == v && now.State != hold.Open
	})
}

// refuseRule gives a ruling that has to be refused.
func (w *world) refuseRule(q engine.RuleRequest, why string) {
	before := len(w.look().messages)
	err := w.hear(roleCommand, "rule", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.Rule(ctx, q)
		return err
	})
	var no *engine.Error
	if !errors.As(err, &no) {
		w.violate("%s: answered with %v", why, err)
		return
	}
	w.say("   refused: %s", no.Code)
	if now := w.look(); len(now.messages) > before {
		for _, m := range now.messages[before:] {
			if m.Type == mailbox.TypeRuling {
				w.violate("%s: refused with %s, and ruling %s is there", why, no.Code, m.ID)
			}
		}
	}
}

// extend moves a deadline.
func (w *world) extend(h hold.Record, r mailbox.Role, q engine.ExtendRequest) {
	q.Role, q.ReplyTo, q.RequestID, q.Why = r, string(h.ID), "extend-"+w.newID(), "later"
	err := w.hear(roleCommand, "extend", func(ctx context.Context, e *engine.Engine) error {
		_, err := e.Extend(ctx, q)
		return err
	})
	if !w.heard(fmt.Sprintf("%s extends %s of %s by %v", r, short(h.ID), h.Task, q.By), err) {
		return
	}
	want := h.Deadline.Add(q.By)
	if now, _ := w.look().hold(h.ID); !now.Deadline.Equal(want) {
		w.violate("hold %s was extended by %v to %v, once would be %v", h.ID, q.By, now.Deadline, want)
	}
}

// request carries a worker's request over its shim to the store. The worker says it again until it is answered.
func (w *world) request(k *worker, q engine.WorkerRequest) engine.WorkerAnswer {
	q = k.stamp(q)
	var answer engine.WorkerAnswer
	err := w.hear(roleShim, q.Verb, func(ctx context.Context, e *engine.Engine) (err error) {
		answer, err = e.Answer(ctx, q)
		return err
	})
	if err != nil {
		w.violate("%s: %v", q.Verb, err)
		return answer
	}
	w.say("   the worker of %s: %s %s %q: %s", k.task, q.Verb, q.Gate+short(q.ReplyTo), q.Text, answer.Text)
	w.answered(k, q, answer)
	return answer
}

func (k *worker) stamp(q engine.WorkerRequest) engine.WorkerRequest {
	k.asked++
	q.ID, q.Token = fmt.Sprintf("q%d", k.asked), k.spec.Token
	return q
}

// answered notes what a worker's request was answered with.
func (w *world) answered(k *worker, q engine.WorkerRequest, a engine.WorkerAnswer) {
	if a.Exit != 0 {
		return
	}
	switch q.Verb {
	case "escalate":
		w.promise(fmt.Sprintf("the question %q of %s is hold %s", q.Text, k.task, a.Text), func(s state) bool {
			h, there := s.hold(lanes.HoldID(a.Text))
			return there && h.Task == k.task && contains(h.Question, q.Text)
		})
	case "ack":
		w.promise(fmt.Sprintf("%s has acknowledged %s", k.task, q.ReplyTo), func(s state) bool {
			for _, h := range s.holds {
				if string(h.Ruling) == q.ReplyTo && h.Task == k.task {
					return h.Delivery == hold.DeliveryAcknowledged
				}
			}
			return false
		})
	case "notify":
		w.promise(fmt.Sprintf("%s said %q, once", k.task, q.Text), func(s state) bool {
			n := 0
			for _, m := range s.messages {
				if m.Text == q.Text {
					n++
				}
			}
			return n == 1
		})
	}
}
