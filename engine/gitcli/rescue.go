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

const (
	rescues = "refs/ferrox/rescue/"
	spool   = ".ferrox/"
)

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
	paths, err := s.sort(st, &got)
	if err != nil {
		return got, err
	}
	tree, err := s.worktreeTree(ctx, paths)
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

// sort splits the status into paths to take in and what is only listed.
func (s *rescue) sort(st worktreeStatus, got *engine.Rescue) ([]string, error) {
	var paths []string
	for _, e := range st.entries {
		switch {
		case e.ignored:
			got.Ignored = append(got.Ignored, e.Path)
		case e.Code != "??":
			paths = append(paths, e.Path)
			if e.inside {
				s.missing = append(s.missing, e.Path)
				got.Ignored = append(got.Ignored, e.Path+"/")
			}
		case strings.HasPrefix(e.Path, spool):
		case strings.HasSuffix(e.Path, "/"):
			files, err := s.nested(e.Path)
			if err != nil {
				return nil, err
			}
			got.Files = append(got.Files, files...)
			got.Ignored = append(got.Ignored, e.Path+".git")
			s.missing = append(s.missing, e.Path+".git")
		default:
			got.Files = append(got.Files, e.Path)
		}
	}
	return append(paths, got.Files...), nil
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

// copyIndex returns a copy of the worktree's index; a file that is not there is an empty index to git.
func (s *rescue) copyIndex(name string) (string, error) {
	to := filepath.Join(s.scratch, name)
	data, err := os.ReadFile(filepath.Join(s.gitDir, "index"))
	if os.IsNotExist(err) {
		return to, nil
	}
	if err != nil {
		return "", fmt.Errorf("copy the index: %w", err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		return "", fmt.Errorf("copy the index: %w", err)
	}
	return to, nil
}

// worktreeTree writes the tree of tracked changes and untracked files.
func (s *rescue) worktreeTree(ctx context.Context, paths []string) (string, error) {
	index, err := s.copyIndex("worktree")
	if err != nil {
		return "", err
	}
	if len(paths) > 0 {
		_, err = s.repo.run(ctx, call{
			cwd: s.dir, gitDir: s.gitDir, workTree: s.dir, index: index, config: durable(),
			args:  []string{"update-index", "-z", "--add", "--remove", "--replace", "--stdin"},
			stdin: []byte(strings.Join(paths, "\x00") + "\x00"),
		})
		if err != nil {
			return "", err
		}
	}
	return s.writeTree(ctx, index)
}

func (s *rescue) writeTree(ctx context.Context, index string) (string, error) {
	out, err := s.repo.run(ctx, call{cwd: s.dir, gitDir: s.gitDir, index: index, config: durable(), args: []string{"write-tree"}})
	return strings.TrimSpace(string(out)), err
}

// indexCommit keeps the index when it holds something that neither the head nor the worktree has; "" otherwise.
func (s *rescue) indexCommit(ctx context.Context, st worktreeStatus, worktree string) (lanes.Commit, error) {
	staged := false
	for _, e := range st.entries {
		staged = staged || e.staged
	}
	if !staged {
		return "", nil
	}
	index, err := s.copyIndex("staged")
	if err != nil {
		return "", err
	}
	if err := s.settle(ctx, index); err != nil {
		return "", err
	}
	tree, err := s.writeTree(ctx, index)
	if err != nil || tree == worktree {
		return "", err
	}
	message := "index of " + filepath.Base(s.dir) + "\n"
	return s.repo.commitTree(ctx, commitSpec{tree: tree, parents: distinct([]lanes.Commit{st.head}), message: message, at: s.at})
}

// settle takes conflicts out of a copied index, for no tree can hold them: our side stays, the others are in the
// commits being merged.
func (s *rescue) settle(ctx context.Context, index string) error {
	out, err := s.repo.run(ctx, call{cwd: s.dir, gitDir: s.gitDir, workTree: s.dir, index: index, args: []string{"ls-files", "-u", "-z"}})
	if err != nil || len(out) == 0 {
		return err
	}
	var cleared, ours strings.Builder
	for line := range strings.SplitSeq(string(out), "\x00") {
		meta, path, ok := strings.Cut(line, "\t")
		f := strings.Fields(meta) // mode, object, stage
		if !ok || len(f) != 3 {
			continue
		}
		fmt.Fprintf(&cleared, "0 %s\t%s\x00", strings.Repeat("0", len(f[1])), path)
		if f[2] == "2" {
			fmt.Fprintf(&ours, "%s %s\t%s\x00", f[0], f[1], path)
		}
	}
	_, err = s.repo.run(ctx, call{
		cwd: s.dir, gitDir: s.gitDir, workTree: s.dir, index: index,
		args: []string{"update-index", "-z", "--index-info"}, stdin: []byte(cleared.String() + ours.String()),
	})
	return err
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
