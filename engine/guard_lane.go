package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"ferrox/lanes"
)

// LaneGuard is the answer of `ferrox guard lane`.
type LaneGuard struct {
	OK       bool         `json:"ok"`
	Lane     lanes.Number `json:"lane,omitempty"`
	Worktree string       `json:"worktree,omitempty"`
	Branch   string       `json:"branch,omitempty"`
	Base     lanes.Commit `json:"base,omitempty"`
	Against  []string     `json:"against"` // what is wrong
}

// GuardLane looks whether a directory is in a lane's worktree, and that lane on its branch and above its base.
func (e *Engine) GuardLane(ctx context.Context, dir string) (LaneGuard, error) {
	g := LaneGuard{Against: []string{}}
	l, err := e.laneAt(ctx, dir)
	if errors.Is(err, ErrNotFound) {
		g.Against = append(g.Against, dir+" is in no lane's worktree")
		return g, nil
	}
	if err != nil {
		return g, err
	}
	return GuardLane(ctx, e.Git, l)
}

// GuardLane compares a lane's worktree with what the lane is.
func GuardLane(ctx context.Context, git Git, l lanes.Lane) (LaneGuard, error) {
	g := LaneGuard{Lane: l.Number, Worktree: l.Worktree, Branch: l.Branch, Base: l.Base, Against: []string{}}
	tree, err := git.Status(ctx, l.Worktree)
	if errors.Is(err, ErrWorktreeGone) {
		g.Against = append(g.Against, l.Worktree+" is no worktree of this repository any more")
		return g, nil
	}
	if err != nil {
		return g, err
	}
	if tree.Branch != l.Branch {
		g.Against = append(g.Against, fmt.Sprintf("it stands on %q, not on %s", tree.Branch, l.Branch))
	}
	above, err := aboveBase(ctx, git, l, tree.Head)
	if err != nil {
		return g, err
	}
	if !above {
		g.Against = append(g.Against, fmt.Sprintf("%s does not contain %s, where the lane started", tree.Head.Short(), l.Base.Short()))
	}
	g.OK = len(g.Against) == 0
	return g, nil
}

// aboveBase reports whether a head still contains the commit that its lane started from.
func aboveBase(ctx context.Context, git Git, l lanes.Lane, head lanes.Commit) (bool, error) {
	if head == l.Base || l.Base == "" {
		return true, nil
	}
	if head == "" {
		return false, nil
	}
	return git.IsAncestor(ctx, l.Base, head)
}

// laneAt finds the newest lane whose worktree a directory is in.
func (e *Engine) laneAt(ctx context.Context, dir string) (found lanes.Lane, err error) {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	err = e.Store.View(ctx, func(r Reader) error {
		batches, err := r.Batches(ctx)
		if err != nil {
			return err
		}
		for _, b := range batches {
			all, err := r.Lanes(ctx, b.ID)
			if err != nil {
				return err
			}
			for _, l := range all {
				if dir == l.Worktree || strings.HasPrefix(dir, l.Worktree+string(filepath.Separator)) {
					found = l
					return nil
				}
			}
		}
		return ErrNotFound
	})
	return found, err
}
