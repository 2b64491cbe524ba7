package gitcli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ferrox/engine"
	"ferrox/lanes"
)

// merge is one merge under way.
type merge struct {
	*relation
	repo *Repo
}

// errNoBase stands for two commits that have nothing to do with each other.
var errNoBase = errors.New("the two have no common history: make the lane again from the integration branch")

// Merge computes a merge commit without a checkout. Conflicts are a result, not an error; engine.ErrMergeDriver is
// returned when the outcome depends on a program that ferrox does not run.
func (r *Repo) Merge(ctx context.Context, q engine.MergeRequest) (engine.MergeResult, error) {
	if err := errors.Join(checkCommits(q.Into, q.From), checkFiles(q.Overlay)); err != nil {
		return engine.MergeResult{}, fmt.Errorf("merge: %w", err)
	}
	res, err := r.merge(ctx, q)
	if err != nil {
		return engine.MergeResult{}, fmt.Errorf("merge %s into %s: %w", q.From.Short(), q.Into.Short(), err)
	}
	return res, nil
}

func (r *Repo) merge(ctx context.Context, q engine.MergeRequest) (engine.MergeResult, error) {
	rel, err := r.relate(ctx, q.Into, q.From)
	if err != nil {
		return engine.MergeResult{}, err
	}
	m := &merge{relation: rel, repo: r}
	tree, files, conflicts, err := m.tree(ctx)
	if err != nil || len(conflicts) > 0 {
		return engine.MergeResult{Tree: tree, Conflicts: conflicts}, err
	}
	if files = append(files, unstored(m.overlay(q.Overlay))...); len(files) > 0 {
		if tree, err = r.place(ctx, tree, files); err != nil {
			return engine.MergeResult{}, err
		}
	}
	if conflicts, err = m.clashes(ctx, tree); err != nil || len(conflicts) > 0 {
		return engine.MergeResult{Tree: tree, Conflicts: conflicts}, err
	}
	commit, err := r.commitTree(ctx, commitSpec{
		tree: tree, parents: distinct([]lanes.Commit{q.Into, q.From}), message: q.Message, at: q.At, sign: q.Sign,
	})
	if err != nil {
		return engine.MergeResult{}, err
	}
	return engine.MergeResult{Commit: commit, Tree: tree}, nil
}

// tree computes the merged tree, or a tree and the files that are to be put into it. Where one side contains the other there
// is nothing to merge.
func (m *merge) tree(ctx context.Context) (string, []placed, []engine.Conflict, error) {
	switch {
	case slices.Contains(m.bases, m.into):
		return m.fromTree, nil, nil, nil
	case slices.Contains(m.bases, m.from):
		return m.intoTree, nil, nil, nil
	case m.apart():
		return m.intoTree, placedOf(m.theirs), nil, nil
	}
	tree, conflicts, err := m.mergeTree(ctx)
	return tree, nil, conflicts, err
}

// mergeTree has git merge.
func (m *merge) mergeTree(ctx context.Context) (string, []engine.Conflict, error) {
	scratch, err := os.MkdirTemp("", "ferrox-merge-")
	if err != nil {
		return "", nil, fmt.Errorf("make a scratch folder: %w", err)
	}
	defer os.RemoveAll(scratch)

	if err := m.attributes(ctx, scratch); err != nil {
		return "", nil, err
	}
	c := m.repo.standing(scratch)
	c.args, c.okExit = []string{"merge-tree", "--write-tree", "-z", "--messages", string(m.into), string(m.from)}, 1
	out, code, err := m.repo.exit(ctx, c)
	if err != nil {
		return "", nil, err
	}
	tree, rest, _ := strings.Cut(string(out), "\x00")
	if code == 0 {
		return tree, nil, nil
	}
	conflicts := parseConflicts(rest)
	if len(conflicts) == 0 {
		return "", nil, fmt.Errorf("git reports a conflict and names no path: merge by hand to see it")
	}
	return tree, conflicts, nil
}

// standing is a call whose work tree and index are a scratch folder: merge-tree reads attributes from where it stands,
// and falls back on the index of the main checkout.
func (r *Repo) standing(scratch string) call {
	return call{cwd: scratch, gitDir: r.common, workTree: scratch, index: filepath.Join(scratch, ".git-no-index")}
}

// overlay leaves out files that either side has committed, or that would replace a folder or file of theirs.
func (m *merge) overlay(files []engine.File) []engine.File {
	if len(files) == 0 {
		return nil
	}
	committed := map[string]bool{}
	for _, d := range slices.Concat(m.ours, m.theirs) {
		committed[d.Path] = true
	}
	var kept []engine.File
	for _, f := range files {
		if !committed[f.Path] && !entangled(f.Path, committed) {
			kept = append(kept, f)
		}
	}
	return kept
}

// entangled reports whether a committed path is a folder above path, or lies below it.
func entangled(path string, committed map[string]bool) bool {
	for c := range committed {
		if strings.HasPrefix(path, c+"/") || strings.HasPrefix(c, path+"/") {
			return true
		}
	}
	return false
}
