package engine

import (
	"context"
	"path"

	"ferrox/lanes"
)

// BranchState says what a branch holds, found by comparing commits each time and never from what was recorded.
type BranchState string

// The states of a branch.
const (
	BranchMissing BranchState = "missing" // there is no such branch (yet, or any more)
	BranchEmpty   BranchState = "empty"   // it has no commits over its base
	BranchAhead   BranchState = "ahead"   // it has commits that are not where they belong yet
	BranchMerged  BranchState = "merged"  // all that it has over its base is there: a lane's in the integration branch, the integration branch's in the branch that the batch started from
	BranchUnknown BranchState = "unknown" // git could not be asked
)

// branches answers for the branches of one batch.
type branches struct {
	git         Git
	batch       lanes.Batch
	heads       map[string]lanes.Commit // of all branches of the batch
	homes       []home
	integration lanes.Commit // "" when the branch is missing
	kept        bool         // everything that landed is in the integration branch still
}

// branchesOf looks at a batch's branches. The state of the integration branch is the batch's.
func (e *Engine) branchesOf(ctx context.Context, b lanes.Batch) (*branches, BranchState) {
	heads, err := e.Git.BranchesUnder(ctx, path.Dir(b.Integration))
	if err != nil {
		return nil, BranchUnknown
	}
	br := &branches{git: e.Git, batch: b, heads: heads, integration: heads[b.Integration]}
	if br.kept = br.integration == b.Head; !br.kept && br.integration != "" {
		if br.kept, err = e.Git.IsAncestor(ctx, b.Head, br.integration); err != nil {
			return nil, BranchUnknown
		}
	}
	if br.integration == b.Base {
		return br, BranchEmpty
	}
	if br.homes, err = e.baseBranch(ctx, b); err != nil {
		return nil, BranchUnknown
	}
	state := BranchMissing
	if br.integration != "" {
		state = br.compare(ctx, br.integration, b.Base, br.integration == b.Head, br.homes...)
	}
	return br, state
}

// baseBranch is the branch that the batch started from: where what landed belongs. A batch that started from something else
// belongs to the branch that is checked out.
func (e *Engine) baseBranch(ctx context.Context, b lanes.Batch) ([]home, error) {
	if info, err := e.Git.Branch(ctx, b.BaseRef); err == nil && info.Head != "" {
		return []home{{b.BaseRef, info.Head}}, nil
	}
	return e.homes(ctx, b)
}

// compare says what a branch at head, which started from base, holds that none of the homes has. beyond says that a head
// which no home has is known to be over base.
func (br *branches) compare(ctx context.Context, head, base lanes.Commit, beyond bool, homes ...home) BranchState {
	if head == base {
		return BranchEmpty
	}
	in := false
	for _, h := range homes {
		if in || h.head == base {
			continue
		}
		var err error
		if in, err = br.git.IsAncestor(ctx, head, h.head); err != nil {
			return BranchUnknown
		}
	}
	if !in && beyond {
		return BranchAhead
	}
	below, err := br.git.IsAncestor(ctx, head, base)
	switch {
	case err != nil:
		return BranchUnknown
	case below:
		return BranchEmpty
	case in:
		return BranchMerged
	}
	return BranchAhead
}

// task says what became of one task's commits. l is its lane, zero when it has none.
func (br *branches) task(ctx context.Context, t lanes.Task, l lanes.Lane) BranchState {
	switch {
	case br == nil:
		return BranchUnknown
	case t.Finished:
		return BranchMerged // it stood in the base
	case t.Merge != "":
		return br.landed(ctx, t)
	case l.Branch == "":
		return BranchMissing
	}
	switch head := br.heads[l.Branch]; head {
	case "":
		return BranchMissing
	case br.integration:
		return BranchEmpty // it was brought up to date, and has nothing of its own
	default:
		var homes []home
		if br.integration != "" {
			homes = []home{{br.batch.Integration, br.integration}}
		}
		beyond := br.kept && br.integration != l.Base // the integration branch contains every lane's base
		return br.compare(ctx, head, l.Base, len(homes) > 0 && beyond, homes...)
	}
}

// landed says whether a merge that was recorded is still where it was made, or further on.
func (br *branches) landed(ctx context.Context, t lanes.Task) BranchState {
	if br.kept {
		return BranchMerged
	}
	homes := br.homes
	if br.integration != "" {
		homes = append([]home{{br.batch.Integration, br.integration}}, homes...)
	}
	for _, h := range homes {
		in, err := br.git.IsAncestor(ctx, t.Merge, h.head)
		if err != nil {
			return BranchUnknown
		}
		if in {
			return BranchMerged
		}
	}
	if br.integration == "" {
		return BranchMissing
	}
	return BranchAhead
}

// home is a branch of the user's that may hold what landed.
type home struct {
	name string
	head lanes.Commit
}

// homes are the branch that the batch started from and the one that is checked out.
func (e *Engine) homes(ctx context.Context, b lanes.Batch) ([]home, error) {
	repo, err := e.Git.Inspect(ctx)
	if err != nil {
		return nil, err
	}
	names := []string{repo.Branch}
	if ref := b.BaseRef; ref != "HEAD" && ref != repo.Branch {
		names = append(names, ref)
	}
	var found []home
	for _, name := range names {
		if name == "" {
			continue
		}
		info, err := e.Git.Branch(ctx, name)
		if err == nil && info.Head != "" { // a base that was no branch holds nothing
			found = append(found, home{name, info.Head})
		}
	}
	return found, nil
}
