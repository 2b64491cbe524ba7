package gitcli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sethvargo/go-retry"

	"ferrox/engine"
	"ferrox/engine/crash"
	"ferrox/lanes"
)

// Back-off while another git process holds a lock.
const (
	firstWait = 20 * time.Millisecond
	longWait  = 500 * time.Millisecond
)

// patiently repeats fn while a lock file is in the way, for a bounded time. The lock is never removed: its owner may
// live.
func (r *Repo) patiently(ctx context.Context, fn func(context.Context) error) error {
	b := retry.WithMaxDuration(r.patience, retry.WithCappedDuration(longWait, retry.NewExponential(firstWait)))
	return retry.Do(ctx, b, func(ctx context.Context) error {
		err := fn(ctx)
		if errors.Is(err, engine.ErrGitLocked) {
			return retry.RetryableError(err)
		}
		return err
	})
}

// AddWorktree makes a worktree on branch, and the branch at commit when it is not there.
func (r *Repo) AddWorktree(ctx context.Context, dir, branch string, at lanes.Commit) error {
	if err := errors.Join(checkBranch(branch), checkCommits(at), checkDir(dir)); err != nil {
		return fmt.Errorf("add worktree: %w", err)
	}
	r.worktrees.Lock()
	defer r.worktrees.Unlock()

	there, err := r.clearWay(ctx, dir, branch)
	if err != nil {
		return fmt.Errorf("add worktree %s: %w", dir, err)
	}
	if there {
		return nil
	}
	info, err := r.Branch(ctx, branch)
	if err != nil {
		return fmt.Errorf("add worktree %s: %w", dir, err)
	}
	args := []string{"worktree", "add", "--no-track", "-b", branch, "--", dir, string(at)}
	made := branch
	if info.Head != "" {
		args, made = []string{"worktree", "add", "--", dir, branch}, ""
	}
	if err := r.add(ctx, dir, made, at, args); err != nil {
		return fmt.Errorf("add worktree %s: %w", dir, whenFull(dir, err))
	}
	if err := r.flushWorktree(dir, branch); err != nil {
		return fmt.Errorf("add worktree %s: %w", dir, err)
	}
	return nil
}

// tight is less than a disk has to have left to be no reason for a file that git could not write. Git does not say why.
const tight = 1 << 20

// whenFull says of a failure that the disk is full, if it is.
func whenFull(dir string, err error) error {
	var fs syscall.Statfs_t
	for syscall.Statfs(dir, &fs) != nil && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	if left := uint64(fs.Bavail) * uint64(fs.Bsize); fs.Blocks > 0 && left < tight && !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("%w (%w: %d bytes are left in %s)", err, syscall.ENOSPC, left, dir)
	}
	return err
}

func checkDir(dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("worktree folder %q is not absolute: give the whole path", dir)
	}
	return nil
}

// clearWay reports whether dir is that worktree already. A registration of dir or of branch whose folder is gone is
// dropped; anything else in the way is an error.
func (r *Repo) clearWay(ctx context.Context, dir, branch string) (bool, error) {
	if r.stands(dir, branch) {
		return true, nil
	}
	list, err := r.worktreeRecords(ctx)
	if err != nil {
		return false, err
	}
	for _, w := range list {
		here := canonical(w.Dir) == canonical(dir)
		if !here && w.Branch != branch {
			continue
		}
		_, statErr := os.Lstat(w.Dir)
		switch {
		case os.IsNotExist(statErr) && w.Locked:
			return false, &engine.MendError{
				Err:  fmt.Errorf("%w: %s is gone and its registration is locked", engine.ErrWorktreeLocked, w.Dir),
				Next: "git worktree unlock " + w.Dir,
			}
		case here && w.Branch != branch:
			return false, &engine.MendError{
				Err:  fmt.Errorf("the folder stands on branch %q instead of %q, or its HEAD cannot be read", w.Branch, branch),
				Next: "look with git -C " + w.Dir + " status",
			}
		case os.IsNotExist(statErr):
			if err := r.unregister(ctx, w.Dir); err != nil {
				return false, err
			}
		case here:
			_, err := r.locate(dir)
			return err == nil, err
		default:
			return false, &engine.MendError{Err: fmt.Errorf("%w in %s", engine.ErrRefCheckedOut, w.Dir), Next: r.bringBack(w.Dir, dir)}
		}
	}
	return false, nil
}

// stands reports whether dir is sound and the only worktree on branch. False says nothing.
func (r *Repo) stands(dir, branch string) bool {
	if _, err := r.locate(dir); err != nil {
		return false
	}
	on, ok := r.checkedOut(branch)
	return ok && len(on) == 1 && canonical(on[0]) == canonical(dir)
}

// bringBack is the command that gives a lane the branch which another worktree has: what is in that one comes along.
func (r *Repo) bringBack(from, to string) string {
	if canonical(from) == canonical(r.root) {
		return "git -C " + from + " switch -"
	}
	return "git worktree move " + from + " " + to
}

// unregister drops the registration of one worktree whose folder is gone. `worktree prune` would drop them all.
func (r *Repo) unregister(ctx context.Context, dir string) error {
	return r.patiently(ctx, func(ctx context.Context) error {
		_, err := r.git(ctx, "worktree", "remove", "--force", "--", dir)
		return err
	})
}

// add runs `worktree add` until it works, no lock is in the way any more, or patience ends. What a failed try left
// behind is taken back each time, so that neither the next try nor the user trips over it.
func (r *Repo) add(ctx context.Context, dir, branch string, at lanes.Commit, args []string) error {
	if _, err := os.Lstat(dir); err == nil && !emptyDir(dir) {
		return &engine.MendError{Err: errors.New("the folder is there and not empty"), Next: moveAway(dir)}
	}
	return r.patiently(ctx, func(ctx context.Context) error {
		_, err := r.git(ctx, args...)
		if err == nil {
			return nil
		}
		if errors.Is(err, errHalfMade) {
			err = errors.Join(engine.ErrGitLocked, err)
		}
		made := branch
		if errors.Is(err, engine.ErrRefExists) {
			made = "" // somebody else's
		}
		return errors.Join(err, r.rollBack(context.WithoutCancel(ctx), dir, made, at))
	})
}

// rollBack takes back a half-made worktree, and the branch ("" for none) that was made for it.
func (r *Repo) rollBack(ctx context.Context, dir, branch string, at lanes.Commit) error {
	list, err := r.admins()
	if err != nil {
		return err
	}
	for _, a := range list {
		if canonical(a.dir) != canonical(dir) || a.gitDir == r.common {
			continue
		}
		if _, err := r.git(ctx, "worktree", "remove", "--force", "--force", "--", dir); err != nil {
			return fmt.Errorf("take back worktree %s: %w", dir, err)
		}
	}
	after := crash.Around("remove folder")
	err = os.RemoveAll(dir)
	after()
	if err != nil && !errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("take back worktree %s: %w", dir, err)
	}
	if branch == "" {
		return nil
	}
	info, err := r.Branch(ctx, branch)
	if err != nil || info.Head != at || info.CheckedOutIn != "" {
		return err
	}
	return r.patiently(ctx, func(ctx context.Context) error {
		_, err := r.git(ctx, "update-ref", "--no-deref", "-d", "--", branches+branch, string(at))
		return err
	})
}

// AddDetached makes a scratch worktree without a branch.
func (r *Repo) AddDetached(ctx context.Context, dir string, at lanes.Commit) error {
	if err := errors.Join(checkCommits(at), checkDir(dir)); err != nil {
		return fmt.Errorf("add scratch worktree: %w", err)
	}
	r.worktrees.Lock()
	defer r.worktrees.Unlock()

	if err := r.add(ctx, dir, "", at, []string{"worktree", "add", "--detach", "--", dir, string(at)}); err != nil {
		return fmt.Errorf("add scratch worktree %s: %w", dir, err)
	}
	return nil
}
