package gates

import (
	"fmt"
	"slices"
	"strings"

	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/lanes/graph"
)

// Complete answers for every path on which a task could become complete, its lane merge, or its work be removed. It
// returns a permit, or all the reasons against.
func Complete(f Facts) (Permit, []lanes.Reason) {
	if reasons := authorizeCompletion(f); len(reasons) > 0 {
		return Permit{}, reasons
	}
	return Permit{
		batch: f.Batch.ID, task: f.Task.ID, path: f.Path, commit: f.Tree.Head, version: f.Task.Version, valid: true,
	}, nil
}

// check looks at one side of the facts and returns what stands against.
type check func(Facts) []lanes.Reason

// checks says what each path asks. A path that is not listed is refused.
func checks(p Path) []check {
	landing := []check{lease, facts, aborted, cancelled, landed, holds, alive, claim, tree, steps, reviews, ownership, coordination, integration, verified}
	switch p {
	case PathClaim, PathResume, PathMerge:
		return landing
	case PathShip:
		return []check{lease, facts, aborted, cancelled, landed, holds, alive, tree, worth, reviews, ownership, coordination, integration, verified}
	case PathRecorded:
		return []check{lease, aborted, cancelled, holds, integration}
	case PathSkip:
		return []check{lease, aborted, holds, landed}
	case PathRetry:
		return []check{lease, aborted, cancelled, openHolds, landed}
	case PathPause, PathTakeover, PathAbort:
		return []check{lease, holds}
	case PathIntegrate:
		return []check{lease, facts, holds, shipped, integration, verified}
	case PathClean:
		return []check{lease, facts, holds, alive, nothingLost}
	}
	return []check{unknownPath}
}

// authorizeCompletion is the one predicate. There is no short circuit: every reason is found.
func authorizeCompletion(f Facts) []lanes.Reason {
	var reasons []lanes.Reason
	for _, c := range checks(f.Path) {
		reasons = append(reasons, c(f)...)
	}
	return reasons
}

func one(code lanes.Code, ref, clears, next, format string, args ...any) []lanes.Reason {
	return []lanes.Reason{{Code: code, Ref: ref, Clears: clears, Next: next, Text: fmt.Sprintf(format, args...)}}
}

func unknownPath(f Facts) []lanes.Reason {
	return one(lanes.CodeFactUnreadable, string(f.Path), "engine", "", "no rule says what %q asks", f.Path)
}

func lease(f Facts) []lanes.Reason {
	if !f.LeaseLost {
		return nil
	}
	return one(lanes.CodeLeaseLost, string(f.Batch.ID), "engine", "ferrox status", "another engine owns this repository")
}

func facts(f Facts) []lanes.Reason {
	var reasons []lanes.Reason
	for _, u := range f.Unreadable {
		reasons = append(reasons, one(lanes.CodeFactUnreadable, u.Ref, "operator", "ferrox doctor", "%s could not be read: %s", u.Ref, u.Text)...)
	}
	return reasons
}

func aborted(f Facts) []lanes.Reason {
	if f.Batch.Phase != lanes.PhaseAborted {
		return nil
	}
	return one(lanes.CodeAborted, string(f.Batch.ID), "operator", "ferrox run batch", "the batch was aborted")
}

// cancelled refuses a task with a hold that an abort cancelled: nobody ruled on it, and an abort is never an approval.
func cancelled(f Facts) []lanes.Reason {
	var reasons []lanes.Reason
	for _, h := range f.Holds {
		if h.State == hold.Cancelled {
			reasons = append(reasons, one(lanes.CodeAborted, string(h.ID), "operator", "ferrox run batch", "an abort cancelled its hold, which nobody ruled on")...)
		}
	}
	return reasons
}

// holds names every hold that still binds the task.
func holds(f Facts) []lanes.Reason {
	reasons := openHolds(f)
	for _, h := range f.Holds {
		if h.State != hold.Released || !h.Unresolved() {
			continue
		}
		reasons = append(reasons, one(lanes.CodeHoldUnacknowledged, string(h.ID), "worker", "ferrox show "+string(h.ID),
			"ruling %s was given and the worker has not acknowledged it", h.Ruling)...)
	}
	return reasons
}

func openHolds(f Facts) []lanes.Reason {
	var reasons []lanes.Reason
	for _, h := range f.Holds {
		if h.State != hold.Open {
			continue
		}
		clears, late := "supervisor", ""
		if h.Unproven != "" {
			late = ": " + h.Unproven
		}
		if h.ReservedFor != "" {
			clears = string(h.ReservedFor)
		}
		if h.ExpiredBy(f.Now) {
			late += ", and its deadline has passed"
		}
		about := "a question"
		if h.Gate != "" {
			about = "gate " + h.Gate
		}
		reasons = append(reasons, one(lanes.CodeHoldOpen, string(h.ID), clears, "ferrox rule --reply-to "+string(h.ID)+" -m TEXT",
			"hold on %s waits for a ruling%s", about, late)...)
	}
	return reasons
}

func alive(f Facts) []lanes.Reason {
	if !f.Alive {
		return nil
	}
	return one(lanes.CodeWorkerRunning, string(f.Task.ID), "worker", "ferrox output "+string(f.Task.ID)+" --follow", "a worker is alive in the lane")
}

func claim(f Facts) []lanes.Reason {
	ref := f.Task.Path + "/.DONE"
	switch {
	case !f.Claim.Present:
		return one(lanes.CodeClaimMissing, ref, "worker", "ferrox output "+string(f.Task.ID), "the worker has not written %s", ref)
	case f.Claim.Stale:
		return one(lanes.CodeClaimStale, ref, "worker", "ferrox retry "+string(f.Task.ID), "%s was there before this run of the worker began", ref)
	}
	return nil
}

func tree(f Facts) []lanes.Reason {
	if f.Tree.Missing {
		return one(lanes.CodeFactUnreadable, f.Lane.Worktree, "operator", "ferrox resume", "the lane's worktree is missing or broken")
	}
	var reasons []lanes.Reason
	if f.Lane.Branch == "" {
		reasons = one(lanes.CodeFactUnreadable, string(f.Task.ID), "operator", "ferrox show "+string(f.Task.ID), "the task has no lane")
	}
	if f.Tree.Head == "" {
		reasons = append(reasons, one(lanes.CodeFactUnreadable, "HEAD of "+f.Lane.Branch, "operator", "ferrox resume", "the lane's head is unknown")...)
	}
	if f.Tree.Branch != f.Lane.Branch {
		where := "a detached HEAD"
		if f.Tree.Branch != "" {
			where = "branch " + f.Tree.Branch
		}
		reasons = append(reasons, one(lanes.CodeWrongBranch, f.Lane.Branch, "operator",
			fmt.Sprintf("git -C %s switch %s, then ferrox retry %s", f.Lane.Worktree, f.Lane.Branch, f.Task.ID),
			"the lane stands on %s, not on %s", where, f.Lane.Branch)...)
	}
	if f.Tree.OffBase {
		reasons = append(reasons, one(lanes.CodeWrongBranch, f.Lane.Branch, "operator",
			fmt.Sprintf("git -C %s rebase %s, then ferrox retry %s", f.Lane.Worktree, f.Lane.Base, f.Task.ID),
			"%s does not contain %s, where the lane started", f.Lane.Branch, f.Lane.Base.Short())...)
	}
	for _, path := range f.Tree.Dirty {
		reasons = append(reasons, one(lanes.CodeUncommittedWork, path, "worker", "commit it, or remove it", "%s is not committed", path)...)
	}
	for _, path := range f.Gitlinks {
		reasons = append(reasons, one(lanes.CodeSubmodule, path, "operator", "commit the submodule's change by hand",
			"the lane changed the submodule %s, whose commit only the lane may have", path)...)
	}
	return reasons
}

func steps(f Facts) []lanes.Reason {
	ref := f.Task.Path + "/STATUS.md"
	if f.Steps.None {
		return one(lanes.CodeNoSteps, ref, "worker", "ferrox plan", "%s has no step that can be read", ref)
	}
	var reasons []lanes.Reason
	for _, s := range f.Steps.Open {
		reasons = append(reasons, one(lanes.CodeStepsOpen, s, "worker", "tick its boxes in "+ref, "%s is not done", s)...)
	}
	return reasons
}

// reviews asks for an approval of every gate that the level wants, and refuses any latest verdict that is not one.
func reviews(f Facts) []lanes.Reason {
	var reasons []lanes.Reason
	for _, gate := range f.Reviews.Required {
		has := slices.ContainsFunc(f.Reviews.Latest, func(g lanes.GateFact) bool { return g.Gate == gate })
		if !has {
			reasons = append(reasons, one(lanes.CodeReviewMissing, gate, "supervisor", "ferrox show "+string(f.Task.ID), "gate %s has no review", gate)...)
		}
	}
	for _, g := range f.Reviews.Latest {
		switch {
		case !g.Readable:
			reasons = append(reasons, one(lanes.CodeReviewUnreadable, g.File, "supervisor", "repair "+g.File, "the review of gate %s cannot be read", g.Gate)...)
		case g.Verdict != "APPROVE":
			reasons = append(reasons, one(lanes.CodeReviewNotApproved, g.Gate, "supervisor", "ferrox show "+string(f.Task.ID),
				"the latest review of gate %s (%s) says %s", g.Gate, g.File, g.Verdict)...)
		}
	}
	return reasons
}

// ownership compares what the lane changed with what the task declared. The spool folder is ferrox's own and never lands.
func ownership(f Facts) []lanes.Reason {
	bad := graph.Undeclared(graph.NodeOf(f.Task), f.Packets, f.Changed)
	for _, path := range f.Changed {
		if strings.HasPrefix(path, ".ferrox/") && !slices.Contains(bad, path) {
			bad = append(bad, path)
		}
	}
	var reasons []lanes.Reason
	for _, path := range bad {
		reasons = append(reasons, one(lanes.CodeUndeclaredFiles, path, "operator",
			"take it out of the lane, or declare it in the packet's File Scope", "the lane changed %s, which its File Scope does not declare", path)...)
	}
	return reasons
}

// shipped passes on what the ship gate has against the batch.
func shipped(f Facts) []lanes.Reason { return f.Ship }

// worth refuses to ship a task that has nothing to land.
func worth(f Facts) []lanes.Reason {
	if len(f.Changed) > 0 {
		return nil
	}
	return one(lanes.CodeNoProgress, string(f.Task.ID), "worker", "ferrox output "+string(f.Task.ID), "there is nothing in the lane to ship")
}

// coordination refuses what lanes may not do beside each other.
func coordination(f Facts) []lanes.Reason {
	var reasons []lanes.Reason
	for _, path := range f.SharedWrites {
		reasons = append(reasons, one(lanes.CodeUndeclaredFiles, path, "operator", "take it out of the lane",
			"%s has one writer, and that is not a worker", path)...)
	}
	for _, seam := range f.Seams {
		reasons = append(reasons, one(lanes.CodeHotSeam, seam, "operator", "declare it in the packet's File Scope, then ferrox retry "+string(f.Task.ID),
			"the lane changed the hot seam %s while another lane landed a change to it", seam)...)
	}
	for _, path := range f.Migrations {
		reasons = append(reasons, one(lanes.CodeMigrationUncentral, path, "worker", "ferrox query coord.alloc-migration",
			"the number of %s was not handed out", path)...)
	}
	return reasons
}

func integration(f Facts) []lanes.Reason {
	branch := f.Batch.Integration
	switch {
	case f.Integration.Head == "":
		return one(lanes.CodeIntegrationMoved, branch, "operator", "git branch "+branch+" "+string(f.Batch.Head), "the integration branch is gone")
	case !f.Integration.Followable:
		return one(lanes.CodeIntegrationMoved, branch, "operator", fmt.Sprintf("git branch -f %s %s", branch, f.Batch.Head),
			"%s was moved to %s, which does not contain what landed", branch, f.Integration.Head.Short())
	case f.Integration.CheckedOutIn != "":
		return one(lanes.CodeIntegrationCheckedOut, branch, "operator", "git -C "+f.Integration.CheckedOutIn+" switch --detach",
			"%s is checked out in %s, and a branch is never moved under anyone", branch, f.Integration.CheckedOutIn)
	}
	return nil
}

func verified(f Facts) []lanes.Reason {
	var reasons []lanes.Reason
	if f.Verify != nil {
		reasons = one(lanes.CodeVerifyFailed, f.Verify.Ref, "worker", "ferrox output "+string(f.Task.ID), "the merged tree does not pass: %s", f.Verify.Text)
	}
	for _, c := range f.Conflicts {
		code := lanes.CodeMergeConflict
		if c.Kind == "letter-case" || c.Kind == "file/folder" {
			code = lanes.CodePathClash
		}
		reasons = append(reasons, one(code, c.Path, "operator", "ferrox holds", "%s cannot be merged (%s)", c.Path, c.Kind)...)
	}
	return reasons
}

func landed(f Facts) []lanes.Reason {
	if f.Task.State != lanes.TaskSucceeded && !f.Task.Finished {
		return nil
	}
	return one(lanes.CodeStateForbids, string(f.Task.ID), "operator", "ferrox show "+string(f.Task.ID), "the task has landed")
}

// nothingLost lets work be removed only when something else holds all of it. That the folder is gone says nothing of the
// commits on its branch.
func nothingLost(f Facts) []lanes.Reason {
	if f.Rescued != "" {
		return nil
	}
	var reasons []lanes.Reason
	if !f.Tree.Landed {
		reasons = one(lanes.CodeNotLanded, f.Lane.Branch, "operator", "ferrox clean", "%s has commits that are not in %s", f.Lane.Branch, f.Batch.Integration)
	}
	for _, path := range f.Tree.Dirty {
		reasons = append(reasons, one(lanes.CodeNotLanded, path, "operator", "ferrox clean", "%s is not committed", path)...)
	}
	return reasons
}
