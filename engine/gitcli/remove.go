package gitcli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"ferrox/engine"
	"ferrox/engine/crash"
	"ferrox/gates"
)

// RemoveScratch removes a worktree that AddDetached made. One that is not there is no error; one on a branch is refused.
func (r *Repo) RemoveScratch(ctx context.Context, dir string) error {
	return r.drop(ctx, dir, true)
}

// RemoveWorktree removes a worktree and its registration, whatever is in it, except for what only a submodule of it has:
// no rescue can hold that, so it is refused.
func (r *Repo) RemoveWorktree(ctx context.Context, p gates.Permit, dir string) error {
	if !p.Valid() {
		return fmt.Errorf("remove worktree %s: no permit: ask the completion predicate first", dir)
	}
	return r.removeWorktree(ctx, dir)
}

func (r *Repo) removeWorktree(ctx context.Context, dir string) error {
	return r.drop(ctx, dir, false)
}

// drop removes a worktree; scratch is one without a branch, whose content nobody misses.
func (r *Repo) drop(ctx context.Context, dir string, scratch bool) error {
	r.worktrees.Lock()
	defer r.worktrees.Unlock()

	w, found, err := r.registered(ctx, dir)
	if err != nil {
		return fmt.Errorf("remove worktree %s: %w", dir, err)
	}
	_, statErr := os.Lstat(dir)
	switch {
	case !found && os.IsNotExist(statErr):
		return nil
	case !found:
		return fmt.Errorf("remove worktree %s: %w: it is not registered here, so it is left alone", dir, engine.ErrWorktreeGone)
	case canonical(w.Dir) == canonical(r.root):
		return fmt.Errorf("remove worktree %s: it is the main checkout", dir)
	case w.Locked:
		return fmt.Errorf("remove worktree %s: %w: git worktree unlock it", dir, engine.ErrWorktreeLocked)
	case scratch && w.Branch != "":
		return fmt.Errorf("remove scratch worktree %s: %w: it is on branch %s", dir, engine.ErrRefCheckedOut, w.Branch)
	}
	if err := r.removeRegistered(ctx, w.Dir, scratch); err != nil {
		return fmt.Errorf("remove worktree %s: %w", dir, err)
	}
	return nil
}

func (r *Repo) registered(ctx context.Context, dir string) (worktreeRecord, bool, error) {
	list, err := r.worktreeRecords(ctx)
	if err != nil {
		return worktreeRecord{}, false, err
	}
	for _, w := range list {
		if canonical(w.Dir) == canonical(dir) {
			return w, true, nil
		}
	}
	return worktreeRecord{}, false, nil
}

// removeRegistered empties the folder itself where git cannot (folders without write permission, as module caches have
// them), so that folder and registration go together.
func (r *Repo) removeRegistered(ctx context.Context, dir string, scratch bool) error {
	// A folder whose link is broken is not a worktree to git any more, but its registration names it.
	gitDir, linkErr := r.locate(dir)
	_, statErr := os.Lstat(dir)
	if linkErr != nil && statErr == nil {
		return linkErr
	}
	if linkErr == nil && !scratch {
		if err := r.onlyHere(ctx, gitDir, dir); err != nil {
			return err
		}
	}
	if err := makeRemovable(dir); err != nil {
		return err
	}
	if err := r.unregister(ctx, dir); err != nil {
		return err
	}
	defer crash.Around("remove folder")()
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("the registration is gone, the folder is not: %w", err)
	}
	return nil
}

// makeRemovable gives the owner write permission on every folder below dir. It follows no symbolic link.
func makeRemovable(dir string) error {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil && !os.IsPermission(err) {
			return err
		}
		if d == nil || !d.IsDir() {
			return nil
		}
		info, statErr := d.Info()
		if statErr != nil || info.Mode().Perm()&0o700 == 0o700 {
			return nil
		}
		defer crash.Around("make removable")()
		return os.Chmod(path, info.Mode().Perm()|0o700)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func emptyDir(dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = f.Readdirnames(1)
	return errors.Is(err, io.EOF)
}
