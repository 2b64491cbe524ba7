package gitcli

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// onlyHere fails when submodules of a worktree hold what is nowhere else: changes, or commits that no remote has. Their
// repositories lie in the worktree's own git directory and go with it, and no ref of this repository can save them.
func (r *Repo) onlyHere(ctx context.Context, gitDir, dir string) error {
	modules := filepath.Join(gitDir, "modules")
	if _, err := os.Lstat(modules); os.IsNotExist(err) {
		return nil
	}
	st, err := r.status(ctx, gitDir, dir, "--ignored=no")
	if err != nil {
		return err
	}
	for _, e := range st.entries {
		if e.inside {
			return fmt.Errorf("submodule %q has changes that would be lost: push or discard them first", e.Path)
		}
	}
	repositories, err := submodules(modules)
	if err != nil {
		return fmt.Errorf("list submodules: %w", err)
	}
	for _, path := range repositories {
		out, err := r.run(ctx, call{
			cwd: path, gitDir: path,
			args: []string{"rev-list", "--max-count=1", "HEAD", "--branches", "--not", "--remotes", "--"},
		})
		if err != nil {
			return err
		}
		if commit := strings.TrimSpace(string(out)); commit != "" {
			name, _ := filepath.Rel(modules, path)
			return fmt.Errorf("submodule %q has commit %s that no remote has: push it first", name, commit)
		}
	}
	return nil
}

// submodules finds the repositories below a modules folder. A submodule's name may have slashes in it.
func submodules(modules string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(modules, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if _, err := os.Lstat(filepath.Join(path, "HEAD")); err == nil {
			found = append(found, path)
			return filepath.SkipDir
		}
		return nil
	})
	return found, err
}
