package gitcli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"ferrox/engine"
	"ferrox/lanes"
)

// ReuseWorktree brings a lane's worktree and branch to commit for its next task, and returns how it stands then. Ignored
// files stay.
func (r *Repo) ReuseWorktree(ctx context.Context, dir, branch string, at lanes.Commit, exempt func(path string) bool) (engine.WorktreeStatus, error) {
	if err := errors.Join(checkBranch(branch), checkCommits(at)); err != nil {
		return engine.WorktreeStatus{}, fmt.Errorf("reuse worktree: %w", err)
	}
	after, err := r.reuse(ctx, dir, branch, at, exempt)
	if err != nil {
		return engine.WorktreeStatus{}, fmt.Errorf("reuse worktree %s: %w", dir, err)
	}
	return after.public(), nil
}

func (r *Repo) reuse(ctx context.Context, dir, branch string, at lanes.Commit, exempt func(path string) bool) (worktreeStatus, error) {
	gitDir, err := r.locate(dir)
	if err != nil {
		return worktreeStatus{}, err
	}
	before, err := r.status(ctx, gitDir, dir, "--ignored=no")
	if err != nil {
		return before, err
	}
	if err := r.reusable(ctx, before, branch, at, exempt); err != nil {
		return before, err
	}
	if err := r.reset(ctx, gitDir, dir, at); err != nil {
		return before, err
	}
	after, err := r.status(ctx, gitDir, dir, "--ignored=no")
	if err != nil {
		return after, err
	}
	if after.head != at || after.branch != branch {
		return after, fmt.Errorf("it did not come to %s: make a new lane", at.Short())
	}
	return after, dirty(after, exempt)
}

// reusable refuses while something in the worktree would be lost: work that is not reachable from the new commit, or not
// committed at all.
func (r *Repo) reusable(ctx context.Context, s worktreeStatus, branch string, at lanes.Commit, exempt func(string) bool) error {
	if s.branch != branch {
		return fmt.Errorf("it is on branch %q, not on %q: switch it back", s.branch, branch)
	}
	if err := dirty(s, exempt); err != nil {
		return err
	}
	if s.head == "" {
		return nil
	}
	landed, err := r.IsAncestor(ctx, s.head, at)
	if err != nil {
		return err
	}
	if !landed {
		return fmt.Errorf("its head %s is not in %s: land or rescue it first", s.head.Short(), at.Short())
	}
	return nil
}

// dirty names what is not committed and not exempt.
func dirty(s worktreeStatus, exempt func(string) bool) error {
	var paths []string
	for _, e := range s.entries {
		if exempt == nil || !exempt(e.Path) {
			paths = append(paths, e.Path)
		}
	}
	if len(paths) == 0 {
		return nil
	}
	return fmt.Errorf("uncommitted: %s: commit or rescue it first", strings.Join(quoted(paths, 5), ", "))
}

// quoted shows the first n paths.
func quoted(paths []string, n int) []string {
	var out []string
	for i, p := range paths {
		if i == n {
			return append(out, fmt.Sprintf("and %d more", len(paths)-n))
		}
		out = append(out, fmt.Sprintf("%q", p))
	}
	return out
}

func (r *Repo) reset(ctx context.Context, gitDir, dir string, at lanes.Commit) error {
	return r.patiently(ctx, func(ctx context.Context) error {
		_, err := r.run(ctx, call{
			cwd: dir, gitDir: gitDir, workTree: dir, env: r.logger(), config: durable(),
			args: []string{"reset", "--quiet", "--hard", string(at), "--"},
		})
		return err
	})
}
