package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ferrox/gates/coord"
	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/lanes/graph"
)

// loop is the scheduler: look, decide, start what may start, wait for a reason to look again.
func (r *runner) loop(ctx context.Context) (Outcome, error) {
	defer r.settle()
	if err := r.recover(ctx); err != nil {
		return Outcome{}, fmt.Errorf("recover batch %s: %w", r.id, err)
	}
	signal := r.opts.Signal
	for {
		version, err := r.Store.DataVersion(ctx)
		if err != nil && ctx.Err() == nil {
			return Outcome{}, err
		}
		out, wake, err := r.step(ctx)
		if ctx.Err() != nil && out == nil {
			return Outcome{Batch: r.id, Phase: lanes.PhaseRunning, Exit: ExitParked}, nil // told a second time: as it is
		}
		if errors.Is(err, ErrConflict) {
			continue // somebody else committed in between: look again
		}
		if err != nil || out != nil {
			return deref(out), errors.Join(err, r.show(ctx))
		}
		if r.rests(ctx, version, wake, signal) {
			signal = nil
			r.halt("park")
		}
		if ctx.Err() != nil {
			return Outcome{Batch: r.id, Phase: lanes.PhaseRunning, Exit: ExitParked}, nil
		}
	}
}

// idle is how long an engine that nothing is due for goes without looking at its records.
const idle = time.Hour

// rests waits until there is a reason to look: something changed, something is due by the wall clock, a signal came (then it
// reports true). In between it looks every now and then only whether anybody has committed, so that waiting costs nothing
// and lost events delay nothing for longer than that.
func (r *runner) rests(ctx context.Context, version int64, wake time.Duration, signal <-chan struct{}) bool {
	due := r.Clock.Now().Add(wake)
	for {
		fire, stop := r.Clock.After(min(slow, max(due.Sub(r.Clock.Now()), time.Millisecond)))
		select {
		case <-r.changed:
			stop()
			return false
		case <-signal:
			stop()
			return true
		case <-ctx.Done():
			stop()
			return false
		case <-fire:
		}
		r.pokeDrives()
		r.buryOrphans()
		now, err := r.Store.DataVersion(ctx)
		if err != nil || now != version || !r.Clock.Now().Before(due) {
			return false
		}
	}
}

// buryOrphans reaps what fell to this process, now and then.
func (r *runner) buryOrphans() {
	if now := r.Clock.Monotonic(); r.buried == 0 || now-r.buried > 30*time.Second {
		r.buried = now
		if _, err := r.Workers.ReapOrphans(); err != nil {
			r.Logger.Debug("bury orphans", "error", err)
		}
	}
}

func deref(o *Outcome) Outcome {
	if o == nil {
		return Outcome{}
	}
	return *o
}

// halt sends every worker home: "park" keeps all as it is, "abort" ends the batch.
func (r *runner) halt(why string) {
	r.mu.Lock()
	if r.stop != "abort" {
		r.stop = why
	}
	r.mu.Unlock()
	r.poke()
}

func (r *runner) halted() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stop
}

// step does everything that can be done now. It returns an outcome when the engine is finished, else how long nothing
// needs a look.
func (r *runner) step(ctx context.Context) (*Outcome, time.Duration, error) {
	s, err := r.look(ctx)
	if err != nil {
		return nil, 0, err
	}
	if err := errors.Join(r.show(ctx), r.faulted()); err != nil {
		return nil, 0, err
	}
	if len(s.requests) > 0 {
		return nil, 0, r.performAll(ctx, s.requests)
	}
	if r.halted() != "" {
		return r.stepHalted(ctx, s)
	}
	if expired, err := r.expire(ctx, s); expired || err != nil {
		return nil, 0, err
	}
	if breached, err := r.breach(ctx, s); breached || err != nil {
		return nil, 0, err
	}
	if held, err := r.rehold(ctx, s); held || err != nil {
		return nil, 0, err
	}
	r.adopt(ctx, s)
	switch {
	case s.batch.Phase == lanes.PhasePaused:
		return nil, idle, nil // taken over: workers go on, nothing else does
	case s.batch.Pausing && r.driving() == 0:
		out, err := r.pause(ctx, s.batch.Cause)
		return out, 0, err
	case s.batch.Pausing:
		return nil, slow, nil
	}
	return r.stepRunning(ctx, s)
}

func (r *runner) stepHalted(ctx context.Context, s snapshot) (*Outcome, time.Duration, error) {
	if r.driving() > 0 {
		return nil, slow, nil
	}
	if r.halted() == "abort" {
		out, err := r.finishAbort(ctx)
		return out, 0, err
	}
	cause := lanes.CauseSignal
	if s.batch.Cause != lanes.CauseNone {
		cause = s.batch.Cause // a person's pause or takeover: a signal is weaker
	}
	out, err := r.pause(ctx, cause)
	return out, 0, err
}

func (r *runner) stepRunning(ctx context.Context, s snapshot) (*Outcome, time.Duration, error) {
	now := r.Clock.Now()
	moves := graph.Schedule(graph.Situation{Tasks: s.tasks, Lanes: s.lanes, Limit: s.batch.LaneLimit, Seams: r.seams(), Now: now})
	if len(moves.Block)+len(moves.Unblock) > 0 {
		return nil, 0, r.block(ctx, moves)
	}
	for _, p := range moves.Start {
		r.start(ctx, p.Task, p.Lane)
	}
	wake := r.goOn(ctx, s, now)
	if !moves.WakeAt.IsZero() {
		wake = min(wake, moves.WakeAt.Sub(now))
	}
	acted, tick, err := r.shipClock(ctx, s)
	if acted || err != nil {
		return nil, 0, err
	}
	wake = min(wake, tick)
	for _, h := range s.holds {
		if h.Open && !h.Expired {
			wake = min(wake, h.Deadline.Sub(now), r.slaLeft(h, now))
		}
	}
	if r.driving() > 0 {
		return nil, max(wake, time.Millisecond), nil
	}
	out, err := r.rest(ctx, s, moves)
	return out, max(wake, time.Millisecond), err
}

// seams is the registry of hot seams that coord.hot-seam-check knows.
func (r *runner) seams() []string {
	registry := coord.RegistryOf(r.set.Coordination).OrDefault()
	return slices.Concat(registry.Seams, registry.SoleWriter)
}

// goOn drives running tasks that nobody drives: their next run is due, or their claim waits to be judged again.
func (r *runner) goOn(ctx context.Context, s snapshot, now time.Time) time.Duration {
	wake := idle
	for _, t := range s.tasks {
		if t.State != lanes.TaskRunning {
			continue
		}
		if wait := t.RetryAt.Sub(now); wait > 0 {
			wake = min(wake, wait)
			continue
		}
		r.start(ctx, t.ID, t.Lane)
	}
	return wake
}

// adopt drives tasks whose worker may be alive, whatever the state of the task: held ones have to fall quiet too.
func (r *runner) adopt(ctx context.Context, s snapshot) {
	for _, run := range s.active {
		if !r.waits(s, run.Task) && (run.State != lanes.RunExited || r.mayJudge(s.batch)) {
			r.start(ctx, run.Task, run.Lane)
		}
	}
}

// waits reports whether a task's claim is to be looked at again only later.
func (r *runner) waits(s snapshot, id lanes.TaskID) bool {
	i := slices.IndexFunc(s.tasks, func(t lanes.Task) bool { return t.ID == id })
	return i >= 0 && s.tasks[i].RetryAt.After(r.Clock.Now())
}

// start drives a task, unless it is being driven.
func (r *runner) start(ctx context.Context, id lanes.TaskID, lane lanes.Number) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.drives[id] != nil {
		return
	}
	d := &drive{task: id, wake: make(chan struct{}, 1)}
	r.drives[id] = d
	go func() { r.finished(ctx, d, r.drive(ctx, d, lane)) }()
}

// finished takes a drive off the list. A lane that broke strands nobody else.
func (r *runner) finished(ctx context.Context, d *drive, err error) {
	if err != nil && !fatal(err) && ctx.Err() == nil && !errors.Is(err, ErrConflict) {
		err = r.giveUp(ctx, d.task, err)
	}
	if errors.Is(err, ErrConflict) {
		err = nil // the record moved on under the drive: whoever moved it decides what follows
	}
	r.mu.Lock()
	if err != nil && ctx.Err() == nil && r.fault == nil {
		r.fault = fmt.Errorf("task %s: %w", d.task, err)
	}
	delete(r.drives, d.task)
	delete(r.ending, d.task)
	r.mu.Unlock()
	nudge(r.changed)
}

func (r *runner) driving() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.drives)
}

func (r *runner) faulted() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fault
}

// settle gives drives a moment to end before the engine lets go. What does not end in time is found again by recovery.
func (r *runner) settle() {
	fire, stop := r.Clock.After(deadline)
	defer stop()
	for r.driving() > 0 {
		select {
		case <-r.changed:
		case <-fire:
			return
		}
	}
}

// show hands every new event of the batch to whoever watches, after its commit.
func (r *runner) show(ctx context.Context) error {
	if r.OnEvent == nil {
		return nil
	}
	var events []lanes.Event
	err := r.Store.View(ctx, func(rd Reader) (err error) {
		events, err = rd.Events(ctx, EventFilter{Batch: r.id, After: r.seen})
		return err
	})
	for _, ev := range events {
		r.seen = ev.Seq
		r.OnEvent(ev)
	}
	return err
}

// block marks tasks that can never start as things stand, and revives those that can again.
func (r *runner) block(ctx context.Context, moves graph.Moves) error {
	return r.commit(ctx, func(tx Tx) error {
		for _, b := range moves.Block {
			if err := r.moveTask(ctx, tx, b.Task, lanes.Block, b.Reasons, "task-blocked", b.Reasons[0].Text); err != nil {
				return err
			}
		}
		for _, id := range moves.Unblock {
			if err := r.moveTask(ctx, tx, id, lanes.Unblock, nil, "task-unblocked", "what it depends on was revived"); err != nil {
				return err
			}
		}
		return nil
	})
}

// moveTask moves one task through its machine, with an event.
func (r *runner) moveTask(ctx context.Context, tx Tx, id lanes.TaskID, in lanes.Input, why []lanes.Reason, name, text string) error {
	t, err := tx.Task(ctx, r.id, id)
	if err != nil {
		return err
	}
	if t.State, err = t.State.Fire(in); err != nil {
		return err
	}
	t.Reasons = why
	if t.State.Ended() {
		t.EndedAt = r.Clock.Now()
	}
	if _, err := tx.PutTask(ctx, t); err != nil {
		return err
	}
	return r.event(ctx, tx, lanes.Event{Batch: r.id, Type: "task", Task: id, Lane: t.Lane, Name: name, Text: text})
}

// expire marks holds whose deadline has passed and parks their lanes. The hold is read again in the transaction: a ruling
// that is in the store by then wins.
func (r *runner) expire(ctx context.Context, s snapshot) (bool, error) {
	now, any := r.Clock.Now(), false
	for _, h := range s.holds {
		if !h.Open || h.Expired || now.Before(h.Deadline) {
			continue
		}
		any = true
		if err := r.expireOne(ctx, h.ID, now); err != nil {
			return any, err
		}
	}
	return any, nil
}

func (r *runner) expireOne(ctx context.Context, id lanes.HoldID, now time.Time) error {
	return r.commit(ctx, func(tx Tx) error {
		h, err := tx.Hold(ctx, id)
		if err != nil {
			return err
		}
		next, expired := h.Expire(now)
		if !expired {
			return nil
		}
		if _, err := tx.PutHold(ctx, next); err != nil {
			return err
		}
		if err := r.parkLane(ctx, tx, next); err != nil {
			return err
		}
		return r.event(ctx, tx, lanes.Event{
			Batch: r.id, Type: "hold", Task: h.Task, Lane: h.Lane, Ref: string(id), Name: "hold-expired",
			Text: "no ruling by " + stamp(h.Deadline) + "; the lane is parked and nothing is approved",
		})
	})
}

// parkLane gives the slot of a quiet held lane back. A lane whose worker is alive parks when it has ended.
func (r *runner) parkLane(ctx context.Context, tx Tx, h hold.Record) error {
	l, err := tx.Lane(ctx, h.Batch, h.Lane)
	if err != nil || l.Task != h.Task || l.State != lanes.LaneHeld {
		return err
	}
	if l.State, err = l.State.Fire(lanes.Park); err != nil {
		return err
	}
	return second(tx.PutLane(ctx, l))
}

// rest decides what an engine without anything to drive does: wait, park, or end the batch.
func (r *runner) rest(ctx context.Context, s snapshot, moves graph.Moves) (*Outcome, error) {
	var cause lanes.Cause
	switch open, waiting := r.heldAndParked(s), waitingClaims(s); {
	case !moves.WakeAt.IsZero() || running(s) > waiting:
		return nil, nil // a run is due
	case open.held > 0 && !r.opts.NoWait:
		return nil, nil
	case waiting > 0 && (r.opts.NoWait || movedAway(s)):
		cause = lanes.CauseMergeFailure
	case waiting > 0:
		return nil, nil
	case open.held > 0:
		cause = lanes.CauseHeld
	case open.parked > 0:
		cause = lanes.CauseHoldTimeout
	case len(s.holds) > 0:
		cause = lanes.CauseUnresolved
	default:
		return r.end(ctx, s)
	}
	return r.pause(ctx, cause, s.tasks...)
}

type openCount struct{ held, parked int }

// heldAndParked counts held tasks by whether their lane still has its slot.
func (r *runner) heldAndParked(s snapshot) (n openCount) {
	for _, t := range s.tasks {
		if t.State != lanes.TaskHeld {
			continue
		}
		i := slices.IndexFunc(s.lanes, func(l lanes.Lane) bool { return l.Number == t.Lane })
		if i >= 0 && s.lanes[i].State == lanes.LaneParked {
			n.parked++
		} else {
			n.held++
		}
	}
	return n
}

// waitingClaims counts tasks whose claim stands and could not be landed yet.
func waitingClaims(s snapshot) (n int) {
	for _, t := range s.tasks {
		if t.State == lanes.TaskRunning && len(t.Reasons) > 0 && t.Reasons[0].Clears == clearsIntegration {
			n++
		}
	}
	return n
}

func running(s snapshot) (n int) {
	for _, t := range s.tasks {
		if t.State == lanes.TaskRunning {
			n++
		}
	}
	return n
}

// movedAway reports whether a claim waits for an integration branch that was moved in a way that cannot be followed.
func movedAway(s snapshot) bool {
	return slices.ContainsFunc(s.tasks, func(t lanes.Task) bool {
		return t.State == lanes.TaskRunning && slices.ContainsFunc(t.Reasons, func(re lanes.Reason) bool { return re.Code == lanes.CodeIntegrationMoved })
	})
}

// pause parks the batch: everything stays as it is. The tasks that the decision was made on have to be as they were: a
// ruling that was committed since goes on instead, as its author was told.
func (r *runner) pause(ctx context.Context, cause lanes.Cause, seen ...lanes.Task) (*Outcome, error) {
	err := r.commit(ctx, func(tx Tx) error {
		for _, was := range seen {
			if t, err := tx.Task(ctx, r.id, was.ID); err != nil || t.Version != was.Version {
				return errors.Join(err, ErrConflict)
			}
		}
		b, err := tx.Batch(ctx, r.id)
		if err != nil {
			return err
		}
		b.Phase, b.Cause, b.Pausing = lanes.PhasePaused, cause, false
		if _, err := tx.PutBatch(ctx, b); err != nil {
			return err
		}
		return r.event(ctx, tx, lanes.Event{Batch: r.id, Type: "engine", Name: "paused", Ref: string(cause), Text: "parked in good order: " + string(cause)})
	})
	return &Outcome{Batch: r.id, Phase: lanes.PhasePaused, Cause: cause, Exit: ExitParked}, err
}

// end closes a batch in which nothing can happen any more.
func (r *runner) end(ctx context.Context, s snapshot) (*Outcome, error) {
	out := Outcome{Batch: r.id, Phase: lanes.PhaseCompleted, Exit: ExitDone}
	landed := 0
	for _, t := range s.tasks {
		switch t.State {
		case lanes.TaskSucceeded:
			landed++
		case lanes.TaskSkipped:
		case lanes.TaskPending, lanes.TaskRunning, lanes.TaskHeld, lanes.TaskStalled, lanes.TaskFailed, lanes.TaskBlocked:
			out.Phase, out.Exit = lanes.PhaseFailed, ExitFailed
		}
	}
	err := r.commit(ctx, func(tx Tx) error {
		b, err := tx.Batch(ctx, r.id)
		if err != nil {
			return err
		}
		b.Phase, b.Cause, b.EndedAt = out.Phase, "", r.Clock.Now()
		if _, err := tx.PutBatch(ctx, b); err != nil {
			return err
		}
		if err := r.closeLanes(ctx, tx); err != nil {
			return err
		}
		return r.event(ctx, tx, lanes.Event{
			Batch: r.id, Type: "engine", Name: "ended", Ref: string(out.Phase),
			Text: fmt.Sprintf("%d of %d tasks are in %s", landed, len(s.tasks), b.Integration),
		})
	})
	return &out, err
}

func (r *runner) closeLanes(ctx context.Context, tx Tx) error {
	ls, err := tx.Lanes(ctx, r.id)
	if err != nil {
		return err
	}
	for _, l := range ls {
		if l.State != lanes.LaneIdle {
			continue
		}
		if l.State, err = l.State.Fire(lanes.Close); err != nil {
			return err
		}
		if _, err := tx.PutLane(ctx, l); err != nil {
			return err
		}
	}
	return nil
}
