package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"ferrox/engine/crash"
	"ferrox/hold"
	"ferrox/lanes"
)

// inboxName is the file in a run's folder that FERROX_INBOX names.
const inboxName = "inbox.jsonl"

// inboxFile is where a run's worker finds what it has to know while it lives.
func inboxFile(run *lanes.Run) string { return filepath.Join(run.Dir, inboxName) }

// Carrier brings what is sent to a unit to the live worker of one run. It lives in the worker's shim, so that it works with and
// without an engine.
type Carrier struct {
	engine *Engine
	token  string

	mu    sync.Mutex
	shown []byte          // what the file holds; nil before the first look
	told  map[string]bool // ids that the worker was told of
}

// NewCarrier makes a carrier for the run that a token belongs to.
func NewCarrier(e *Engine, token string) *Carrier { return &Carrier{engine: e, token: token} }

// Carry books undelivered rulings as in flight, and then brings the worker's inbox file up to date. It reports whether there is
// something in it that the worker was not told of before.
func (c *Carrier) Carry(ctx context.Context) (news bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	run, all, err := c.take(ctx)
	if err != nil || run.Dir == "" {
		return false, err
	}
	body, err := letterFile(all)
	if err != nil {
		return false, err
	}
	if err := c.remember(&run); err != nil {
		return false, err
	}
	if !bytes.Equal(body, c.shown) {
		if err := replaceFile(inboxFile(&run), body); err != nil {
			return false, fmt.Errorf("write the inbox of run %s: %w", run.ID, err)
		}
		c.shown = body
	}
	for _, l := range all {
		news = news || !c.told[string(l.ID)]
		c.told[string(l.ID)] = true
	}
	return news, nil
}

// remember reads what the run's worker was given when it was started.
func (c *Carrier) remember(run *lanes.Run) error {
	if c.told != nil {
		return nil
	}
	body, err := os.ReadFile(inboxFile(run))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the inbox of run %s: %w", run.ID, err)
	}
	was, err := parseLetters(body)
	if err != nil {
		was = nil // a file that somebody spoiled says nothing of what was told
	}
	c.told, c.shown = map[string]bool{}, body
	for _, l := range was {
		c.told[string(l.ID)] = true
	}
	return nil
}

// take reads what the worker has to know; the zero run once the run's worker is known to have ended. What it returns is durable.
func (c *Carrier) take(ctx context.Context) (run lanes.Run, all []Letter, err error) {
	var owed []hold.Record
	read := func(r Reader) (err error) {
		run, all, owed, err = c.look(ctx, r)
		return err
	}
	if err := c.engine.Store.View(ctx, read); err != nil || len(owed) == 0 {
		return run, all, err
	}
	err = c.engine.update(ctx, func(tx Tx) error {
		if err := read(tx); err != nil {
			return err
		}
		return c.engine.handOver(ctx, tx, run, owed)
	})
	return run, all, err
}

func (c *Carrier) look(ctx context.Context, r Reader) (run lanes.Run, all []Letter, owed []hold.Record, err error) {
	runs, err := r.Runs(ctx, RunFilter{Token: c.token})
	if err != nil || len(runs) != 1 || runs[0].State != lanes.RunStarting && runs[0].State != lanes.RunRunning {
		return lanes.Run{}, nil, nil, err
	}
	if all, err = lettersFor(ctx, r, runs[0]); err == nil {
		owed, err = owedTo(ctx, r, runs[0])
	}
	return runs[0], all, owed, err
}

// owedTo lists the holds of a run's unit whose ruling this run does not have yet.
func owedTo(ctx context.Context, r Reader, run lanes.Run) ([]hold.Record, error) {
	holds, err := r.Holds(ctx, HoldFilter{Batch: run.Batch, Task: run.Task, Unresolved: true})
	var owed []hold.Record
	for _, h := range undelivered(holds) {
		if h.Delivery != hold.DeliveryInFlight || h.DeliveryRun != run.ID {
			owed = append(owed, h)
		}
	}
	return owed, err
}

// handOver books that a live worker gets the rulings that it does not have yet. Only its acknowledgement resolves their holds; if
// it ends before, they stand in the next prompt.
func (e *Engine) handOver(ctx context.Context, tx Tx, run lanes.Run, owed []hold.Record) error {
	for _, h := range owed {
		next, err := h.DeliverIn(run.ID)
		if err != nil {
			return err
		}
		err = errors.Join(second(tx.PutHold(ctx, next)), e.event(ctx, tx, lanes.Event{
			Batch: h.Batch, Task: h.Task, Lane: h.Lane, Type: "ruling", Name: "ruling-delivered", Ref: string(h.Ruling),
			Text: fmt.Sprintf("to the live worker of run %d, on %s", run.Iteration, aboutHold(h)),
		}))
		if err != nil {
			return err
		}
	}
	return nil
}

// replaceFile writes beside the file and renames: a reader sees the old one or the whole new one.
func replaceFile(name string, body []byte) error {
	defer crash.Around("write " + filepath.Base(name))()
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(body)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

func parseLetters(body []byte) (all []Letter, err error) {
	for line := range strings.Lines(string(body)) {
		var l Letter
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}
