package engine

import (
	"context"
	"errors"
	"fmt"

	"ferrox/gates"
	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/lanes/graph"
)

// IntegrateOptions says what goes where.
type IntegrateOptions struct {
	Batch lanes.BatchID // "" for the newest
	Into  string        // branch name
}

// Integrated is the answer of `ferrox integrate`.
type Integrated struct {
	Result string        `json:"result"` // integrated, already-integrated, or nothing-to-integrate
	Batch  lanes.BatchID `json:"batch"`
	Into   string        `json:"into"`
	Commit lanes.Commit  `json:"commit"` // where the branch is now
}

// Integrate merges a batch's integration branch into another branch, through the predicate and the ship gate. Nothing moves
// unless both allow it.
func (e *Engine) Integrate(ctx context.Context, opts IntegrateOptions) (out Integrated, err error) {
	b, err := e.BatchOf(ctx, opts.Batch)
	if err != nil {
		return out, err
	}
	o, err := e.own(ctx, b.ID)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, o.release(ctx, "integrated")) }()
	r, err := o.newRunner(ctx, b.ID, RunOptions{})
	if err != nil {
		return out, err
	}
	if err := r.settleAll(ctx); err != nil {
		return out, fmt.Errorf("recover batch %s: %w", b.ID, err)
	}
	return r.integrate(ctx, opts.Into)
}

func (r *runner) integrate(ctx context.Context, into string) (Integrated, error) {
	s, err := r.look(ctx)
	if err != nil {
		return Integrated{}, err
	}
	out := Integrated{Batch: r.id, Into: into}
	if !s.batch.Phase.Ended() {
		return out, r.notEnded(ctx, s.batch)
	}
	target, err := r.Git.Branch(ctx, into)
	if err != nil {
		return out, err
	}
	if target.Head == "" {
		return out, refuse(ExitNotFound, "not-found", "git branch", "there is no branch %q", into)
	}
	f, err := r.integrateFacts(ctx, s)
	if err != nil {
		return out, err
	}
	if f.Tree.Head != "" {
		if done, err := r.Git.IsAncestor(ctx, f.Tree.Head, target.Head); done || err != nil {
			out.Result, out.Commit = "already-integrated", target.Head
			if f.Tree.Head == s.batch.Base {
				out.Result = "nothing-to-integrate"
			}
			return out, err
		}
	}
	if err := r.askShipGate(ctx, s, &f, target.Head); err != nil {
		return out, err
	}
	return r.mergeInto(ctx, out, f, target)
}

// notEnded refuses a batch that can still change, with what has to happen first.
func (r *runner) notEnded(ctx context.Context, b lanes.Batch) error {
	holds, err := r.batchHolds(ctx)
	if err != nil {
		return err
	}
	if _, reasons := gates.Complete(gates.Facts{Path: gates.PathPause, Now: r.Clock.Now(), Batch: b, Holds: holds}); len(reasons) > 0 {
		return refusal(fmt.Sprintf("integrate batch %s is refused", b.ID), reasons)
	}
	return refuse(ExitRefused, string(lanes.CodeStateForbids), "ferrox resume "+string(b.ID), "batch %s is %s", b.ID, b.Phase)
}

func (r *runner) batchHolds(ctx context.Context) (all []hold.Record, err error) {
	err = r.Store.View(ctx, func(rd Reader) (err error) {
		all, err = rd.Holds(ctx, HoldFilter{Batch: r.id})
		return err
	})
	return all, err
}

func (r *runner) integrateFacts(ctx context.Context, s snapshot) (gates.Facts, error) {
	f := gates.Facts{Path: gates.PathIntegrate, Now: r.Clock.Now(), Batch: s.batch}
	var err error
	if f.Holds, err = r.batchHolds(ctx); err != nil {
		return f, err
	}
	if f.Integration, err = r.integration(ctx, s.batch); err != nil {
		return f, err
	}
	f.Integration.CheckedOutIn = "" // it is read here, not moved
	f.Tree.Head = f.Integration.Head
	return f, nil
}

// askShipGate measures what the batch changes and asks the ship gate with it.
func (r *runner) askShipGate(ctx context.Context, s snapshot, f *gates.Facts, target lanes.Commit) error {
	changed, err := r.Git.Changed(ctx, target, f.Tree.Head)
	if err != nil {
		return fmt.Errorf("measure what batch %s changes: %w", r.id, err)
	}
	m := Measured{Batch: r.id}
	for _, c := range changed {
		m.Actual = append(m.Actual, c.Path)
		if owned(s.tasks, c.Path) {
			m.Declared = append(m.Declared, c.Path)
		}
	}
	f.Ship, err = r.ShipGate(ctx, m)
	if err != nil {
		f.Unreadable = append(f.Unreadable, gates.Failure{Ref: "strength.merge-gate", Text: err.Error()})
	}
	return nil
}

// owned reports whether one of the tasks that landed may have changed a path.
func owned(tasks []lanes.Task, path string) bool {
	for _, t := range tasks {
		if t.Merge != "" && len(graph.Undeclared(graph.NodeOf(t), nil, []string{path})) == 0 || path == t.Path+"/PROMPT.md" {
			return true
		}
	}
	return false
}

func (r *runner) mergeInto(ctx context.Context, out Integrated, f gates.Facts, target BranchInfo) (Integrated, error) {
	if _, reasons := gates.Complete(f); len(reasons) > 0 {
		return out, refusal(fmt.Sprintf("integrate into %s is refused", out.Into), reasons)
	}
	merge, err := r.Git.Merge(ctx, MergeRequest{
		Into: target.Head, From: f.Tree.Head, At: r.Clock.Now(), Sign: r.set.Runner.Sign,
		Message: fmt.Sprintf("Integrate batch %s\n\nFerrox-Batch: %s\nFerrox-Authorized: %s\nFerrox-Path: %s\n", r.id, r.id, f.Tree.Head, f.Path),
	})
	if err != nil {
		return out, fmt.Errorf("merge batch %s into %s: %w", r.id, out.Into, err)
	}
	for _, c := range merge.Conflicts {
		f.Conflicts = append(f.Conflicts, gates.Conflict{Path: c.Path, Kind: c.Kind})
	}
	permit, reasons := gates.Complete(f)
	if len(reasons) > 0 {
		return out, refusal(fmt.Sprintf("integrate into %s is refused", out.Into), reasons)
	}
	if err := r.moveTarget(ctx, permit, out.Into, merge.Commit, target); err != nil {
		return out, err
	}
	out.Result, out.Commit = "integrated", merge.Commit
	return out, r.commit(ctx, func(tx Tx) error {
		return r.event(ctx, tx, lanes.Event{
			Batch: r.id, Type: "merge", Name: "integrated", Ref: string(merge.Commit), Text: fmt.Sprintf("into %s as %s", out.Into, merge.Commit.Short()),
		})
	})
}

// moveTarget moves the branch: by compare-and-swap, or, where a clean checkout has it, together with that checkout.
func (r *runner) moveTarget(ctx context.Context, p gates.Permit, into string, next lanes.Commit, target BranchInfo) error {
	var err error
	if target.CheckedOutIn == "" {
		err = r.Git.Publish(ctx, p, into, next, target.Head)
	} else {
		err = r.Git.FastForward(ctx, p, target.CheckedOutIn, into, next, target.Head)
	}
	switch {
	case errors.Is(err, ErrRefCheckedOut):
		return refusal("integrate is refused", []lanes.Reason{{
			Code: lanes.CodeIntegrationCheckedOut, Ref: into, Clears: "operator", Next: "git -C " + target.CheckedOutIn + " stash -u, or commit there",
			Text: fmt.Sprintf("%s is checked out in %s, which has changes: %v", into, target.CheckedOutIn, err),
		}})
	case errors.Is(err, ErrRefMoved):
		return refuse(ExitRefused, string(lanes.CodeIntegrationMoved), "ferrox integrate --into "+into, "%s moved meanwhile", into)
	}
	return err
}
