package gitcli

import (
	"context"
	"errors"
	"fmt"

	"ferrox/engine"
	"ferrox/gates"
	"ferrox/lanes"
)

// FastForward brings a branch and the one clean checkout that has it along to next. Git itself refuses when the checkout
// would lose anything.
func (r *Repo) FastForward(ctx context.Context, p gates.Permit, dir, branch string, next, old lanes.Commit) error {
	if !p.Valid() {
		return fmt.Errorf("bring %s along: no permit: ask the completion predicate first", branch)
	}
	return r.fastForward(ctx, dir, branch, next, old, p.Commit())
}

func (r *Repo) fastForward(ctx context.Context, dir, branch string, next, old, lane lanes.Commit) error {
	if err := errors.Join(checkBranch(branch), checkCommits(next, old)); err != nil {
		return fmt.Errorf("bring %s along: %w", branch, err)
	}
	gitDir, err := r.locate(dir)
	if err != nil {
		return fmt.Errorf("bring %s along: %w", branch, err)
	}
	before, err := r.status(ctx, gitDir, dir, "--ignored=no")
	if err != nil {
		return fmt.Errorf("bring %s along: %w", branch, err)
	}
	if before.branch != branch || before.head != old {
		return fmt.Errorf("bring %s along: %s stands elsewhere by now: %w", branch, dir, engine.ErrRefMoved)
	}
	for _, e := range before.entries {
		if e.Code != "??" {
			return fmt.Errorf("bring %s along: %s in %s is not committed: %w", branch, e.Path, dir, engine.ErrRefCheckedOut)
		}
	}
	if _, err := r.syncLanding(ctx, next, old, lane); err != nil {
		return fmt.Errorf("bring %s along: %w", branch, err)
	}
	in := checkout{r, dir, gitDir}
	taken, err := in.takeSame(ctx, next, old)
	if err != nil {
		return fmt.Errorf("bring %s along: %w", branch, err)
	}
	err = r.patiently(ctx, func(ctx context.Context) error {
		_, err := r.run(ctx, call{
			cwd: dir, gitDir: gitDir, workTree: dir, env: r.logger(), config: durable(),
			args: []string{"merge", "--ff-only", "--quiet", "--no-stat", "--end-of-options", string(next)},
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("bring %s along: %w", branch, errors.Join(err, in.giveBack(ctx, taken)))
	}
	return r.flushRef("refs/heads/" + branch)
}
