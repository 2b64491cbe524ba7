package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"ferrox/gates"
	"ferrox/gates/halting"
	"ferrox/gates/strength"
	"ferrox/lanes"
	"ferrox/lanes/settings"
)

// landingData is what a landing's event carries beside its text.
type landingData struct {
	Coverage *coverageDelta `json:"coverage,omitempty"`
}

type coverageDelta struct {
	Before   int                    `json:"before"`
	After    int                    `json:"after"`
	Decision halting.CoverageAnswer `json:"decision"`
}

// coverage counts the covered requirements at a commit, where the settings name a file that lanes can change.
func (r *runner) coverage(ctx context.Context, at lanes.Commit) (strength.Coverage, bool, error) {
	path := r.set.Strength.RequirementsPath
	if path == settings.Default().Strength.RequirementsPath {
		return strength.Coverage{}, false, nil
	}
	entries, err := r.Git.Tree(ctx, at, path)
	if err != nil {
		return strength.Coverage{}, false, fmt.Errorf("read %s: %w", path, err)
	}
	for _, e := range entries {
		if e.Path != path {
			continue
		}
		blobs, err := r.Git.Blobs(ctx, []string{e.OID})
		if err != nil {
			return strength.Coverage{}, false, fmt.Errorf("read %s: %w", path, err)
		}
		return strength.CountRequirements(blobs[0]), true, nil
	}
	return strength.Coverage{}, true, nil
}

// coverageOf asks coverage.delta about one landing. A landing that advances nothing stays landed; it does not turn the
// ship clock back.
func (r *runner) coverageOf(ctx context.Context, i landIntent) (*coverageDelta, error) {
	before, named, err := r.coverage(ctx, i.Old)
	if err != nil || !named {
		return nil, err
	}
	after, _, err := r.coverage(ctx, i.New)
	if err != nil {
		return nil, err
	}
	d := halting.CoverageDelta(float64(before.Covered), float64(after.Covered))
	return &coverageDelta{Before: before.Covered, After: after.Covered, Decision: d.Decision}, nil
}

// noteAdvance notes when the last landing advanced the coverage; without a coverage source every landing does.
func (r *runner) noteAdvance(ctx context.Context, created time.Time) error {
	if r.clock.last.IsZero() {
		r.clock.last = created
	}
	var events []lanes.Event
	err := r.Store.View(ctx, func(rd Reader) (err error) {
		events, err = rd.Events(ctx, EventFilter{Batch: r.id, Names: []string{"landed"}, After: r.clock.read})
		return err
	})
	for _, ev := range events {
		r.clock.read = ev.Seq
		var data landingData
		if ev.Data != "" && json.Unmarshal([]byte(ev.Data), &data) != nil {
			continue
		}
		if data.Coverage == nil || data.Coverage.Decision == halting.CoverageLanded {
			r.clock.last = ev.At
		}
	}
	return err
}

// shipClock asks ship-clock.check while work is left. RED is announced once for every stretch without an advance, and
// descopes where the settings say so. It returns how long until it has to be asked again.
func (r *runner) shipClock(ctx context.Context, s snapshot) (acted bool, wake time.Duration, err error) {
	if !s.workLeft {
		return false, idle, nil
	}
	if r.clock.landed != s.landed || r.clock.last.IsZero() {
		if err := r.noteAdvance(ctx, s.batch.CreatedAt); err != nil {
			return false, 0, err
		}
		r.clock.landed = s.landed
	}
	budget, now := r.set.Halting.ShipClockSeconds, r.Clock.Now()
	d := halting.CheckShipClock(budget, millis(r.clock.last), millis(now))
	if d.Decision == halting.ShipGreen {
		left := time.Duration(budget*float64(time.Second)) - now.Sub(r.clock.last)
		return false, max(left, time.Millisecond), nil
	}
	if !r.clock.red.Equal(r.clock.last) {
		if err := r.announceRed(ctx, now); err != nil {
			return false, 0, err
		}
		r.clock.red = r.clock.last
	}
	if r.set.Runner.OnRed != "descope" {
		return false, idle, nil
	}
	acted, err = r.descope(ctx, s)
	return acted, idle, err
}

// shipClockState is what the engine remembers of the ship clock between two looks; all of it is found again in the log.
type shipClockState struct {
	landed int
	last   time.Time // last advance
	read   int64     // the newest landing's event that was looked at
	red    time.Time // the advance since which RED was announced
}

// announceRed says once that the clock is red, in the log and in the run-log.
func (r *runner) announceRed(ctx context.Context, now time.Time) error {
	ref := stamp(r.clock.last)
	known := false
	err := r.commit(ctx, func(tx Tx) error {
		events, err := tx.Events(ctx, EventFilter{Batch: r.id})
		if err != nil {
			return err
		}
		for _, ev := range events {
			known = known || ev.Name == "ship-clock-red" && ev.Ref == ref
		}
		if known {
			return nil
		}
		next := "ferrox skip TASK --why TEXT descopes by hand"
		if r.set.Runner.OnRed == "descope" {
			next = "what passes is landed, the rest is filed"
		}
		return r.event(ctx, tx, lanes.Event{
			Batch: r.id, Type: "engine", Name: "ship-clock-red", Ref: ref, Text: "nothing has advanced since " + ref + "; " + next,
		})
	})
	if err != nil || known {
		return err
	}
	return r.Planning.Log(ctx, halting.RedEntry(string(r.id), millis(now)))
}

// descope lands what already passes and leaves the rest to the backlog: running workers go home and their lanes are judged
// for what passes, tasks that have not started are filed. Held tasks stay held: nothing lands past a hold.
func (r *runner) descope(ctx context.Context, s snapshot) (bool, error) {
	acted := false
	for _, t := range s.tasks {
		switch t.State {
		case lanes.TaskRunning:
			if r.endingWhy(t.ID) == "" {
				r.sendHome(t.ID, endDescope)
				acted = true
			}
		case lanes.TaskPending:
			if err := r.fileUnstarted(ctx, t.ID); err != nil {
				return acted, err
			}
			acted = true
		case lanes.TaskHeld, lanes.TaskStalled, lanes.TaskSkipped, lanes.TaskFailed, lanes.TaskSucceeded, lanes.TaskBlocked:
		}
	}
	return acted, nil
}

// endDescope marks workers that go home because the ship clock is red.
const endDescope = "descope"

func descoped(t lanes.Task) lanes.Reason {
	return lanes.Reason{
		Code: lanes.CodeCapFired, Ref: "ship-clock", Clears: "operator", Next: "ferrox retry " + string(t.ID),
		Text: "the ship clock is red: descoped and filed in the backlog",
	}
}

func (r *runner) fileUnstarted(ctx context.Context, id lanes.TaskID) error {
	err := r.commit(ctx, func(tx Tx) error {
		u, err := unitOf(ctx, tx, r.id, id)
		if err != nil || u.task.State != lanes.TaskPending {
			return err
		}
		return errors.Join(r.oweBacklogOnce(ctx, tx, u.task), r.endTaskTx(ctx, tx, u.task, lanes.Stall, []lanes.Reason{descoped(u.task)}))
	})
	if err != nil {
		return err
	}
	return r.fileBacklog(ctx, backlogKey(r.id, id))
}

// oweBacklogOnce files a whole task, unless it was filed before.
func (r *runner) oweBacklogOnce(ctx context.Context, tx Tx, t lanes.Task) error {
	_, err := tx.Effect(ctx, backlogKey(r.id, t.ID))
	if errors.Is(err, ErrNotFound) {
		return r.oweBacklog(ctx, tx, t, nil)
	}
	return err
}

// judgeDescoped lands what passes of a task whose worker was sent home by the ship clock, or files all of it.
func (r *runner) judgeDescoped(ctx context.Context, u unit) error {
	path := gates.PathShip
	if id, err := claimIdentity(u.claimFile()); err == nil && id != "" {
		path = gates.PathClaim
	}
	v, err := r.land(ctx, path, u)
	if err != nil || v.landed {
		return errors.Join(err, r.fileBacklog(ctx, backlogKey(r.id, u.task.ID)))
	}
	err = r.commit(ctx, func(tx Tx) error {
		fresh, err := unitOf(ctx, tx, r.id, u.task.ID)
		if err != nil {
			return err
		}
		if err := r.closeRunTx(ctx, tx, fresh, v.tree.Head, "descoped"); err != nil {
			return err
		}
		if fresh.task.State == lanes.TaskHeld {
			return r.restLane(ctx, tx, fresh.task)
		}
		reasons := append([]lanes.Reason{descoped(fresh.task)}, v.reasons...)
		return errors.Join(r.oweBacklogOnce(ctx, tx, fresh.task), r.endTaskTx(ctx, tx, fresh.task, lanes.Stall, reasons))
	})
	if err != nil {
		return err
	}
	return r.fileBacklog(ctx, backlogKey(r.id, u.task.ID))
}
