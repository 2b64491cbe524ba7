package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ferrox/engine/crash"
	"ferrox/gates"
	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/lanes/packet"
)

// begin decides on the next run of a task's worker: it binds a lane, makes its worktree ready, checks that the lane is
// where it should be, and records the run. The run is started by the next step. A lane that another task left in a state
// that it cannot be used in stays as it is, and the next step takes a fresh one.
func (r *runner) begin(ctx context.Context, u unit, want lanes.Number) error {
	u, err := r.bind(ctx, u, want)
	if err != nil {
		return err
	}
	used, err := r.usedBefore(ctx, u)
	if err != nil {
		return err
	}
	tree, above, err := r.stand(ctx, u, used)
	switch {
	case used && spoilt(ctx, u, tree, above, err):
		return r.setLaneAside(ctx, u, tree, err)
	case err != nil:
		return r.unprepared(ctx, u, err)
	case tree.Head == "":
		return r.lostBranch(ctx, u)
	case tree.Branch != u.lane.Branch || !above:
		return r.wrongBranch(ctx, u, tree, above)
	}
	if err := r.ensureStatus(u); err != nil {
		return err
	}
	return r.recordRun(ctx, u, tree)
}

// stand makes the lane ready and looks where it stands: on which branch, and whether above where it started.
func (r *runner) stand(ctx context.Context, u unit, used bool) (tree WorktreeStatus, above bool, err error) {
	if tree, err = r.prepare(ctx, u, used); err != nil || tree.Head == "" {
		return tree, false, err
	}
	if above, err = aboveBase(ctx, r.Git, u.lane, tree.Head); err != nil {
		return tree, false, fmt.Errorf("look at lane %d: %w", u.lane.Number, err)
	}
	return tree, above, nil
}

// bind gives a task its lane, durably, before anything is made.
func (r *runner) bind(ctx context.Context, u unit, want lanes.Number) (unit, error) {
	id := u.task.ID
	if u.task.Lane != 0 && u.lane.Task == id {
		return u, nil // it has one; the commit that decides on the run has it go on
	}
	last, err := r.lastNumber(ctx, u, want)
	if err != nil {
		return u, err
	}
	err = r.note(ctx, func(tx Tx) (err error) {
		if u, err = unitOf(ctx, tx, r.id, id); err != nil {
			return err
		}
		if u.task.Lane != 0 && u.lane.Task == id {
			return ErrConflict // somebody else bound it
		}
		if u.lane, err = r.pickLane(ctx, tx, u.batch, want, last); err != nil {
			return err
		}
		u.lane.Task, u.lane.Base, u.lane.Head, u.task.Lane = id, u.batch.Head, u.batch.Head, u.lane.Number
		if u.lane.State, err = u.lane.State.Fire(lanes.Bind); err != nil {
			return err
		}
		if u.lane.Version, err = tx.PutLane(ctx, u.lane); err != nil {
			return err
		}
		u.task.Version, err = tx.PutTask(ctx, u.task)
		return errors.Join(err, r.event(ctx, tx, lanes.Event{
			Batch: r.id, Type: "lane", Task: id, Lane: u.lane.Number, Name: "lane-bound", Ref: u.lane.Branch,
			Text: "starts from " + u.lane.Base.Short(),
		}))
	})
	return u, err
}

// pickLane returns the idle lane that was planned, or a fresh one with a number that no lane ever had: above those on
// record, and above last.
func (r *runner) pickLane(ctx context.Context, tx Tx, b lanes.Batch, want, last lanes.Number) (lanes.Lane, error) {
	all, err := tx.Lanes(ctx, r.id)
	if err != nil {
		return lanes.Lane{}, err
	}
	for _, l := range all {
		if l.Number == want && l.State == lanes.LaneIdle {
			return l, nil
		}
		last = max(last, l.Number)
	}
	n := last + 1
	return lanes.Lane{
		Batch: r.id, Number: n, State: lanes.LaneIdle, Worktree: filepath.Join(b.LanesDir, fmt.Sprintf("lane-%d", n)),
		Branch: fmt.Sprintf("ferrox/%s/lane-%d", b.ID, n),
	}, nil
}

// prepare makes the lane's worktree, brings one that was used before to the integration head, or makes a missing one
// again from its branch, and sets up a fresh one. It returns how the worktree stands then.
func (r *runner) prepare(ctx context.Context, u unit, used bool) (tree WorktreeStatus, err error) {
	_, statErr := os.Lstat(u.lane.Worktree)
	fresh := errors.Is(statErr, os.ErrNotExist)
	if err := r.addLane(ctx, u, fresh); err != nil {
		return tree, err
	}
	reused := u.runs == 0 && (used || !fresh)
	if reused {
		if tree, err = r.reuseLane(ctx, u); err != nil {
			return tree, err
		}
	}
	made, err := r.setUp(ctx, u)
	if err != nil || reused && !made {
		return tree, err
	}
	if tree, err = r.Git.Status(ctx, u.lane.Worktree); err != nil {
		return tree, fmt.Errorf("look at lane %d: %w", u.lane.Number, err)
	}
	return tree, nil
}

// addLane makes the worktree of a lane, unless it is there.
func (r *runner) addLane(ctx context.Context, u unit, fresh bool) error {
	give, err := r.making.take(ctx)
	if err != nil {
		return err
	}
	defer give()
	if fresh {
		if err := r.unready(u.lane); err != nil {
			return err
		}
	}
	if fresh && u.runs > 0 {
		if err := r.sayMadeAgain(ctx, u); err != nil {
			return err
		}
	}
	if err := r.Git.AddWorktree(ctx, u.lane.Worktree, u.lane.Branch, u.lane.Base); err != nil {
		return fmt.Errorf("make the worktree of lane %d: %w", u.lane.Number, err)
	}
	return r.clearDeadLocks(u)
}

// reuseLane brings a lane that had another task to the integration head.
func (r *runner) reuseLane(ctx context.Context, u unit) (WorktreeStatus, error) {
	exempt, err := r.exempt(ctx)
	if err != nil {
		return WorktreeStatus{}, err
	}
	tree, err := r.Git.ReuseWorktree(ctx, u.lane.Worktree, u.lane.Branch, u.lane.Base, exempt)
	if err != nil {
		return tree, fmt.Errorf("bring lane %d to %s: %w", u.lane.Number, u.lane.Base.Short(), err)
	}
	return tree, nil
}

// exempt lets a landed task's own uncommitted records be overwritten by what landed of them.
func (r *runner) exempt(ctx context.Context) (func(path string) bool, error) {
	dirs, err := r.packetFolders(ctx)
	return func(path string) bool {
		return strings.HasPrefix(path, spoolRoot+"/") || slices.ContainsFunc(dirs, func(dir string) bool { return recordOf(dir, path) })
	}, err
}

// readyMark is written once a fresh worktree has been set up, so that a crash in between runs the set-up again.
func (r *runner) readyMark(l lanes.Lane) string {
	return filepath.Join(r.Home, "runs", string(r.id), fmt.Sprintf("lane-%d.ready", l.Number))
}

// unready takes the mark of an earlier worktree away.
func (r *runner) unready(l lanes.Lane) error {
	defer crash.Around("lane unready")()
	if err := os.Remove(r.readyMark(l)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// setUp copies ignored files into a fresh worktree and runs the set-up commands, once. It reports whether it did.
func (r *runner) setUp(ctx context.Context, u unit) (bool, error) {
	mark := r.readyMark(u.lane)
	if _, err := os.Lstat(mark); err == nil {
		return false, nil
	}
	give, err := r.making.take(ctx)
	if err != nil {
		return false, err
	}
	defer give()
	for _, name := range r.set.Runner.Copy {
		if err := copyInto(r.Root, u.lane.Worktree, name); err != nil {
			return false, &setupError{what: "copy " + name, err: err}
		}
	}
	for _, argv := range r.set.Runner.Setup {
		out, err := r.command(ctx, u.lane.Worktree, argv, r.workerEnv(u, nil))
		if err != nil {
			return false, &setupError{what: strings.Join(argv, " "), err: err, output: out}
		}
	}
	if err := os.MkdirAll(filepath.Dir(mark), 0o700); err != nil {
		return false, err
	}
	defer crash.Around("lane ready")()
	return true, os.WriteFile(mark, nil, 0o600)
}

type setupError struct {
	what   string
	err    error
	output string
}

func (e *setupError) Error() string { return fmt.Sprintf("set up the worktree: %s: %v", e.what, e.err) }
func (e *setupError) Unwrap() error { return e.err }

// unprepared fails the task when its set-up failed and names a lane that stands elsewhere; anything else is the lane's
// trouble.
func (r *runner) unprepared(ctx context.Context, u unit, err error) error {
	var setup *setupError
	if !errors.As(err, &setup) {
		if tree, look := r.Git.Status(ctx, u.lane.Worktree); look == nil && tree.Branch != u.lane.Branch {
			return r.wrongBranch(ctx, u, tree, true)
		}
		return err
	}
	text := setup.Error()
	if setup.output != "" {
		text += ": " + lastLine(setup.output)
	}
	return r.endTask(ctx, u.task.ID, lanes.Fail, lanes.Reason{
		Code: lanes.CodeSetupFailed, Ref: setup.what, Clears: "operator", Next: "ferrox retry " + string(u.task.ID), Text: text,
	})
}

// wrongBranch stalls a task at once: commits made elsewhere stay reachable there.
func (r *runner) wrongBranch(ctx context.Context, u unit, tree WorktreeStatus, above bool) error {
	_, reasons := gates.Complete(gates.Facts{
		Path: gates.PathClaim, Batch: u.batch, Task: u.task, Lane: u.lane, Tree: gates.Tree{Branch: tree.Branch, Head: tree.Head, OffBase: !above},
	})
	for _, re := range reasons {
		if re.Code == lanes.CodeWrongBranch {
			return r.endTask(ctx, u.task.ID, lanes.Stall, re)
		}
	}
	return fmt.Errorf("lane %d stands on %q, not on %s", u.lane.Number, tree.Branch, u.lane.Branch)
}

// lostBranch stalls a task whose branch was deleted under its worktree. A worker would start a new history on it.
func (r *runner) lostBranch(ctx context.Context, u unit) error {
	return r.endTask(ctx, u.task.ID, lanes.Stall, lanes.Reason{
		Code: lanes.CodeWrongBranch, Ref: u.lane.Branch, Clears: "operator",
		Text: fmt.Sprintf("branch %s is gone; lane %d was last seen at %s", u.lane.Branch, u.lane.Number, u.lane.Head),
		Next: fmt.Sprintf("git update-ref refs/heads/%s %s, then ferrox retry %s", u.lane.Branch, u.lane.Head, u.task.ID),
	})
}

// endTask ends a task without landing it; its lane is kept.
func (r *runner) endTask(ctx context.Context, id lanes.TaskID, in lanes.Input, why ...lanes.Reason) error {
	return r.commit(ctx, func(tx Tx) error {
		t, err := tx.Task(ctx, r.id, id)
		if err != nil {
			return err
		}
		return r.endTaskTx(ctx, tx, t, in, why)
	})
}

func (r *runner) endTaskTx(ctx context.Context, tx Tx, t lanes.Task, in lanes.Input, why []lanes.Reason) (err error) {
	if t.State, err = t.State.Fire(in); err != nil {
		return err
	}
	t.Reasons, t.EndedAt = why, r.Clock.Now()
	if _, err := tx.PutTask(ctx, t); err != nil {
		return err
	}
	text := ""
	if len(why) > 0 {
		text = why[0].Text
	}
	return errors.Join(r.keepLane(ctx, tx, t), r.event(ctx, tx, lanes.Event{
		Batch: r.id, Type: "task", Task: t.ID, Lane: t.Lane, Name: "task-" + string(t.State), Text: text,
	}))
}

// ensureStatus writes the STATUS.md that a packet without one starts with. An empty one is what a crash left of it.
func (r *runner) ensureStatus(u unit) error {
	dir := filepath.Join(u.lane.Worktree, filepath.FromSlash(u.task.Path))
	file := filepath.Join(dir, packet.StatusName)
	info, err := os.Lstat(file)
	if err == nil && info.Size() > 0 || err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	prompt, err := os.ReadFile(filepath.Join(dir, packet.PromptName))
	if err != nil {
		return u.mendPacket(fmt.Errorf("read the packet in lane %d: %w", u.lane.Number, err))
	}
	p, _ := packet.Parse(packet.Files{Dir: u.task.Path, Prompt: prompt, HasPrompt: true})
	defer crash.Around("write status")()
	return os.WriteFile(file, packet.NewStatus(p), 0o644)
}

// recordRun decides on a run: from this commit on it may exist, its rulings are in flight, and its spawn is owed.
func (r *runner) recordRun(ctx context.Context, u unit, tree WorktreeStatus) error {
	id := lanes.RunID(r.NewID())
	done, err := claimIdentity(u.claimFile())
	if err != nil {
		return err
	}
	return r.note(ctx, func(tx Tx) error {
		fresh, err := unitOf(ctx, tx, r.id, u.task.ID)
		if err != nil {
			return err
		}
		if !r.mayStart(fresh) || fresh.run != nil {
			return ErrConflict // a hold, a pause or an abort came in between
		}
		t := fresh.task
		if t.State, err = t.State.Fire(lanes.Start); err != nil {
			return err
		}
		t.Iteration, t.Reasons = t.Iteration+1, nil
		if t.StartedAt.IsZero() {
			t.StartedAt = r.Clock.Now()
		}
		run := lanes.Run{
			ID: id, Batch: r.id, Task: t.ID, Lane: t.Lane, Iteration: t.Iteration, State: lanes.RunStarting, Dir: r.runDir(r.id, id),
			Token: r.NewID() + r.NewID(), StartedAt: r.Clock.Now(), HeadBefore: tree.Head, DoneBefore: done,
		}
		if run.Rulings, err = r.deliver(ctx, tx, fresh.holds, id); err != nil {
			return err
		}
		fresh.lane.Head = tree.Head
		if fresh.lane.State, err = fresh.lane.State.Fire(lanes.Resume); err != nil {
			return err
		}
		return errors.Join(
			second(tx.PutTask(ctx, t)), second(tx.PutLane(ctx, fresh.lane)), second(tx.PutRun(ctx, run)),
			tx.AddEffect(ctx, lanes.Effect{Key: "spawn/" + string(id), Batch: r.id, Kind: lanes.EffectSpawn, Task: t.ID, Lane: t.Lane, CreatedAt: r.Clock.Now()}),
			r.event(ctx, tx, lanes.Event{
				Batch: r.id, Type: "task", Task: t.ID, Lane: t.Lane, Ref: string(id), Name: "worker-starting",
				Text: fmt.Sprintf("run %d", t.Iteration),
			}),
		)
	})
}

// deliver puts every ruling that the worker has not acknowledged into the prompt of the run, the oldest ruling first.
func (r *runner) deliver(ctx context.Context, tx Tx, holds []hold.Record, run lanes.RunID) ([]lanes.MessageID, error) {
	var rulings []lanes.MessageID
	for _, h := range undelivered(holds) {
		next, err := h.DeliverIn(run)
		if err != nil {
			return nil, err
		}
		if _, err := tx.PutHold(ctx, next); err != nil {
			return nil, err
		}
		rulings = append(rulings, h.Ruling)
	}
	return rulings, nil
}

// byRuling orders holds by the instant of their ruling.
func byRuling(holds []hold.Record) []hold.Record {
	return slices.SortedStableFunc(slices.Values(holds), func(a, b hold.Record) int { return a.RuledAt.Compare(b.RuledAt) })
}
