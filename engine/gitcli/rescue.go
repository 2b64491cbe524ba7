package gitcli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ferrox/engine"
	"ferrox/lanes"
)

const rescues = "refs/ferrox/rescue/"

// Rescue puts everything of a worktree that git would lose under a ref: head, index, changes, untracked files, and the
// commits of an operation that is under way. Worktree and index are only read, and no lock of theirs is taken.
func (r *Repo) Rescue(ctx context.Context, dir, ref, message string, at time.Time) (engine.Rescue, error) {
	if err := checkRescue(ref); err != nil {
		return engine.Rescue{}, err
	}
	gitDir, err := r.locate(dir)
	if err != nil {
		return engine.Rescue{}, fmt.Errorf("rescue: %w", err)
	}
	scratch, err := os.MkdirTemp("", "ferrox-rescue-")
	if err != nil {
		return engine.Rescue{}, fmt.Errorf("rescue %s: make a scratch folder: %w", dir, err)
	}
	defer os.RemoveAll(scratch)

	s := &rescue{repo: r, dir: dir, gitDir: gitDir, scratch: scratch, message: message, at: at}
	got, err := s.save(ctx, ref)
	if err != nil {
		return engine.Rescue{}, fmt.Errorf("rescue %s: %w", dir, err)
	}
	return got, nil
}

func checkRescue(ref string) error {
	if !strings.HasPrefix(ref, rescues) {
		return fmt.Errorf("rescue: ref %q is not below %s", ref, rescues)
	}
	if err := checkRef(ref); err != nil {
		return fmt.Errorf("rescue: %w", err)
	}
	return nil
}

// rescue is one rescue under way.
type rescue struct {
	repo    *Repo
	dir     string
	gitDir  string
	scratch string
	message string
	at      time.Time
	missing []string // submodules whose inside cannot be taken in
}

func (s *rescue) save(ctx context.Context, ref string) (engine.Rescue, error) {
	st, err := s.repo.status(ctx, s.gitDir, s.dir, "--ignored=matching")
	if err != nil {
		return engine.Rescue{}, err
	}
	got := engine.Rescue{Ref: ref}
	found, err := s.sort(st, &got)
	if err != nil {
		return got, err
	}
	tree, err := s.worktreeTree(ctx, found)
	if err != nil {
		return got, err
	}
	if got.Index, err = s.indexCommit(ctx, st, tree); err != nil {
		return got, err
	}
	parents := append([]lanes.Commit{}, st.head)
	parents = append(parents, got.Index)
	parents = append(parents, s.underWay(ctx)...)
	got.Commit, err = s.repo.commitTree(ctx, commitSpec{tree: tree, parents: distinct(parents), message: s.text(), at: s.at})
	if err != nil {
		return got, err
	}
	return got, s.publish(ctx, ref, st.branch, got.Commit)
}

// paths are what a worktree holds that its index does not.
type paths struct {
	present []string
	deleted []string
}

// sort splits the status into paths to take in and what is only listed.
func (s *rescue) sort(st worktreeStatus, got *engine.Rescue) (paths, error) {
	var p paths
	for _, e := range st.entries {
		switch {
		case e.ignored:
			got.Ignored = append(got.Ignored, e.Path)
		case e.Code[1] == 'D':
			p.deleted = append(p.deleted, e.Path)
		case e.Code != "??":
			p.present = append(p.present, e.Path)
			if e.inside {
				s.missing = append(s.missing, e.Path)
				got.Ignored = append(got.Ignored, e.Path+"/")
			}
		case strings.HasSuffix(e.Path, "/"):
			files, err := s.nested(e.Path)
			if err != nil {
				return p, err
			}
			got.Files = append(got.Files, files...)
			got.Ignored = append(got.Ignored, e.Path+".git")
			s.missing = append(s.missing, e.Path+".git")
		default:
			got.Files = append(got.Files, e.Path)
		}
	}
	p.present = append(p.present, got.Files...)
	return p, nil
}

// nested lists the files of an untracked repository inside the worktree, which git shows as one folder.
func (s *rescue) nested(folder string) ([]string, error) {
	var files []string
	root := filepath.Join(s.dir, filepath.FromSlash(folder))
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".git" {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if d.Type().IsRegular() || d.Type()&os.ModeSymlink != 0 {
			rel, err := filepath.Rel(s.dir, path)
			files = append(files, filepath.ToSlash(rel))
			return err
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list files of the repository in %s: %w", folder, err)
	}
	return files, nil
}

// operations are the files that name commits of a merge, rebase or pick under way.
var operations = [...]string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge/orig-head", "rebase-apply/orig-head"}

// underWay returns the commits that only an operation under way holds on to.
func (s *rescue) underWay(ctx context.Context) []lanes.Commit {
	var commits []lanes.Commit
	for _, name := range operations {
		data, err := os.ReadFile(filepath.Join(s.gitDir, name))
		if err != nil {
			continue
		}
		for oid := range strings.FieldsSeq(string(data)) {
			if !isOID(oid) {
				continue
			}
			if c, err := s.repo.Resolve(ctx, oid); err == nil {
				commits = append(commits, c)
			}
		}
	}
	return commits
}

func (s *rescue) text() string {
	text := strings.TrimRight(s.message, "\n") + "\n"
	if len(s.missing) > 0 {
		text += "\nNot taken in, because no tree can hold it:\n"
	}
	for _, path := range s.missing {
		text += "- changes inside " + path + "\n"
	}
	return text
}

// publish makes the ref. The same rescue again finds it made.
func (s *rescue) publish(ctx context.Context, ref, branch string, commit lanes.Commit) error {
	if err := s.repo.sync(ctx, string(commit), "--not", "--exclude="+branch, "--branches", "--remotes", "--tags"); err != nil {
		return err
	}
	err := s.repo.updateRef(ctx, "rescue", ref, string(commit), noOID(commit))
	if errors.Is(err, engine.ErrRefExists) {
		if there, lookErr := s.repo.Resolve(ctx, ref); lookErr == nil && there == commit {
			return nil
		}
	}
	return err
}

// distinct drops empty and repeated commits.
func distinct(commits []lanes.Commit) []lanes.Commit {
	var out []lanes.Commit
	seen := map[lanes.Commit]bool{"": true}
	for _, c := range commits {
		if !seen[c] {
			out = append(out, c)
		}
		seen[c] = true
	}
	return out
}
