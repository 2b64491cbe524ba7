package enginetest

import (
	"context"
	"errors"

	"ferrox/engine"
	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/mailbox"
)

// state is everything that the store has, from one snapshot.
type state struct {
	batch    lanes.Batch
	tasks    []lanes.Task
	lanes    []lanes.Lane
	runs     []lanes.Run
	holds    []hold.Record
	messages []mailbox.Message
	events   []lanes.Event
}

func (w *world) look() (s state) {
	ctx := context.Background()
	err := w.outside.View(ctx, func(r engine.Reader) error {
		var errs [7]error
		s.batch, errs[0] = r.Batch(ctx, batchID)
		s.tasks, errs[1] = r.Tasks(ctx, batchID)
		s.lanes, errs[2] = r.Lanes(ctx, batchID)
		s.runs, errs[3] = r.Runs(ctx, engine.RunFilter{Batch: batchID})
		s.holds, errs[4] = r.Holds(ctx, engine.HoldFilter{Batch: batchID})
		s.messages, errs[5] = r.Messages(ctx, engine.MessageFilter{Batch: batchID})
		s.events, errs[6] = r.Events(ctx, engine.EventFilter{Batch: batchID})
		return errors.Join(errs[:]...)
	})
	if err != nil {
		w.violate("read the store: %v", err)
	}
	return s
}

func (w *world) holdsOf(ctx context.Context, id lanes.TaskID) (holds []hold.Record, err error) {
	err = w.outside.View(ctx, func(r engine.Reader) error {
		holds, err = r.Holds(ctx, engine.HoldFilter{Batch: batchID, Task: id})
		return err
	})
	return holds, err
}

func (s state) task(id lanes.TaskID) lanes.Task {
	for _, t := range s.tasks {
		if t.ID == id {
			return t
		}
	}
	return lanes.Task{}
}

func (s state) hold(id lanes.HoldID) (hold.Record, bool) {
	for _, h := range s.holds {
		if h.ID == id {
			return h, true
		}
	}
	return hold.Record{}, false
}

// promise is something that was answered: it is so for ever.
type promise struct {
	what string
	kept func(state) bool
}

func (w *world) promise(what string, kept func(state) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.promises = append(w.promises, promise{what, kept})
}

// check looks at everything that has to be so whenever all rest.
func (w *world) check() state {
	s := w.look()
	for _, p := range w.promises {
		if !p.kept(s) {
			w.violate("it was answered, and is not so: %s", p.what)
		}
	}
	w.checkOnce(s)
	w.checkHeld(s)
	for _, why := range replay(s) {
		w.violate("the log says otherwise: %s", why)
	}
	return s
}

// checkOnce: nothing that was said is there twice.
func (w *world) checkOnce(s state) {
	said := map[string]lanes.MessageID{}
	for _, m := range s.messages {
		key := string(m.Type) + " " + m.ReplyTo + " " + m.Text
		if m.Type != mailbox.TypeEscalate && m.ReplyTo != "" {
			key = string(m.Type) + " " + m.ReplyTo // one ruling a hold, one acknowledgement a ruling
		}
		if other := said[key]; other != "" && m.Role != mailbox.RoleEngine {
			w.violate("messages %s and %s are the same: %s", other, m.ID, key)
		}
		said[key] = m.ID
	}
}

// checkHeld: a task with an open hold is held, or was given up with it; one that landed has none that binds.
func (w *world) checkHeld(s state) {
	for _, h := range s.holds {
		t := s.task(h.Task)
		if h.Unresolved() && t.State == lanes.TaskSucceeded {
			w.violate("%s has landed over hold %s, which is %s, delivery %s", t.ID, h.ID, h.State, h.Delivery)
		}
		if h.State == hold.Open && !t.State.Ended() && t.State != lanes.TaskHeld {
			w.violate("%s is %s, and its hold %s is open", t.ID, t.State, h.ID)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	lane := map[string]bool{}
	for _, k := range w.workers {
		if k.alive() && lane[k.spec.LaneLock] {
			w.violateLocked("two workers are alive in the lane of %s", k.task)
		}
		lane[k.spec.LaneLock] = lane[k.spec.LaneLock] || k.alive()
	}
}
