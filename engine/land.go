package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"ferrox/gates"
	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/lanes/packet"
)

// landIntent is the payload of a land effect: enough to know, by looking at the ref, which side of a crash it is on.
type landIntent struct {
	Path gates.Path   `json:"path"`
	Old  lanes.Commit `json:"old"`
	New  lanes.Commit `json:"new"`
	Lane lanes.Commit `json:"lane"` // the lane head that the predicate examined

	coverage *coverageDelta // measured after the branch has moved; never stored with the intent
	commits  laneCommits    // likewise
}

// land asks the predicate, computes the merge, verifies it, asks again, and moves the integration branch by
// compare-and-swap. One lane lands at a time.
func (r *runner) land(ctx context.Context, path gates.Path, u unit) (verdict, error) {
	give, err := r.merging.take(ctx)
	if err != nil {
		return verdict{}, err
	}
	defer give()
	for {
		v, err := r.tryLand(ctx, path, u)
		if !errors.Is(err, ErrRefMoved) {
			return v, err
		}
		if u, err = r.unit(ctx, u.task.ID); err != nil {
			return v, err
		}
	}
}

func (r *runner) tryLand(ctx context.Context, path gates.Path, u unit) (verdict, error) {
	f, tree := r.facts(ctx, path, u)
	v := verdict{tree: tree}
	if _, reasons := gates.Complete(f); len(reasons) > 0 {
		v.reasons = reasons
		return v, nil
	}
	merge, err := r.computeMerge(ctx, u, f, tree)
	if errors.Is(err, ErrMergeDriver) || errors.Is(err, ErrSigning) {
		v.reasons = []lanes.Reason{{
			Code: lanes.CodeMergeRefused, Ref: u.lane.Branch, Clears: "operator", Next: "ferrox merge " + string(u.task.ID), Text: err.Error(),
		}}
		return v, nil
	}
	if err != nil {
		return v, fmt.Errorf("merge lane %d: %w", u.lane.Number, err)
	}
	for _, c := range merge.Conflicts {
		f.Conflicts = append(f.Conflicts, gates.Conflict{Path: c.Path, Kind: c.Kind})
	}
	if len(f.Conflicts) == 0 && len(r.set.Runner.Verify) > 0 {
		again, output, err := r.verifyAndAskAgain(ctx, path, u, merge.Commit, f.Tree.Head)
		if err != nil {
			return v, err
		}
		f, v.output = again, output
	}
	permit, reasons := gates.Complete(f)
	if len(reasons) > 0 {
		v.reasons, v.conflicts = reasons, f.Conflicts
		return v, nil
	}
	return r.publish(ctx, permit, u, f, merge.Commit)
}

func (r *runner) computeMerge(ctx context.Context, u unit, f gates.Facts, tree WorktreeStatus) (MergeResult, error) {
	files, err := r.overlay(ctx, u, tree)
	if err != nil {
		return MergeResult{}, err
	}
	return r.Git.Merge(ctx, MergeRequest{
		Into: f.Integration.Head, From: f.Tree.Head, Overlay: files, Message: mergeMessage(u, f), At: r.Clock.Now(), Sign: r.set.Runner.Sign,
	})
}

// mergeMessage names the task, what was ruled on the way, and what was authorised.
func mergeMessage(u unit, f gates.Facts) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Merge %s: %s\n\n", u.task.ID, firstLine(u.task.Title))
	fmt.Fprintf(&b, "Ferrox-Batch: %s\nFerrox-Task: %s\n", u.batch.ID, u.task.ID)
	for _, h := range u.holds {
		if h.State == hold.Released {
			fmt.Fprintf(&b, "Ferrox-Ruling: %s\n", h.Ruling)
		}
	}
	fmt.Fprintf(&b, "Ferrox-Authorized: %s\nFerrox-Path: %s\n", f.Tree.Head, f.Path)
	if u.batch.ReviewLevel != nil {
		fmt.Fprintf(&b, "Ferrox-Review-Level: %d\n", *u.batch.ReviewLevel)
	}
	return b.String()
}

// verifyAndAskAgain runs the verification on the merged tree, in a scratch worktree. It may take long, so every fact is
// read anew after it; a lane that moved meanwhile is not what was verified.
func (r *runner) verifyAndAskAgain(ctx context.Context, path gates.Path, u unit, merged, examined lanes.Commit) (gates.Facts, string, error) {
	failure, output, err := r.verify(ctx, u, merged)
	if err != nil {
		return gates.Facts{}, "", err
	}
	fresh, err := r.unit(ctx, u.task.ID)
	if err != nil {
		return gates.Facts{}, "", err
	}
	f, _ := r.facts(ctx, path, fresh)
	f.Verify = failure
	if f.Tree.Head != examined {
		f.Unreadable = append(f.Unreadable, gates.Failure{Ref: u.lane.Branch, Text: "the lane moved while its merge was verified"})
	}
	return f, output, nil
}

func (r *runner) verify(ctx context.Context, u unit, merged lanes.Commit) (*gates.Failure, string, error) {
	dir := filepath.Join(u.batch.LanesDir, "verify")
	if err := r.Git.AddDetached(ctx, dir, merged); err != nil {
		return nil, "", fmt.Errorf("check out the merged tree: %w", err)
	}
	defer func() {
		if err := r.Git.RemoveScratch(context.WithoutCancel(ctx), dir); err != nil {
			r.Logger.Warn("remove the scratch worktree", "error", err)
		}
	}()
	scratch := u
	scratch.lane.Worktree = dir
	for _, argv := range r.set.Runner.Verify {
		output, err := r.command(ctx, dir, argv, r.workerEnv(scratch, nil))
		if ctx.Err() != nil {
			return nil, "", ctx.Err()
		}
		if err != nil {
			text := strings.TrimSpace(err.Error() + ": " + lastLine(output))
			return &gates.Failure{Ref: strings.Join(argv, " "), Text: text}, output, nil
		}
	}
	return nil, "", nil
}

// publish records the intent, moves the branch, and records the landing. The permit's version is checked in both
// transactions: a hold, a ruling or an abort in between makes the permit worthless.
func (r *runner) publish(ctx context.Context, p gates.Permit, u unit, f gates.Facts, merged lanes.Commit) (verdict, error) {
	intent := landIntent{Path: p.Path(), Old: f.Integration.Head, New: merged, Lane: p.Commit()}
	key := "land/" + string(merged) + "/" + r.NewID() // the same merge tried twice in a second is the same commit
	if err := r.recordIntent(ctx, p, u, key, intent); err != nil {
		return verdict{}, err
	}
	err := r.Git.Publish(ctx, p, u.batch.Integration, merged, intent.Old)
	if err != nil {
		abandon := r.commit(ctx, func(tx Tx) error {
			return tx.SettleEffect(ctx, key, lanes.EffectAbandoned, err.Error(), r.Clock.Now())
		})
		if errors.Is(err, ErrRefCheckedOut) {
			err = ErrRefMoved // facts are read again and say so
		}
		return verdict{}, errors.Join(err, abandon)
	}
	if intent.coverage, err = r.coverageOf(ctx, intent); err != nil {
		return verdict{}, err
	}
	intent.commits = r.commitsOf(ctx, u, intent.Lane)
	return verdict{landed: true}, r.commit(ctx, func(tx Tx) error {
		return r.landTx(ctx, tx, p, key, intent, len(f.Changed) == 0 || onlyRecords(u, f.Changed))
	})
}

// onlyRecords reports whether a lane changed nothing but its own packet's records.
func onlyRecords(u unit, changed []string) bool {
	for _, path := range changed {
		if !u.ownRecord(path) {
			return false
		}
	}
	return true
}

func (r *runner) recordIntent(ctx context.Context, p gates.Permit, u unit, key string, intent landIntent) error {
	payload, err := json.Marshal(intent)
	if err != nil {
		return err
	}
	return r.note(ctx, func(tx Tx) error {
		t, err := tx.Task(ctx, p.Batch(), p.Task())
		if err != nil {
			return err
		}
		if t.Version != p.Version() {
			return ErrConflict
		}
		b, err := tx.Batch(ctx, p.Batch())
		if err != nil {
			return err
		}
		if intent.Path == gates.PathClaim && b.Phase != lanes.PhaseRunning {
			return ErrConflict // taken over meanwhile: the claim is kept
		}
		return tx.AddEffect(ctx, lanes.Effect{
			Key: key, Batch: r.id, Kind: lanes.EffectLand, Task: t.ID, Lane: u.lane.Number, Payload: string(payload), CreatedAt: r.Clock.Now(),
		})
	})
}

// landTx is the one place that marks a task succeeded. It takes a permit of a landing path, and the task must still be the
// one that the permit was given for.
func (r *runner) landTx(ctx context.Context, tx Tx, p gates.Permit, key string, intent landIntent, empty bool) error {
	u, err := unitOf(ctx, tx, p.Batch(), p.Task())
	if err != nil {
		return err
	}
	if !p.Valid() || u.task.Version != p.Version() {
		return ErrConflict
	}
	t := u.task
	if t.State, err = t.State.Fire(lanes.Land); err != nil {
		return err
	}
	t.Authorized, t.Merge, t.Empty, t.EndedAt = intent.Lane, intent.New, empty, r.Clock.Now()
	t.Reasons, t.Feedback = nil, ""
	progress, err := progressOf(u)
	if err == nil {
		t.StepsDone, t.StepsTotal, t.Boxes = progress.StepsDone, progress.StepsTotal, progress.Boxes
	}
	if intent.Path == gates.PathShip {
		t.Reasons = leftOut(t, progress.Open)
		if err := r.oweBacklog(ctx, tx, t, progress.Open); err != nil {
			return err
		}
	}
	data, err := json.Marshal(landingData{Coverage: intent.coverage})
	if err != nil {
		return err
	}
	u.batch.Head = intent.New
	text := fmt.Sprintf("%s is in %s as %s", t.ID, u.batch.Integration, intent.New.Short())
	if empty {
		text += " (no change)"
	}
	return errors.Join(
		r.closeRunTx(ctx, tx, u, intent.Lane, "landed"),
		second(tx.PutTask(ctx, t)), second(tx.PutBatch(ctx, u.batch)),
		r.moveLane(ctx, tx, t, lanes.Free),
		tx.SettleEffect(ctx, key, lanes.EffectDone, "landed", r.Clock.Now()),
		r.event(ctx, tx, lanes.Event{Batch: r.id, Type: "merge", Task: t.ID, Lane: t.Lane, Ref: string(intent.New), Name: "landed", Text: text, Data: string(data)}),
		r.flagCitations(ctx, tx, u, laneCommits{all: intent.commits.all, read: intent.commits.read}),
		r.completeTx(ctx, tx),
	)
}

// leftOut names the steps that a shipped task landed without.
func leftOut(t lanes.Task, open []packet.OpenStep) []lanes.Reason {
	var reasons []lanes.Reason
	for _, s := range open {
		reasons = append(reasons, lanes.Reason{
			Code: lanes.CodeCapFired, Ref: fmt.Sprintf("step %d", s.Number), Clears: "operator", Next: "ferrox show " + string(t.ID),
			Text: fmt.Sprintf("landed without step %d: %s; it is filed in the backlog", s.Number, s.Name),
		})
	}
	return reasons
}
