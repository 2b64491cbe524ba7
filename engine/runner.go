package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/oklog/run"

	"ferrox/lanes"
	"ferrox/lanes/settings"
)

// RunOptions says how long an engine stays.
type RunOptions struct {
	NoWait bool            // park as soon as only held work is left
	Signal <-chan struct{} // parks in good order once it delivers
}

// Outcome is how an engine's run of a batch ended.
type Outcome struct {
	Batch lanes.BatchID `json:"batch"`
	Phase lanes.Phase   `json:"phase"`
	Cause lanes.Cause   `json:"pause_cause,omitempty"`
	Exit  int           `json:"exit"`
	Text  string        `json:"text,omitempty"` // what there is to say beyond the phase
}

// runner drives one batch in the process that owns the repository. Its loop is the only scheduler; each task that has
// something to do is driven by one goroutine, and a held task by none.
type runner struct {
	*owner
	id   lanes.BatchID
	opts RunOptions
	set  settings.Settings

	asked   *lanes.Request // the command that is being carried out
	alone   bool           // a command without an engine: nobody drives the batch after it
	merging turn           // one landing at a time
	making  turn           // one worktree at a time: git's own locks fail instead of waiting

	mu      sync.Mutex
	drives  map[lanes.TaskID]*drive
	ending  map[lanes.TaskID]string // tasks whose worker has to go, and why
	stop    string                  // why every worker has to go: "park" or "abort"; "" otherwise
	fault   error                   // what ended the engine
	changed chan struct{}           // a drive ended or something else asks for a look
	noted   chan struct{}           // there may be events to show
	folders []string                // of all packets of the batch, which never change; nil until they were read
	seen    int64                   // last event shown
	clock   shipClockState          // the loop's own
	buried  time.Duration           // the loop's own: when orphans were buried last, monotonic
}

// drive is one task being driven.
type drive struct {
	task lanes.TaskID
	wake chan struct{} // look again
}

// Run owns the repository and drives a batch until it ends or parks. Recovery comes first: what an earlier engine left
// half-done is settled before anything is started.
func (e *Engine) Run(ctx context.Context, id lanes.BatchID, opts RunOptions) (Outcome, error) {
	o, err := e.own(ctx, id)
	if err != nil {
		return Outcome{}, err
	}
	return o.run(ctx, id, opts)
}

func (o *owner) run(ctx context.Context, id lanes.BatchID, opts RunOptions) (out Outcome, err error) {
	r, err := o.newRunner(ctx, id, opts)
	if err != nil {
		return out, errors.Join(err, o.release(ctx, err.Error()))
	}
	var g run.Group
	loopCtx, stop := context.WithCancel(ctx)
	g.Add(func() error {
		out, err = r.loop(loopCtx)
		return err
	}, func(error) { stop() })
	listenCtx, quiet := context.WithCancel(ctx)
	g.Add(func() error { r.listen(listenCtx); return nil }, func(error) { quiet() })
	_ = g.Run()
	why := fmt.Sprintf("exit %d", out.Exit)
	if err != nil {
		why = err.Error()
	}
	return out, errors.Join(err, o.release(ctx, why))
}

func (o *owner) newRunner(ctx context.Context, id lanes.BatchID, opts RunOptions) (*runner, error) {
	b, err := o.BatchOf(ctx, id)
	if err != nil {
		return nil, err
	}
	set, err := settingsOf(b)
	if err != nil {
		return nil, err
	}
	o.pinDemand(b)
	if err := o.publishProgram(); err != nil {
		return nil, err
	}
	return &runner{
		owner: o, id: b.ID, opts: opts, set: set, drives: map[lanes.TaskID]*drive{}, ending: map[lanes.TaskID]string{},
		changed: make(chan struct{}, 1), noted: make(chan struct{}, 1), merging: newTurn(), making: newTurn(),
	}, nil
}

// listen turns doorbell and file events into "look again". Events are hints: the loop also looks by itself.
func (r *runner) listen(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case dir := <-r.Watch.Changed():
			if dir == "" { // the watcher's own poll: the loop has one that asks the store
				r.pokeDrives()
			} else {
				r.poke()
			}
		}
	}
}

// poke asks the loop and every drive to look again.
func (r *runner) poke() {
	nudge(r.changed)
	r.pokeDrives()
}

// pokeDrives asks every drive to look again.
func (r *runner) pokeDrives() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.drives {
		nudge(d.wake)
	}
}

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// commit writes one decision and lets the loop look at what follows.
func (r *runner) commit(ctx context.Context, fn func(Tx) error) error {
	if err := r.owner.update(ctx, fn); err != nil {
		return err
	}
	nudge(r.changed)
	return nil
}

// note is commit for what concerns one driven task alone: it is shown, and the loop need not look at the batch for it.
func (r *runner) note(ctx context.Context, fn func(Tx) error) error {
	if err := r.owner.update(ctx, fn); err != nil {
		return err
	}
	nudge(r.noted)
	return nil
}

// slow is how often the engine looks by itself when no event comes: it bounds every delay that lost events could cause.
const slow = 2 * time.Second
