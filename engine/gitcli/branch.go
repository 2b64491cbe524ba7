package gitcli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"ferrox/engine"
	"ferrox/gates"
	"ferrox/lanes"
)

// refRecord is one ref as listed.
type refRecord struct {
	name string // without refs/heads/
	head lanes.Commit
	dir  string // worktree that has it checked out
}

func (r *Repo) refs(ctx context.Context, pattern string) ([]refRecord, error) {
	out, err := r.git(ctx, "for-each-ref", "--format=%(refname)%00%(objectname)%00%(worktreepath)%00", "--", pattern)
	if err != nil {
		return nil, err
	}
	var list []refRecord
	f := strings.Split(string(out), "\x00")
	for i := 0; i+2 < len(f); i += 3 {
		name := strings.TrimPrefix(strings.TrimPrefix(f[i], "\n"), branches)
		list = append(list, refRecord{name: name, head: lanes.Commit(f[i+1]), dir: f[i+2]})
	}
	return list, nil
}

// Branch looks up a branch and where it is checked out. A worktree that rebases or bisects the branch counts; one whose
// folder is gone and that is not locked does not.
func (r *Repo) Branch(ctx context.Context, name string) (engine.BranchInfo, error) {
	if err := checkBranch(name); err != nil {
		return engine.BranchInfo{}, fmt.Errorf("look up branch: %w", err)
	}
	if rec, ok := r.looseBranch(name); ok {
		return r.branchInfo(rec)
	}
	list, err := r.refs(ctx, branches+name)
	if err != nil {
		return engine.BranchInfo{}, fmt.Errorf("look up branch %s: %w", name, err)
	}
	for _, rec := range list {
		if rec.name == name {
			return r.branchInfo(rec)
		}
	}
	return engine.BranchInfo{}, nil
}

func (r *Repo) branchInfo(rec refRecord) (engine.BranchInfo, error) {
	info := engine.BranchInfo{Head: rec.head, CheckedOutIn: rec.dir}
	if rec.dir == "" {
		dir, err := r.holder(rec.name)
		info.CheckedOutIn = dir
		return info, err
	}
	list, err := r.admins()
	if err != nil {
		return info, err
	}
	for _, a := range list {
		if canonical(a.dir) == canonical(rec.dir) && a.gone() {
			info.CheckedOutIn = ""
		}
	}
	return info, nil
}

// BranchesUnder lists branches that share names with prefix: prefix itself, those below it, and those that prefix is
// below of (a branch "a" keeps "a/b" from being made).
func (r *Repo) BranchesUnder(ctx context.Context, prefix string) (map[string]lanes.Commit, error) {
	if err := checkBranch(prefix); err != nil {
		return nil, fmt.Errorf("list branches: %w", err)
	}
	first, _, _ := strings.Cut(prefix, "/")
	list, err := r.refs(ctx, branches+first)
	if err != nil {
		return nil, fmt.Errorf("list branches under %s: %w", prefix, err)
	}
	found := map[string]lanes.Commit{}
	for _, rec := range list {
		if rec.name == prefix || strings.HasPrefix(rec.name, prefix+"/") || strings.HasPrefix(prefix, rec.name+"/") {
			found[rec.name] = rec.head
		}
	}
	return found, nil
}

// CreateBranch makes a branch where there is none.
func (r *Repo) CreateBranch(ctx context.Context, name string, at lanes.Commit) error {
	if err := errors.Join(checkBranch(name), checkCommits(at)); err != nil {
		return fmt.Errorf("create branch: %w", err)
	}
	if err := r.sync(ctx, string(at), "--not", "--branches", "--tags", "--remotes"); err != nil {
		return fmt.Errorf("create branch %s: %w", name, err)
	}
	if err := r.updateRef(ctx, "create "+name, branches+name, string(at), noOID(at)); err != nil {
		return fmt.Errorf("create branch %s: %w", name, err)
	}
	return nil
}

// updateRef moves one ref from old to next and has git put it on disk before it returns.
func (r *Repo) updateRef(ctx context.Context, why, ref, next, old string) error {
	_, err := r.run(ctx, call{
		args:   []string{"update-ref", "--no-deref", "--create-reflog", "-m", "ferrox: " + why, "--", ref, next, old},
		config: durable(),
		env:    r.logger(),
	})
	if err != nil {
		return err
	}
	return r.flushRef(ref)
}

// Publish moves an integration branch from old to next.
func (r *Repo) Publish(ctx context.Context, p gates.Permit, branch string, next, old lanes.Commit) error {
	if !p.Valid() {
		return fmt.Errorf("publish %s: no permit: ask the completion predicate first", branch)
	}
	return r.publish(ctx, branch, next, old, p.Commit())
}

// publish checks that nobody stands on the branch, that every new object is on disk, that nothing gets lost (next is
// built on old and on the lane's head), and then compares and swaps.
func (r *Repo) publish(ctx context.Context, branch string, next, old, lane lanes.Commit) error {
	if err := errors.Join(checkBranch(branch), checkCommits(next, old, lane)); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	info, err := r.Branch(ctx, branch)
	if err != nil {
		return fmt.Errorf("publish %s: %w", branch, err)
	}
	if info.Head != old {
		return fmt.Errorf("publish %s: %w: it is at %q, not at %s", branch, engine.ErrRefMoved, info.Head.Short(), old.Short())
	}
	if info.CheckedOutIn != "" {
		return fmt.Errorf("publish %s: %w in %s: switch that worktree to another branch", branch, engine.ErrRefCheckedOut, info.CheckedOutIn)
	}
	fresh, err := r.syncLanding(ctx, next, old, lane)
	if err != nil {
		return fmt.Errorf("publish %s: %w", branch, err)
	}
	if err := r.updateRef(ctx, "land "+lane.Short(), branches+branch, string(next), string(old)); err != nil {
		return fmt.Errorf("publish %s: %w", branch, err)
	}
	r.landed.grow(old, next, fresh)
	return nil
}

// syncLanding puts on disk what is new in next, and fails unless next is built on both old and the lane's head. It returns
// the new commits.
func (r *Repo) syncLanding(ctx context.Context, next, old, lane lanes.Commit) ([]lanes.Commit, error) {
	h, err := r.syncHistory(ctx, string(next), "--not", string(old))
	if err != nil {
		return nil, err
	}
	if next == old { // a lane that has landed already needs no merge commit
		h.seen[old] = true
		if h.seen[lane], err = r.IsAncestor(ctx, lane, next); err != nil {
			return nil, err
		}
	}
	for _, c := range []lanes.Commit{old, lane} {
		if !h.seen[c] {
			return nil, fmt.Errorf("%s does not contain %s: compute the merge again", next.Short(), c.Short())
		}
	}
	return h.fresh, nil
}

// DeleteBranch deletes a branch that is still at commit. One that is not there any more is no error.
func (r *Repo) DeleteBranch(ctx context.Context, p gates.Permit, name string, at lanes.Commit) error {
	if !p.Valid() {
		return fmt.Errorf("delete branch %s: no permit: ask the completion predicate first", name)
	}
	return r.deleteBranch(ctx, name, at)
}

func (r *Repo) deleteBranch(ctx context.Context, name string, at lanes.Commit) error {
	if err := errors.Join(checkBranch(name), checkCommits(at)); err != nil {
		return fmt.Errorf("delete branch: %w", err)
	}
	info, err := r.Branch(ctx, name)
	if err != nil {
		return fmt.Errorf("delete branch %s: %w", name, err)
	}
	if info.Head == "" {
		return nil
	}
	if info.CheckedOutIn != "" {
		return fmt.Errorf("delete branch %s: %w in %s: remove that worktree first", name, engine.ErrRefCheckedOut, info.CheckedOutIn)
	}
	_, err = r.run(ctx, call{args: []string{"update-ref", "--no-deref", "-d", "--", branches + name, string(at)}, config: durable()})
	if err != nil {
		return fmt.Errorf("delete branch %s: %w", name, err)
	}
	return nil
}

// logger is who a reflog entry names. It need not be right, but git refuses to write one without.
func (r *Repo) logger() []string {
	if os.Getenv("GIT_COMMITTER_NAME") != "" && os.Getenv("GIT_COMMITTER_EMAIL") != "" {
		return nil
	}
	return []string{"GIT_COMMITTER_NAME=" + fallbackName, "GIT_COMMITTER_EMAIL=" + fallbackEmail}
}
