package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"ferrox/lanes"
)

// lastNumber is the highest number of a lane of the batch that git has a branch of, or the lanes' folder an entry: a store
// that was restored from an older backup does not know all of them, and what they hold is nobody else's to work on.
// A task that has its lane, or is to have an idle one, needs no number.
func (r *runner) lastNumber(ctx context.Context, u unit, want lanes.Number) (last lanes.Number, err error) {
	if r.isIdle(ctx, want) {
		return 0, nil
	}
	b := u.batch
	branches, err := r.Git.BranchesUnder(ctx, "ferrox/"+string(b.ID))
	if err != nil {
		return 0, fmt.Errorf("look for the number of a fresh lane: %w", err)
	}
	for name := range branches {
		last = max(last, numberOf(strings.TrimPrefix(name, "ferrox/"+string(b.ID)+"/")))
	}
	entries, err := os.ReadDir(b.LanesDir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("look for the number of a fresh lane: %w", err)
	}
	for _, e := range entries {
		last = max(last, numberOf(e.Name()))
	}
	return last, nil
}

func (r *runner) isIdle(ctx context.Context, n lanes.Number) (idle bool) {
	_ = r.Store.View(ctx, func(rd Reader) error {
		l, err := rd.Lane(ctx, r.id, n)
		idle = err == nil && l.State == lanes.LaneIdle
		return nil
	})
	return idle
}

// numberOf reads the number of a lane from its name, lane-7 or lane-7/x; 0 when it is none.
func numberOf(name string) lanes.Number {
	digits, ok := strings.CutPrefix(name, "lane-")
	digits, _, _ = strings.Cut(digits, "/")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 0 {
		return 0
	}
	return lanes.Number(n)
}

// usedBefore reports whether the lane is new to the task, and other tasks worked in it.
func (r *runner) usedBefore(ctx context.Context, u unit) (bool, error) {
	if u.runs > 0 {
		return false, nil
	}
	var runs []lanes.Run
	err := r.Store.View(ctx, func(rd Reader) (err error) {
		runs, err = rd.Runs(ctx, RunFilter{Batch: r.id, Lane: u.lane.Number})
		return err
	})
	return len(runs) > 0, err
}

// spoilt reports whether a lane that was used before cannot be brought to where its next task starts. What ends the engine,
// and a set-up that failed, are no fault of the lane.
func spoilt(ctx context.Context, u unit, tree WorktreeStatus, above bool, err error) bool {
	var setup *setupError
	if err != nil {
		return ctx.Err() == nil && !fatal(err) && !errors.As(err, &setup)
	}
	return tree.Head == "" || tree.Branch != u.lane.Branch || !above
}

// setLaneAside closes a lane to all tasks and leaves it as it is. Its task is free for a fresh lane.
func (r *runner) setLaneAside(ctx context.Context, u unit, tree WorktreeStatus, cause error) error {
	text := fmt.Sprintf("it stands on %q at %s", tree.Branch, tree.Head.Short())
	if cause != nil {
		text = cause.Error()
	}
	r.Logger.Warn("set a lane aside", "lane", u.lane.Number, "why", text)
	return r.commit(ctx, func(tx Tx) error {
		fresh, err := unitOf(ctx, tx, r.id, u.task.ID)
		if err != nil {
			return err
		}
		l, t := fresh.lane, fresh.task
		if l.Number != u.lane.Number || l.Task != t.ID || fresh.run != nil {
			return ErrConflict
		}
		if l.State, err = l.State.Fire(lanes.Keep); err != nil {
			return err
		}
		l.Task, t.Lane = "", 0
		return errors.Join(second(tx.PutLane(ctx, l)), second(tx.PutTask(ctx, t)), r.event(ctx, tx, lanes.Event{
			Batch: r.id, Type: "lane", Task: t.ID, Lane: l.Number, Name: "lane-set-aside", Ref: l.Worktree,
			Text: fmt.Sprintf("it stays as it is, and %s gets a fresh lane: %s", t.ID, text),
		}))
	})
}

// sayMadeAgain records that a lane's folder is gone and comes back from its branch. What was not committed was in the folder.
func (r *runner) sayMadeAgain(ctx context.Context, u unit) error {
	return r.commit(ctx, func(tx Tx) error {
		return r.event(ctx, tx, lanes.Event{
			Batch: r.id, Type: "lane", Task: u.task.ID, Lane: u.lane.Number, Name: "lane-made-again", Ref: u.lane.Worktree,
			Text: "its folder is gone; it is made again from " + u.lane.Branch + ", without what was not committed",
		})
	})
}
