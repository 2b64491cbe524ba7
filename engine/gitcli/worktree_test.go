package gitcli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ferrox/engine"
	"ferrox/gates"
)

func (f *fixture) registered(dir string) bool {
	f.t.Helper()
	list, err := f.repo.Worktrees(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	for _, w := range list {
		if w.Dir == dir {
			return true
		}
	}
	return false
}

func TestAddWorktree(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	dir := f.lane("lane-1")
	f.write(dir, "left.txt", "as it is")

	t.Run("again leaves it as it is", func(t *testing.T) {
		if err := f.repo.AddWorktree(ctx, dir, "ferrox/b/lane-1", f.base); err != nil {
			t.Fatal(err)
		}
		if got := f.read(dir, "left.txt"); got != "as it is" {
			t.Errorf("left.txt is %q", got)
		}
	})
	t.Run("branch is checked out elsewhere", func(t *testing.T) {
		err := f.repo.AddWorktree(ctx, filepath.Join(f.top, "lanes", "twin"), "ferrox/b/lane-1", f.base)
		if !errors.Is(err, engine.ErrRefCheckedOut) {
			t.Errorf("got %v, want ErrRefCheckedOut", err)
		}
	})
	t.Run("folder is on another branch", func(t *testing.T) {
		if err := f.repo.AddWorktree(ctx, dir, "ferrox/b/lane-9", f.base); err == nil {
			t.Error("no error")
		}
	})
	t.Run("folder is somebody else's", func(t *testing.T) {
		other := filepath.Join(f.top, "lanes", "other")
		f.write(other, "mine.txt", "mine")
		if err := f.repo.AddWorktree(ctx, other, "ferrox/b/lane-8", f.base); err == nil {
			t.Error("no error")
		}
		if f.read(other, "mine.txt") != "mine" {
			t.Error("the file was touched")
		}
		if info, _ := f.repo.Branch(ctx, "ferrox/b/lane-8"); info.Head != "" {
			t.Error("a branch was left behind")
		}
	})
	t.Run("branch name in the way", func(t *testing.T) {
		if err := f.repo.AddWorktree(ctx, filepath.Join(f.top, "lanes", "way"), "main/x", f.base); !errors.Is(err, engine.ErrRefExists) {
			t.Errorf("got %v, want ErrRefExists", err)
		}
	})
	t.Run("rebuilt from its branch when the folder is gone", func(t *testing.T) {
		head := f.commit(dir, "work")
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := f.repo.AddWorktree(ctx, dir, "ferrox/b/lane-1", f.base); err != nil {
			t.Fatal(err)
		}
		if got := f.at(dir, "HEAD"); got != head || f.read(dir, "left.txt") != "as it is" {
			t.Errorf("head is %s, want %s", got, head)
		}
	})
	t.Run("gone and locked", func(t *testing.T) {
		f.git(f.dir, "worktree", "lock", dir)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := f.repo.AddWorktree(ctx, dir, "ferrox/b/lane-1", f.base); !errors.Is(err, engine.ErrWorktreeLocked) {
			t.Errorf("got %v, want ErrWorktreeLocked", err)
		}
		if err := f.repo.removeWorktree(ctx, dir); !errors.Is(err, engine.ErrWorktreeLocked) {
			t.Errorf("remove: got %v, want ErrWorktreeLocked", err)
		}
	})
}

func TestAddWorktree_KeepsForeignRegistrations(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	users := filepath.Join(f.top, "usb", "users")
	f.git(f.dir, "worktree", "add", "-q", "-b", "users", users)
	if err := os.RemoveAll(users); err != nil {
		t.Fatal(err)
	}
	dir := f.lane("lane-1")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := f.repo.AddWorktree(t.Context(), dir, "ferrox/b/lane-1", f.base); err != nil {
		t.Fatal(err)
	}
	if !f.registered(users) {
		t.Error("the user's registration was pruned")
	}
}

func TestAddWorktree_FailureLeavesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(f.top, "blocked", "a file where a folder should be")
	dir := filepath.Join(f.top, "blocked", "lane-1")
	if err := f.repo.AddWorktree(t.Context(), dir, "ferrox/b/lane-1", f.base); err == nil {
		t.Fatal("no error")
	}
	if info, _ := f.repo.Branch(t.Context(), "ferrox/b/lane-1"); info.Head != "" {
		t.Error("an orphan branch stays")
	}
	if f.registered(dir) {
		t.Error("an orphan registration stays")
	}
}

func TestW28_TwelveAtOnceUnderAConfigLock(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	lock := filepath.Join(f.dir, ".git", "config.lock")
	if err := os.WriteFile(lock, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(2*time.Second, func() { _ = os.Remove(lock) })
	defer timer.Stop()
	var wg sync.WaitGroup
	errs := make([]error, 12)
	for i := range errs {
		wg.Go(func() {
			name := fmt.Sprintf("lane-%d", i+1)
			errs[i] = f.repo.AddWorktree(t.Context(), filepath.Join(f.top, "lanes", name), "ferrox/b/"+name, f.base)
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	list, err := f.repo.Worktrees(t.Context())
	if err != nil || len(list) != 13 {
		t.Errorf("got %d worktrees, %v; want 13", len(list), err)
	}
	got, err := f.repo.BranchesUnder(t.Context(), "ferrox/b")
	if err != nil || len(got) != 12 {
		t.Errorf("got %d branches, %v; want 12", len(got), err)
	}
}

func TestW28_LockThatGoesAway(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	lock := filepath.Join(f.dir, ".git", "refs", "heads", "lane-1.lock")
	if err := os.WriteFile(lock, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(3*time.Second, func() { _ = os.Remove(lock) }) // longer than git itself waits
	defer timer.Stop()
	if err := f.repo.AddWorktree(t.Context(), filepath.Join(f.top, "lane-1"), "lane-1", f.base); err != nil {
		t.Fatal(err)
	}
}

func TestW28_LockThatStays(t *testing.T) {
	t.Parallel()
	f := newFixture(t, WithPatience(100*time.Millisecond))
	lock := filepath.Join(f.dir, ".git", "refs", "heads", "lane-1.lock")
	if err := os.WriteFile(lock, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(f.top, "lane-1")
	if err := f.repo.AddWorktree(t.Context(), dir, "lane-1", f.base); !errors.Is(err, engine.ErrGitLocked) {
		t.Errorf("got %v, want ErrGitLocked", err)
	}
	if _, err := os.Lstat(dir); err == nil || f.registered(dir) {
		t.Error("a half-made worktree stays")
	}
	if _, err := os.Lstat(lock); err != nil {
		t.Error("somebody else's lock was removed")
	}
}

func TestScratch(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	dir := filepath.Join(f.top, "scratch")
	if err := f.repo.AddDetached(ctx, dir, f.base); err != nil {
		t.Fatal(err)
	}
	if got := f.git(dir, "status", "--porcelain", "--branch"); got != "## HEAD (no branch)" {
		t.Errorf("status is %q", got)
	}
	f.write(dir, "build/out", "left over")
	for range 2 {
		if err := f.repo.RemoveScratch(ctx, dir); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Lstat(dir); err == nil || f.registered(dir) {
		t.Error("the scratch worktree is still there")
	}
	lane := f.lane("lane-1")
	if err := f.repo.RemoveScratch(ctx, lane); err == nil || !f.registered(lane) {
		t.Errorf("a lane was removed as scratch: %v", err)
	}
}

func TestRemoveWorktree(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	lane := f.lane("lane-1")
	if err := f.repo.RemoveWorktree(ctx, gates.Permit{}, lane); err == nil || !f.registered(lane) {
		t.Fatalf("a zero permit was accepted: %v", err)
	}
	if err := f.repo.removeWorktree(ctx, f.dir); err == nil {
		t.Error("the main checkout was removed")
	}
	stranger := filepath.Join(f.top, "stranger")
	f.write(stranger, "x", "x")
	if err := f.repo.removeWorktree(ctx, stranger); !errors.Is(err, engine.ErrWorktreeGone) {
		t.Errorf("got %v, want ErrWorktreeGone", err)
	}

	t.Run("F161 folders without write permission", func(t *testing.T) {
		deep := filepath.Join(lane, "mod", strings.Repeat("deep/", 40))
		if err := os.MkdirAll(deep, 0o755); err != nil {
			t.Fatal(err)
		}
		f.write(deep, "file", "x")
		if err := os.Chmod(deep, 0o500); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := f.repo.removeWorktree(ctx, lane); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := os.Lstat(lane); err == nil || f.registered(lane) {
			t.Error("folder or registration is still there")
		}
	})
}

func TestW26_Submodule(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	lib := newFixture(t)
	f.git(f.dir, "submodule", "--quiet", "add", lib.dir, "lib")
	f.base = f.commit(f.dir, "with submodule")
	lane := f.lane("lane-1")
	f.git(lane, "submodule", "--quiet", "update", "--init")
	if s, err := f.repo.Status(ctx, lane); err != nil || len(s.Entries) != 0 {
		t.Fatalf("clean submodule: got %+v, %v", s, err)
	}
	f.git(lane, "config", "submodule.lib.ignore", "all")
	f.write(filepath.Join(lane, "lib"), "shared.txt", "changed inside\n")
	s, err := f.repo.Status(ctx, lane)
	if err != nil || len(s.Entries) != 1 || s.Entries[0].Path != "lib" || !s.Entries[0].Submodule {
		t.Fatalf("dirty submodule: got %+v, %v", s, err)
	}
	if _, err := f.repo.ReuseWorktree(ctx, lane, "ferrox/b/lane-1", f.base, nil); err == nil {
		t.Error("a lane with a dirty submodule was reused")
	}
	got, err := f.repo.Rescue(ctx, lane, "refs/ferrox/rescue/b/lane-1", "rescue", at)
	if err != nil {
		t.Fatal(err)
	}
	if text := f.git(f.dir, "show", "-s", "--format=%B", string(got.Commit)); !strings.Contains(text, "changes inside lib") || len(got.Ignored) != 1 || got.Ignored[0] != "lib/" {
		t.Errorf("the dirty submodule is not named: %+v\n%s", got, text)
	}
	sub := filepath.Join(lane, "lib")
	if err := f.repo.removeWorktree(ctx, lane); err == nil || !strings.Contains(err.Error(), `"lib"`) || f.read(sub, "shared.txt") != "changed inside\n" {
		t.Fatalf("a change inside a submodule was removed: %v", err)
	}
	f.git(sub, "checkout", "-q", "-b", "work")
	f.commit(sub, "only here")
	f.commit(lane, "names it")
	if err := f.repo.removeWorktree(ctx, lane); err == nil || !strings.Contains(err.Error(), "no remote") || !f.registered(lane) {
		t.Fatalf("a commit that only a submodule has was removed: %v", err)
	}
	f.git(sub, "push", "-q", "origin", "work")
	if err := f.repo.removeWorktree(ctx, lane); err != nil {
		t.Fatal(err)
	}
	if f.registered(lane) {
		t.Error("the lane is still registered")
	}
}

func TestReuseWorktree(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	dir := f.lane("lane-1")
	f.write(dir, ".gitignore", "build/\n")
	f.write(dir, "feature.txt", "done\n")
	head := f.commit(dir, "work")
	next := f.merge(f.base, head, engine.File{Path: "tasks/T-1/STATUS.md", Mode: "100644", Data: []byte("landed\n")}).Commit
	reuse := func() error {
		_, err := f.repo.ReuseWorktree(ctx, dir, "ferrox/b/lane-1", next, func(p string) bool { return strings.HasPrefix(p, "tasks/T-1/") })
		return err
	}

	f.write(dir, "shared.txt", "not committed\n")
	if err := reuse(); err == nil || !strings.Contains(err.Error(), "shared.txt") || f.read(dir, "shared.txt") != "not committed\n" {
		t.Errorf("W23 a change was overwritten: %v", err)
	}
	f.git(dir, "checkout", "-q", "shared.txt")
	f.write(dir, "docs/STATUS.md", "same base name as a task's file")
	if err := reuse(); err == nil || !strings.Contains(err.Error(), "docs/STATUS.md") {
		t.Errorf("W24 got %v, want a refusal that names docs/STATUS.md", err)
	}
	if err := os.Remove(filepath.Join(dir, "docs", "STATUS.md")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.repo.ReuseWorktree(ctx, dir, "ferrox/b/lane-1", f.base, nil); err == nil || f.at(dir, "HEAD") != head {
		t.Errorf("F164 a clean worktree with commits that did not land was reset: %v", err)
	}

	t.Run("F141 reset for the next task, ignored files stay", func(t *testing.T) {
		f.write(dir, "build/cache", "ignored")
		f.write(dir, "tasks/T-1/STATUS.md", "not committed by the lane\n")
		if err := reuse(); err != nil {
			t.Fatal(err)
		}
		if f.at(dir, "HEAD") != next || f.at(f.dir, "ferrox/b/lane-1") != next || f.git(dir, "status", "--porcelain") != "" {
			t.Errorf("the lane is not at %s: %s", next, f.git(dir, "status"))
		}
		if f.read(dir, "tasks/T-1/STATUS.md") != "landed\n" || f.read(dir, "build/cache") != "ignored" {
			t.Error("wrong files")
		}
	})
	t.Run("wrong branch", func(t *testing.T) {
		f.git(dir, "checkout", "-q", "--detach")
		if err := reuse(); err == nil {
			t.Error("a detached lane was reused")
		}
	})
}
