package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"ferrox/gates"
	"ferrox/hold"
	"ferrox/lanes"
)

// laneRest is what is left of a lane, as found.
type laneRest struct {
	lane   lanes.Lane
	tasks  []lanes.Task // that were worked on in it
	holds  []hold.Record
	alive  bool
	gone   bool // the worktree's folder is not there
	tree   WorktreeStatus
	branch BranchInfo
	facts  gates.Facts
}

// task is the one that binds the lane: what a permit speaks of.
func (l laneRest) task() lanes.Task {
	for _, t := range l.tasks {
		if t.ID == l.lane.Task {
			return t
		}
	}
	return lanes.Task{Batch: l.lane.Batch}
}

// lane removes one lane, or says why it stays.
func (c *cleaning) lane(ctx context.Context, n lanes.Number) error {
	rest, err := c.look(ctx, n)
	if err != nil {
		return err
	}
	if rest.gone && rest.branch.Head == "" {
		return c.settleGone(ctx, n)
	}
	if rest.facts.Rescued, err = c.rescuedBefore(ctx, rest); err != nil {
		return err
	}
	permit, reasons := gates.Complete(rest.facts)
	if len(reasons) > 0 && onlyNotLanded(reasons) {
		if rest, err = c.rescue(ctx, rest); err != nil {
			return err
		}
		permit, reasons = gates.Complete(rest.facts)
	}
	if len(reasons) > 0 {
		c.keep(rest.lane, reasons...)
		return nil
	}
	return c.remove(ctx, permit, rest)
}

// rescuedBefore is the rescue of a removal that a crash cut short after the worktree was gone.
func (c *cleaning) rescuedBefore(ctx context.Context, rest laneRest) (ref string, err error) {
	if !rest.gone {
		return "", nil
	}
	err = c.Store.View(ctx, func(r Reader) error {
		key, err := c.pending(ctx, r, rest.lane.Number)
		if key == "" || err != nil {
			return err
		}
		e, err := r.Effect(ctx, key)
		if err != nil {
			return err
		}
		var what removal
		if err := json.Unmarshal([]byte(e.Payload), &what); err != nil {
			return err
		}
		if what.Head == rest.branch.Head {
			ref = what.Rescue
		}
		return nil
	})
	if err != nil || ref == "" {
		return "", err
	}
	held, err := c.Git.Resolve(ctx, ref)
	if err != nil {
		return "", nil // the ref is gone: it is rescued anew
	}
	if in, err := c.Git.IsAncestor(ctx, rest.branch.Head, held); err != nil || !in {
		return "", err
	}
	return ref, nil
}

func onlyNotLanded(reasons []lanes.Reason) bool {
	return !slices.ContainsFunc(reasons, func(r lanes.Reason) bool { return r.Code != lanes.CodeNotLanded })
}

// look gathers what the removal of a lane depends on.
func (c *cleaning) look(ctx context.Context, n lanes.Number) (rest laneRest, err error) {
	if rest, err = c.records(ctx, n); err != nil {
		return rest, err
	}
	rest.facts = gates.Facts{
		Path: gates.PathClean, Now: c.Clock.Now(), Batch: c.batch, Task: rest.task(), Lane: rest.lane, Holds: rest.holds, Alive: rest.alive,
	}
	unreadable := func(ref string, err error) {
		if err != nil {
			rest.facts.Unreadable = append(rest.facts.Unreadable, gates.Failure{Ref: ref, Text: err.Error()})
		}
	}
	rest.branch, err = c.Git.Branch(ctx, rest.lane.Branch)
	unreadable(rest.lane.Branch, err)
	_, statErr := os.Lstat(rest.lane.Worktree)
	if rest.gone = errors.Is(statErr, os.ErrNotExist); !rest.gone {
		rest.tree, err = c.Git.Status(ctx, rest.lane.Worktree)
		unreadable(rest.lane.Worktree, err)
	}
	rest.facts.Tree.Branch, rest.facts.Tree.Head = rest.tree.Branch, rest.tree.Head
	if rest.gone {
		rest.facts.Tree.Branch, rest.facts.Tree.Head = rest.lane.Branch, rest.branch.Head
	}
	rest.facts.Tree.Landed, err = c.landed(ctx, rest.tree.Head, rest.branch.Head)
	unreadable("what the lane has beyond "+c.batch.Integration, err)
	rest.facts.Tree.Dirty, err = c.unsaved(ctx, rest)
	unreadable(rest.lane.Worktree, err)
	return rest, nil
}

func (c *cleaning) records(ctx context.Context, n lanes.Number) (rest laneRest, err error) {
	err = c.Store.View(ctx, func(r Reader) error {
		var errs [4]error
		rest.lane, errs[0] = r.Lane(ctx, c.batch.ID, n)
		tasks, err := r.Tasks(ctx, c.batch.ID)
		errs[1] = err
		holds, err := r.Holds(ctx, HoldFilter{Batch: c.batch.ID, Unresolved: true})
		errs[2] = err
		runs, err := r.Runs(ctx, RunFilter{Batch: c.batch.ID, Lane: n})
		errs[3] = err
		for _, t := range tasks {
			if t.Lane == n || t.ID == rest.lane.Task {
				rest.tasks = append(rest.tasks, t)
			}
		}
		for _, h := range holds {
			if h.Lane == n || slices.ContainsFunc(rest.tasks, func(t lanes.Task) bool { return t.ID == h.Task }) {
				rest.holds = append(rest.holds, h)
			}
		}
		for _, run := range runs {
			rest.alive = rest.alive || slices.ContainsFunc(c.shimOf(run), c.Workers.Alive)
		}
		return errors.Join(errs[:]...)
	})
	return rest, err
}

// landed reports whether all the commits are reachable from what the lane is compared with.
func (c *cleaning) landed(ctx context.Context, heads ...lanes.Commit) (bool, error) {
	for _, h := range heads {
		if h == "" {
			continue
		}
		if c.target == "" {
			return false, nil
		}
		if in, err := c.Git.IsAncestor(ctx, h, c.target); err != nil || !in {
			return false, err
		}
	}
	return true, nil
}

// unsaved lists what is not committed. A landed task's own records do not count where the merge holds the same bytes;
// everything else does, whatever its name.
func (c *cleaning) unsaved(ctx context.Context, rest laneRest) ([]string, error) {
	var paths []string
	for _, e := range rest.tree.Entries {
		if strings.HasPrefix(e.Path, spoolRoot+"/") {
			continue
		}
		saved, err := c.inMerge(ctx, rest, e.Path)
		if err != nil {
			return nil, err
		}
		if !saved {
			paths = append(paths, e.Path)
		}
	}
	return paths, nil
}

// inMerge reports whether a path is a landed task's own record, and in its merge commit as it lies in the lane.
func (c *cleaning) inMerge(ctx context.Context, rest laneRest, path string) (bool, error) {
	for _, t := range rest.tasks {
		u := unit{task: t, lane: rest.lane}
		if t.Merge == "" || !u.ownRecord(path) {
			continue
		}
		f, err := readFile(rest.lane.Worktree, path)
		if errors.Is(err, os.ErrNotExist) {
			return true, nil // deleted: what is committed of it landed
		}
		if err != nil {
			return false, err
		}
		entries, err := c.Git.Tree(ctx, t.Merge, path)
		if err != nil {
			return false, err
		}
		for _, e := range entries {
			blobs, err := c.Git.Blobs(ctx, []string{e.OID})
			if err != nil {
				return false, err
			}
			if e.Path == path && e.Mode == f.Mode && bytes.Equal(blobs[0], f.Data) {
				return true, nil
			}
		}
	}
	return false, nil
}

// rescue puts everything that nothing else holds under refs, and returns the lane with that known.
func (c *cleaning) rescue(ctx context.Context, rest laneRest) (laneRest, error) {
	name := fmt.Sprintf("refs/ferrox/rescue/%s/lane-%d", c.batch.ID, rest.lane.Number)
	message := fmt.Sprintf("Rescue of lane %d of batch %s\n\nFerrox-Batch: %s\n", rest.lane.Number, c.batch.ID, c.batch.ID)
	for _, t := range rest.tasks {
		message += fmt.Sprintf("Ferrox-Task: %s\n", t.ID)
	}
	if !rest.gone {
		got, err := c.rescueAs(name, func(ref string) (Rescue, error) {
			return c.Git.Rescue(ctx, rest.lane.Worktree, ref, message, c.rescuedAt())
		})
		if err != nil {
			return rest, err
		}
		c.rescued(rest.lane, got)
		rest.facts.Rescued = got.Ref
	}
	alone := rest.gone || rest.tree.Head != rest.branch.Head
	if in, err := c.landed(ctx, rest.branch.Head); err != nil || in || !alone {
		return rest, err
	}
	if !rest.gone {
		name += "-branch" // the worktree stood elsewhere
	}
	got, err := c.rescueAs(name, func(ref string) (Rescue, error) {
		return c.Git.RescueCommit(ctx, rest.branch.Head, ref, message, c.rescuedAt())
	})
	if err != nil {
		return rest, err
	}
	c.rescued(rest.lane, got)
	rest.facts.Rescued = got.Ref
	return rest, nil
}

// rescuedAt dates rescues with the batch's end, so that the same lane rescued again, after a crash, is the same rescue.
func (c *cleaning) rescuedAt() time.Time { return c.batch.EndedAt }

// rescueAs takes the first name that is free, or that holds this very rescue.
func (c *cleaning) rescueAs(name string, do func(ref string) (Rescue, error)) (Rescue, error) {
	ref := name
	for n := 2; ; n++ {
		got, err := do(ref)
		if !errors.Is(err, ErrRefExists) || n > 99 {
			return got, err
		}
		ref = fmt.Sprintf("%s-%d", name, n)
	}
}

func (c *cleaning) rescued(l lanes.Lane, got Rescue) {
	c.out.Rescued = append(c.out.Rescued, Rescued{
		Lane: l.Number, Ref: got.Ref, Commit: got.Commit, Files: append([]string{}, got.Files...), Ignored: append([]string{}, got.Ignored...),
	})
}

// removal is the payload of a remove effect.
type removal struct {
	Worktree string       `json:"worktree,omitempty"`
	Branch   string       `json:"branch"`
	Head     lanes.Commit `json:"head"`
	Rescue   string       `json:"rescue,omitempty"`
}

// remove takes worktree and branch away. The intent is durable before; git's refusals keep the lane and are shown.
func (c *cleaning) remove(ctx context.Context, p gates.Permit, rest laneRest) error {
	what := removal{Worktree: rest.lane.Worktree, Branch: rest.lane.Branch, Head: rest.branch.Head, Rescue: rest.facts.Rescued}
	key, err := c.intend(ctx, p, rest.lane.Number, what)
	if err != nil {
		return err
	}
	err = c.Git.RemoveWorktree(ctx, p, rest.lane.Worktree)
	if err == nil && rest.branch.Head != "" {
		err = c.Git.DeleteBranch(ctx, p, rest.lane.Branch, rest.branch.Head)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		c.keep(rest.lane, refusedByGit(rest.lane, err))
		return c.settle(ctx, rest.lane.Number, key, lanes.EffectAbandoned, err.Error())
	}
	c.out.Removed = append(c.out.Removed, Removed{Lane: rest.lane.Number, Worktree: rest.lane.Worktree, Branch: rest.lane.Branch, Head: rest.branch.Head})
	return c.settle(ctx, rest.lane.Number, key, lanes.EffectDone, "removed")
}

func refusedByGit(l lanes.Lane, err error) lanes.Reason {
	re := lanes.Reason{Code: lanes.CodeNotLanded, Ref: l.Branch, Text: err.Error(), Clears: "operator", Next: "git -C " + l.Worktree + " status"}
	switch {
	case strings.Contains(err.Error(), "submodule"):
		re.Code, re.Next = lanes.CodeSubmodule, "git -C "+l.Worktree+" submodule foreach git status"
	case errors.Is(err, ErrWorktreeLocked):
		re.Next = "git worktree unlock " + l.Worktree
	case errors.Is(err, ErrRefCheckedOut):
		re.Next = "git worktree list"
	}
	return re
}

// intend records a removal before it is done, if the task still is the one that the permit was given for. One that a crash
// left is taken up again.
func (c *cleaning) intend(ctx context.Context, p gates.Permit, n lanes.Number, what removal) (key string, err error) {
	payload, err := json.Marshal(what)
	if err != nil {
		return "", err
	}
	err = c.update(ctx, func(tx Tx) error {
		if p.Task() != "" {
			if t, err := tx.Task(ctx, p.Batch(), p.Task()); err != nil || t.Version != p.Version() {
				return errors.Join(err, ErrConflict)
			}
		}
		if key, err = c.pending(ctx, tx, n); key != "" || err != nil {
			return err
		}
		key = fmt.Sprintf("remove/%s/%d/%s", c.batch.ID, n, c.NewID())
		return tx.AddEffect(ctx, lanes.Effect{
			Key: key, Batch: c.batch.ID, Kind: lanes.EffectRemove, Task: p.Task(), Lane: n, Payload: string(payload), CreatedAt: c.Clock.Now(),
		})
	})
	return key, err
}

// pending is the key of a removal that was begun and not settled.
func (c *cleaning) pending(ctx context.Context, r Reader, n lanes.Number) (string, error) {
	effects, err := r.Effects(ctx, c.batch.ID, true)
	for _, e := range effects {
		if e.Kind == lanes.EffectRemove && e.Lane == n {
			return e.Key, nil
		}
	}
	return "", err
}

// settleGone settles a removal that was done when a crash came.
func (c *cleaning) settleGone(ctx context.Context, n lanes.Number) error {
	var key string
	err := c.Store.View(ctx, func(r Reader) (err error) {
		key, err = c.pending(ctx, r, n)
		return err
	})
	if err != nil || key == "" {
		return err
	}
	return c.settle(ctx, n, key, lanes.EffectDone, "removed before a crash")
}

// settle records what came of a removal.
func (c *cleaning) settle(ctx context.Context, n lanes.Number, key string, state lanes.EffectState, outcome string) error {
	return c.update(ctx, func(tx Tx) error {
		if err := tx.SettleEffect(ctx, key, state, outcome, c.Clock.Now()); err != nil {
			return err
		}
		name := "removed"
		if state != lanes.EffectDone {
			name = "removal-refused"
		}
		return c.event(ctx, tx, lanes.Event{Batch: c.batch.ID, Type: "lane", Lane: n, Ref: key, Name: name, Text: firstLine(c.textOf(n, outcome))})
	})
}

func (c *cleaning) textOf(n lanes.Number, outcome string) string {
	for _, r := range c.out.Rescued {
		if r.Lane == n && n != 0 {
			outcome += "; rescued as " + r.Ref
		}
	}
	return outcome
}
