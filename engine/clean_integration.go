package engine

import (
	"context"

	"ferrox/gates"
	"ferrox/lanes"
)

// integration removes the integration branch when a branch of the user's holds all of it, and no kept lane is compared
// with it.
func (c *cleaning) integration(ctx context.Context) error {
	branch := lanes.Lane{Branch: c.batch.Integration}
	info, err := c.Git.Branch(ctx, branch.Branch)
	if err != nil {
		return err
	}
	if info.Head == "" {
		return c.settleGone(ctx, 0)
	}
	if len(c.out.Kept) > 0 {
		c.keep(branch, lanes.Reason{
			Code: lanes.CodeNotLanded, Ref: branch.Branch, Clears: "operator", Next: c.out.Kept[0].Reasons[0].Next, Text: "lanes are kept that are compared with it",
		})
		return nil
	}
	homes, err := c.homes(ctx, c.batch)
	if err != nil {
		return err
	}
	f := gates.Facts{
		Path: gates.PathClean, Now: c.Clock.Now(), Batch: c.batch, Task: lanes.Task{Batch: c.batch.ID}, Lane: branch,
		Tree: gates.Tree{Branch: branch.Branch, Head: info.Head},
	}
	for _, h := range homes {
		in, err := c.Git.IsAncestor(ctx, info.Head, h.head)
		if err != nil {
			return err
		}
		f.Tree.Landed = f.Tree.Landed || in
	}
	permit, reasons := gates.Complete(f)
	if len(reasons) > 0 {
		for i := range reasons {
			reasons[i].Text, reasons[i].Next = branch.Branch+" has commits that are in no branch of yours", "git merge "+branch.Branch
		}
		c.keep(branch, reasons...)
		return nil
	}
	return c.removeIntegration(ctx, permit, branch, info.Head)
}

func (c *cleaning) removeIntegration(ctx context.Context, p gates.Permit, branch lanes.Lane, head lanes.Commit) error {
	key, err := c.intend(ctx, p, 0, removal{Branch: branch.Branch, Head: head})
	if err != nil {
		return err
	}
	if err := c.Git.DeleteBranch(ctx, p, branch.Branch, head); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c.keep(branch, refusedByGit(branch, err))
		return c.settle(ctx, 0, key, lanes.EffectAbandoned, err.Error())
	}
	c.out.Removed = append(c.out.Removed, Removed{Branch: branch.Branch, Head: head})
	return c.settle(ctx, 0, key, lanes.EffectDone, branch.Branch+" removed")
}
