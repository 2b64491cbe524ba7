package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ferrox/gates"
	"ferrox/lanes"
	"ferrox/lanes/packet"
)

// facts gathers everything that a completion depends on. What cannot be read is named, and stands against.
func (r *runner) facts(ctx context.Context, path gates.Path, u unit) (gates.Facts, WorktreeStatus) {
	f := gates.Facts{
		Path: path, Now: r.Clock.Now(), Batch: u.batch, Task: u.task, Lane: u.lane, Holds: u.holds,
		Alive: u.run != nil && u.run.State != lanes.RunExited,
	}
	unreadable := func(ref string, err error) {
		if err != nil {
			f.Unreadable = append(f.Unreadable, gates.Failure{Ref: ref, Text: err.Error()})
		}
	}
	var err error
	f.Packets, err = r.packetFolders(ctx)
	unreadable("the batch's packets", err)
	f.Integration, err = r.integration(ctx, u.batch)
	unreadable(u.batch.Integration, err)
	f.Reviews = reviewsOf(u)
	tree, err := r.Git.Status(ctx, u.lane.Worktree)
	if errors.Is(err, ErrWorktreeGone) {
		f.Tree.Missing = true
		return f, tree
	}
	unreadable(u.lane.Worktree, err)
	f.Tree.Branch, f.Tree.Head, f.Tree.Dirty = tree.Branch, tree.Head, dirty(u, tree)
	unreadable("what the lane changed", r.changes(ctx, &f))
	unreadable("the coordination state", r.coordinate(ctx, u, &f))
	unreadable(u.task.Path+"/"+packet.DoneName, r.readClaim(u, &f))
	unreadable(u.task.Path+"/"+packet.StatusName, readSteps(u, &f))
	return r.whole(f), tree
}

func (r *runner) packetFolders(ctx context.Context) (dirs []string, err error) {
	r.mu.Lock()
	dirs = r.folders
	r.mu.Unlock()
	if dirs != nil {
		return dirs, nil
	}
	err = r.Store.View(ctx, func(rd Reader) error {
		dirs, err = rd.TaskPaths(ctx, r.id)
		return err
	})
	if err == nil {
		r.mu.Lock()
		r.folders = dirs
		r.mu.Unlock()
	}
	return dirs, err
}

// integration looks at the integration branch. It may have been moved on by someone else, as long as what ferrox recorded
// is still in it.
func (r *runner) integration(ctx context.Context, b lanes.Batch) (gates.Integration, error) {
	info, err := r.Git.Branch(ctx, b.Integration)
	if err != nil || info.Head == "" {
		return gates.Integration{}, err
	}
	found := gates.Integration{Head: info.Head, CheckedOutIn: info.CheckedOutIn, Followable: info.Head == b.Head}
	if !found.Followable {
		found.Followable, err = r.Git.IsAncestor(ctx, b.Head, info.Head)
	}
	return found, err
}

// changes lists what the lane changed since it last met the integration branch.
func (r *runner) changes(ctx context.Context, f *gates.Facts) error {
	if f.Tree.Head == "" {
		return nil
	}
	base := f.Integration.Head
	if !f.Integration.Followable {
		base = f.Batch.Head // what others did to the branch is no change of the lane's
	}
	changed, err := r.Git.Changed(ctx, base, f.Tree.Head)
	for _, c := range changed {
		f.Changed = append(f.Changed, c.Path)
		if c.Status == 'A' {
			f.Added = append(f.Added, c.Path)
		}
		if c.Gitlink() {
			f.Gitlinks = append(f.Gitlinks, c.Path)
		}
	}
	return err
}

func (r *runner) readClaim(u unit, f *gates.Facts) error {
	id, err := claimIdentity(u.claimFile())
	f.Claim.Present = id != ""
	f.Claim.Stale = id != "" && (u.last == nil || id == u.last.DoneBefore)
	return err
}

func readSteps(u unit, f *gates.Facts) error {
	p, err := progressOf(u)
	if err != nil {
		return err
	}
	f.Steps.None = p.NoSteps
	for _, s := range p.Open {
		f.Steps.Open = append(f.Steps.Open, fmt.Sprintf("Step %d: %s (%s)", s.Number, s.Name, s.Why))
	}
	return nil
}

// progressOf compares the STATUS.md in the lane with the packet in the lane.
func progressOf(u unit) (packet.Progress, error) {
	prompt, err := os.ReadFile(filepath.Join(u.taskDir(), packet.PromptName))
	if err != nil {
		return packet.Progress{}, err
	}
	status, err := os.ReadFile(filepath.Join(u.taskDir(), packet.StatusName))
	if errors.Is(err, os.ErrNotExist) {
		status, err = nil, nil
	}
	p, _ := packet.Parse(packet.Files{Dir: u.task.Path, Prompt: prompt, HasPrompt: true})
	return packet.ProgressOf(p, status), err
}

// reviewsOf says which gates count. As long as no reviewer runs, a level above 0 cannot be satisfied.
func reviewsOf(u unit) gates.Reviews {
	level := u.task.ReviewLevel
	if u.batch.ReviewLevel != nil {
		level = *u.batch.ReviewLevel
	}
	found := gates.Reviews{Level: level, Latest: u.task.Gates}
	if level > 0 {
		found.Required = []string{fmt.Sprintf("review level %d", level)}
	}
	return found
}

// dirty lists what is not committed outside the packet's own records and ferrox's spool.
func dirty(u unit, tree WorktreeStatus) []string {
	var paths []string
	for _, e := range tree.Entries {
		if !u.ownRecord(e.Path) && !strings.HasPrefix(e.Path, spoolRoot+"/") {
			paths = append(paths, e.Path)
		}
	}
	return paths
}
