package enginetest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"ferrox/engine"
	"ferrox/gates"
	"ferrox/lanes"
)

// git is the repository as one process sees it. What moves something waits for its turn and dies with its process.
type git struct {
	engine.Git // what no history needs
	p          *proc
	repo       *repo
}

func (g git) Inspect(context.Context) (engine.RepoInfo, error) {
	return engine.RepoInfo{Root: g.p.w.root(), CommonDir: g.p.w.dir, Head: g.repo.branches["main"], Branch: "main", Version: "2.50.0"}, g.p.alive()
}

func (g git) Resolve(_ context.Context, rev string) (lanes.Commit, error) {
	g.repo.mu.Lock()
	defer g.repo.mu.Unlock()
	if rev == "HEAD" {
		rev = "main"
	}
	if at, ok := g.repo.branches[rev]; ok {
		return at, g.p.alive()
	}
	if _, ok := g.repo.commits[lanes.Commit(rev)]; ok {
		return lanes.Commit(rev), g.p.alive()
	}
	return "", &engine.GitError{Args: []string{"rev-parse", rev}, Err: engine.ErrNoSuchRevision}
}

func (g git) Branch(_ context.Context, name string) (engine.BranchInfo, error) {
	g.repo.mu.Lock()
	defer g.repo.mu.Unlock()
	info := engine.BranchInfo{Head: g.repo.branches[name]}
	if g.repo.inUse == name {
		info.CheckedOutIn = "/elsewhere"
	}
	for dir, branch := range g.repo.worktrees {
		if branch == name {
			info.CheckedOutIn = dir
		}
	}
	return info, g.p.alive()
}

func (g git) BranchesUnder(_ context.Context, prefix string) (map[string]lanes.Commit, error) {
	g.repo.mu.Lock()
	defer g.repo.mu.Unlock()
	found := map[string]lanes.Commit{}
	for name, at := range g.repo.branches {
		if name == prefix || strings.HasPrefix(name, prefix+"/") {
			found[name] = at
		}
	}
	return found, g.p.alive()
}

func (g git) CreateBranch(_ context.Context, name string, at lanes.Commit) error {
	return g.p.effect("make branch", func() error {
		g.repo.mu.Lock()
		defer g.repo.mu.Unlock()
		if g.repo.branches[name] != "" {
			return &engine.GitError{Args: []string{"branch", name}, Err: engine.ErrRefExists}
		}
		g.repo.branches[name] = at
		return nil
	})
}

func (g git) Publish(ctx context.Context, p gates.Permit, branch string, next, old lanes.Commit) error {
	return g.p.effect("publish", func() error {
		g.p.w.checkPublish(ctx, p)
		g.repo.mu.Lock()
		defer g.repo.mu.Unlock()
		switch {
		case g.repo.inUse == branch:
			return &engine.GitError{Args: []string{"update-ref", branch}, Err: engine.ErrRefCheckedOut}
		case g.repo.branches[branch] != old:
			return &engine.GitError{Args: []string{"update-ref", branch}, Err: engine.ErrRefMoved}
		}
		g.repo.branches[branch] = next
		return nil
	})
}

func (g git) IsAncestor(_ context.Context, a, b lanes.Commit) (bool, error) {
	g.repo.mu.Lock()
	defer g.repo.mu.Unlock()
	if _, ok := g.repo.commits[a]; !ok {
		return false, &engine.GitError{Args: []string{"merge-base", string(a)}, Err: engine.ErrNoSuchRevision}
	}
	return g.repo.reach(b)[a], g.p.alive()
}

func (g git) Changed(_ context.Context, base, head lanes.Commit) ([]engine.Change, error) {
	g.repo.mu.Lock()
	defer g.repo.mu.Unlock()
	before, after := g.repo.commits[g.repo.base(base, head)].files, g.repo.commits[head].files
	var all []engine.Change
	for _, path := range changed(before, after) {
		status := byte('M')
		if _, was := before[path]; !was {
			status = 'A'
		}
		all = append(all, engine.Change{Path: path, Status: status, OldMode: "100644", NewMode: "100644"})
	}
	return all, g.p.alive()
}

func (g git) Commits(_ context.Context, base, head lanes.Commit) ([]engine.CommitInfo, error) {
	g.repo.mu.Lock()
	defer g.repo.mu.Unlock()
	known := g.repo.reach(base)
	var all []engine.CommitInfo
	for _, id := range slices.Sorted(maps.Keys(g.repo.reach(head))) {
		if !known[id] {
			subject, body, _ := strings.Cut(g.repo.commits[id].message, "\n")
			all = append(all, engine.CommitInfo{OID: id, Subject: subject, Body: body})
		}
	}
	return all, g.p.alive()
}

func (g git) AddWorktree(_ context.Context, dir, branch string, at lanes.Commit) error {
	g.repo.mu.Lock()
	_, there := g.repo.worktrees[dir]
	g.repo.mu.Unlock()
	if there {
		return g.p.alive()
	}
	return g.p.effect("add worktree", func() error {
		g.repo.mu.Lock()
		defer g.repo.mu.Unlock()
		if g.repo.branches[branch] == "" {
			g.repo.branches[branch] = at
		}
		g.repo.worktrees[dir] = branch
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		return checkOut(dir, nil, g.repo.commits[g.repo.branches[branch]].files)
	})
}

func (g git) ReuseWorktree(ctx context.Context, dir, branch string, at lanes.Commit, exempt func(string) bool) (engine.WorktreeStatus, error) {
	err := g.p.effect("reuse worktree", func() error {
		g.repo.mu.Lock()
		defer g.repo.mu.Unlock()
		head := g.repo.branches[branch]
		if !g.repo.reach(at)[head] {
			return fmt.Errorf("reuse %s: %s is not in %s", dir, head, at)
		}
		files, err := readFiles(dir)
		if err != nil {
			return err
		}
		for _, path := range changed(g.repo.commits[head].files, files) {
			if !exempt(path) {
				return fmt.Errorf("reuse %s: %s is not committed", dir, path)
			}
		}
		g.repo.branches[branch] = at
		return checkOut(dir, files, g.repo.commits[at].files)
	})
	if err != nil {
		return engine.WorktreeStatus{}, err
	}
	return g.Status(ctx, dir)
}

func (g git) Worktrees(context.Context) ([]engine.Worktree, error) {
	g.repo.mu.Lock()
	defer g.repo.mu.Unlock()
	var all []engine.Worktree
	for _, dir := range slices.Sorted(maps.Keys(g.repo.worktrees)) {
		all = append(all, engine.Worktree{Dir: dir, Branch: g.repo.worktrees[dir], Head: g.repo.branches[g.repo.worktrees[dir]]})
	}
	return all, g.p.alive()
}

func (g git) Status(_ context.Context, dir string) (engine.WorktreeStatus, error) {
	g.repo.mu.Lock()
	defer g.repo.mu.Unlock()
	branch, ok := g.repo.worktrees[dir]
	if !ok {
		return engine.WorktreeStatus{}, &engine.GitError{Args: []string{"status"}, Dir: dir, Err: engine.ErrWorktreeGone}
	}
	s := engine.WorktreeStatus{Branch: branch, Head: g.repo.branches[branch]}
	files, err := readFiles(dir)
	if err != nil {
		return s, err
	}
	committed := g.repo.commits[s.Head].files
	for _, path := range changed(committed, files) {
		code := "??"
		if _, known := committed[path]; known {
			code = ".M"
		}
		s.Entries = append(s.Entries, engine.StatusEntry{Path: path, Code: code})
	}
	return s, g.p.alive()
}

func (g git) Merge(_ context.Context, r engine.MergeRequest) (engine.MergeResult, error) {
	g.repo.mu.Lock()
	defer g.repo.mu.Unlock()
	files, base, conflicts := g.repo.merge(r.Into, r.From)
	var out engine.MergeResult
	for _, path := range conflicts {
		out.Conflicts = append(out.Conflicts, engine.Conflict{Path: path, Kind: "content"})
	}
	if len(conflicts) > 0 {
		return out, g.p.alive()
	}
	for _, f := range r.Overlay {
		if files[f.Path] == base[f.Path] {
			files[f.Path] = string(f.Data)
		}
	}
	out.Commit = g.repo.add(commit{files, []lanes.Commit{r.Into, r.From}, r.Message}, r.At)
	return out, g.p.alive()
}

func (g git) Tree(_ context.Context, at lanes.Commit, prefix string) ([]engine.TreeEntry, error) {
	g.repo.mu.Lock()
	defer g.repo.mu.Unlock()
	var all []engine.TreeEntry
	for _, path := range slices.Sorted(maps.Keys(g.repo.commits[at].files)) {
		if prefix == "" || path == prefix || strings.HasPrefix(path, prefix+"/") {
			all = append(all, engine.TreeEntry{Path: path, Mode: "100644", OID: string(at) + ":" + path})
		}
	}
	return all, g.p.alive()
}

func (g git) Blobs(_ context.Context, oids []string) ([][]byte, error) {
	g.repo.mu.Lock()
	defer g.repo.mu.Unlock()
	var all [][]byte
	for _, oid := range oids {
		at, path, _ := strings.Cut(oid, ":")
		all = append(all, []byte(g.repo.commits[lanes.Commit(at)].files[path]))
	}
	return all, g.p.alive()
}
