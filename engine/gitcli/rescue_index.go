package gitcli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ferrox/lanes"
)

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

// worktreeTree writes the tree of tracked changes and untracked files. Deletions go first: where a link or a file took a
// folder's place, git would look for the deleted paths behind it.
func (s *rescue) worktreeTree(ctx context.Context, p paths) (string, error) {
	index, err := s.copyIndex("worktree")
	if err != nil {
		return "", err
	}
	hidden, err := s.hidden(ctx, index)
	if err != nil {
		return "", err
	}
	present := append(p.present[:len(p.present):len(p.present)], hidden...)
	if err := s.updateIndex(ctx, index, p.deleted, "--force-remove"); err != nil {
		return "", err
	}
	if err := s.updateIndex(ctx, index, present, "--add", "--remove", "--replace"); err != nil {
		return "", err
	}
	return s.writeTree(ctx, index)
}

// hidden lists tracked files that status does not look at, because somebody marked them "assume unchanged" or "skip
// worktree", and takes the marks off in the copied index. Files that a sparse checkout left out are not there.
func (s *rescue) hidden(ctx context.Context, index string) ([]string, error) {
	out, err := s.repo.run(ctx, call{cwd: s.dir, gitDir: s.gitDir, workTree: s.dir, index: index, args: []string{"ls-files", "-v", "-z"}})
	if err != nil {
		return nil, err
	}
	var hidden []string
	for line := range strings.SplitSeq(string(out), "\x00") {
		tag, path, ok := strings.Cut(line, " ")
		if !ok || tag != "S" && tag == strings.ToUpper(tag) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(s.dir, filepath.FromSlash(path))); err == nil {
			hidden = append(hidden, path)
		}
	}
	if err := s.updateIndex(ctx, index, hidden, "--no-assume-unchanged"); err != nil {
		return nil, err
	}
	return hidden, s.updateIndex(ctx, index, hidden, "--no-skip-worktree")
}

// updateIndex runs update-index on paths, if there are any.
func (s *rescue) updateIndex(ctx context.Context, index string, paths []string, options ...string) error {
	if len(paths) == 0 {
		return nil
	}
	_, err := s.repo.run(ctx, call{
		cwd: s.dir, gitDir: s.gitDir, workTree: s.dir, index: index, config: durable(),
		args:  append(append([]string{"update-index", "-z"}, options...), "--stdin"),
		stdin: []byte(strings.Join(paths, "\x00") + "\x00"),
	})
	return err
}

func (s *rescue) writeTree(ctx context.Context, index string) (string, error) {
	out, err := s.repo.run(ctx, call{cwd: s.dir, gitDir: s.gitDir, index: index, config: durable(), args: []string{"write-tree"}})
	return strings.TrimSpace(string(out)), err
}

// indexCommit keeps the index when it differs from the head; "" otherwise.
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
	if err != nil || st.head == "" && tree == worktree { // without a head, an index could be taken for one
		return "", err
	}
	message := indexOf + filepath.Base(s.dir) + "\n"
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
