package enginetest

import (
	"context"
	"errors"
	"time"

	"ferrox/engine"
	"ferrox/hold"
	"ferrox/lanes"
)

// mutant is a fault put into the engine's surroundings on purpose: histories that do not find it prove nothing.
type mutant string

const (
	sound          mutant = ""
	hideHolds      mutant = "the predicate sees no hold that binds"
	answerUnheard  mutant = "a worker is answered before the commit, which then fails"
	slideDeadlines mutant = "an acknowledgement moves the deadline"
	chargeHolds    mutant = "a run that opened a hold costs budget"
	dropEvents     mutant = "a release is not in the log"
	loseReleases   mutant = "a release is answered and not stored"
)

// mutants, each with the kinds of steps that its histories are made of: what finds it has to be likely, not staged.
var mutants = map[mutant][]kind{
	hideHolds:      {escalate, askAndEnd, finish, finishDeaf, rule, retry},
	answerUnheard:  {escalate, note, ack, rule, askAndEnd},
	slideDeadlines: {askAndEnd, rule, ack, finish},
	chargeHolds:    {escalate, askAndEnd, finish},
	dropEvents:     {askAndEnd, rule, finish},
	loseReleases:   {askAndEnd, rule, finish},
}

func (m mutant) store(s store) engine.Store {
	if m == sound {
		return s
	}
	return mutantStore{s, m}
}

type mutantStore struct {
	store
	m mutant
}

func (s mutantStore) View(ctx context.Context, fn func(engine.Reader) error) error {
	return s.store.View(ctx, func(r engine.Reader) error { return fn(mutantReader{r, s.m}) })
}

func (s mutantStore) Update(ctx context.Context, fn func(engine.Tx) error) error {
	unheard := errors.New("not written")
	err := s.store.Update(ctx, func(tx engine.Tx) error {
		if err := fn(mutantTx{tx, s.m}); err != nil {
			return err
		}
		if s.m == answerUnheard && s.p.role == roleShim && s.p.self.PID%3 == 0 {
			return unheard
		}
		return nil
	})
	if errors.Is(err, unheard) {
		return nil
	}
	return err
}

type mutantReader struct {
	engine.Reader
	m mutant
}

func (r mutantReader) Holds(ctx context.Context, f engine.HoldFilter) ([]hold.Record, error) {
	holds, err := r.Reader.Holds(ctx, f)
	if r.m != hideHolds || f.Task == "" || f.Unresolved {
		return holds, err
	}
	var seen []hold.Record
	for _, h := range holds {
		if !h.Unresolved() {
			seen = append(seen, h)
		}
	}
	return seen, err
}

type mutantTx struct {
	engine.Tx
	m mutant
}

func (t mutantTx) PutHold(ctx context.Context, h hold.Record) (int64, error) {
	if t.m == slideDeadlines && h.Delivery == hold.DeliveryAcknowledged {
		h.Deadline = h.Deadline.Add(time.Second)
	}
	if t.m == loseReleases && h.State == hold.Released && h.Delivery == hold.DeliveryPending {
		return h.Version, nil
	}
	return t.Tx.PutHold(ctx, h)
}

func (t mutantTx) PutTask(ctx context.Context, k lanes.Task) (int64, error) {
	if t.m == chargeHolds && k.State == lanes.TaskHeld {
		k.Spent++
	}
	return t.Tx.PutTask(ctx, k)
}

func (t mutantTx) AppendEvent(ctx context.Context, e lanes.Event) (int64, error) {
	if t.m == dropEvents && e.Name == "hold-released" {
		e.Name = "hold-noted"
	}
	return t.Tx.AppendEvent(ctx, e)
}
