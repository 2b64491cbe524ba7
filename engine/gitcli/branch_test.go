package gitcli

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ferrox/engine"
	"ferrox/gates"
)

func TestBranch_CheckedOut(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	lane := f.lane("lane-1")
	f.write(lane, "a", "a")
	f.commit(lane, "one")
	f.write(lane, "b", "b")
	head := f.commit(lane, "two")
	check := func(name, branch, want string) {
		t.Helper()
		info, err := f.repo.Branch(t.Context(), branch)
		if err != nil || info.CheckedOutIn != want {
			t.Errorf("%s: got %+v, %v; want it in %q", name, info, err, want)
		}
	}
	check("main checkout", "main", f.dir)
	check("linked worktree", "ferrox/b/lane-1", lane)

	f.git(lane, "-c", "sequence.editor=sed -i s/pick/edit/", "rebase", "-q", "-i", "HEAD~1")
	check("rebase", "ferrox/b/lane-1", lane)
	f.git(lane, "rebase", "--abort")

	f.git(lane, "bisect", "start")
	f.git(lane, "bisect", "bad", string(head))
	f.git(lane, "bisect", "good", string(f.base))
	check("bisect", "ferrox/b/lane-1", lane)
	f.git(lane, "bisect", "reset")

	f.git(lane, "checkout", "-q", "--detach")
	check("nowhere", "ferrox/b/lane-1", "")

	f.git(lane, "checkout", "-q", "ferrox/b/lane-1")
	if err := os.RemoveAll(lane); err != nil {
		t.Fatal(err)
	}
	check("folder gone", "ferrox/b/lane-1", "")

	info, err := f.repo.Branch(t.Context(), "ferrox/b")
	if err != nil || info != (engine.BranchInfo{}) {
		t.Errorf("a folder of branches is no branch: got %+v, %v", info, err)
	}
}

func TestBranchesUnder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, name := range []string{"ferrox/b/lane-1", "ferrox/b/integration", "ferrox/bb", "ferrox-b", "top"} {
		f.git(f.dir, "branch", name)
	}
	for prefix, want := range map[string][]string{
		"ferrox/b":       {"ferrox/b/integration", "ferrox/b/lane-1"},
		"ferrox/b/other": nil,
		"top/b":          {"top"},
		"top":            {"top"},
	} {
		got, err := f.repo.BranchesUnder(t.Context(), prefix)
		if names := slices.Sorted(maps.Keys(got)); err != nil || !slices.Equal(names, want) {
			t.Errorf("%s: got %v, %v; want %v", prefix, names, err, want)
		}
	}
}

func TestCreateBranch(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if err := f.repo.CreateBranch(t.Context(), "ferrox/b/integration", f.base); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ferrox/b/integration", "ferrox/b", "ferrox/b/integration/x"} {
		if err := f.repo.CreateBranch(t.Context(), name, f.base); !errors.Is(err, engine.ErrRefExists) {
			t.Errorf("%s: got %v, want ErrRefExists", name, err)
		}
	}
	if err := f.repo.CreateBranch(t.Context(), "ok", "0123456789012345678901234567890123456789"); !errors.Is(err, engine.ErrNoSuchRevision) {
		t.Errorf("got %v, want ErrNoSuchRevision", err)
	}
}

func TestW62_NamesAreNeverOptionsOrPatterns(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, name := range []string{"", "-D", "--upload-pack=x", "a..b", "a b", "T.lock", "T@{1}", "a/../../b", "..", "x*", "a//b", "a\nb", "HEAD", "/a", "a/"} {
		if err := f.repo.CreateBranch(t.Context(), name, f.base); err == nil {
			t.Errorf("branch %q was made", name)
		}
		if _, err := f.repo.Branch(t.Context(), name); err == nil {
			t.Errorf("branch %q was looked up", name)
		}
	}
	for _, name := range []string{"a-ü", "x'y\"z", "#1", "a/-D"} {
		if err := f.repo.CreateBranch(t.Context(), name, f.base); err != nil {
			t.Errorf("branch %q: %v", name, err)
		}
		if info, err := f.repo.Branch(t.Context(), name); err != nil || info.Head != f.base {
			t.Errorf("branch %q: got %+v, %v", name, info, err)
		}
	}
	for _, rev := range []string{"", "--all", "-n1", "--git-dir=x", "no-such", "HEAD:docs", "a\x00b", "HEAD\nHEAD", "HEAD^{tree}"} {
		if got, err := f.repo.Resolve(t.Context(), rev); !errors.Is(err, engine.ErrNoSuchRevision) {
			t.Errorf("revision %q: got %q, %v; want ErrNoSuchRevision", rev, got, err)
		}
	}
	if got, err := f.repo.Resolve(t.Context(), "main"); err != nil || got != f.base {
		t.Errorf("main: got %q, %v", got, err)
	}
}

func TestPublish(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	lane := f.laneWith("lane-1", map[string]string{"a.txt": "a\n"})
	if err := f.repo.CreateBranch(ctx, "ferrox/b/integration", f.base); err != nil {
		t.Fatal(err)
	}
	merged := f.merge(f.base, lane).Commit
	other := f.laneWith("lane-2", map[string]string{"b.txt": "b\n"})

	t.Run("zero permit", func(t *testing.T) {
		err := f.repo.Publish(ctx, gates.Permit{}, "ferrox/b/integration", merged, f.base)
		if err == nil || f.at(f.dir, "ferrox/b/integration") != f.base {
			t.Errorf("a zero permit was accepted: %v", err)
		}
	})
	t.Run("F126 result must contain the lane head", func(t *testing.T) {
		if err := f.repo.publish(ctx, "ferrox/b/integration", merged, f.base, other); err == nil {
			t.Error("a merge that does not contain the lane was published")
		}
		if err := f.repo.publish(ctx, "ferrox/b/integration", f.base, f.base, lane); err == nil {
			t.Error("the old head was published as a merge of the lane")
		}
		if err := f.repo.publish(ctx, "ferrox/b/integration", lane, other, lane); err == nil {
			t.Error("a move that drops the old head was published")
		}
	})
	t.Run("moved", func(t *testing.T) {
		if err := f.repo.publish(ctx, "ferrox/b/integration", merged, lane, lane); !errors.Is(err, engine.ErrRefMoved) {
			t.Errorf("got %v, want ErrRefMoved", err)
		}
		if err := f.repo.publish(ctx, "ferrox/b/none", merged, f.base, lane); !errors.Is(err, engine.ErrRefMoved) {
			t.Errorf("no such branch: got %v, want ErrRefMoved", err)
		}
		err := f.repo.updateRef(ctx, "test", "refs/heads/ferrox/b/integration", string(merged), string(lane))
		if !errors.Is(err, engine.ErrRefMoved) {
			t.Errorf("git's own comparison: got %v, want ErrRefMoved", err)
		}
	})
	t.Run("checked out", func(t *testing.T) {
		f.git(f.dir, "checkout", "-q", "ferrox/b/integration")
		err := f.repo.publish(ctx, "ferrox/b/integration", merged, f.base, lane)
		if !errors.Is(err, engine.ErrRefCheckedOut) || !strings.Contains(err.Error(), f.dir) {
			t.Errorf("got %v, want ErrRefCheckedOut in %s", err, f.dir)
		}
		f.git(f.dir, "checkout", "-q", "main")
	})
	t.Run("F126 published ref contains the lane", func(t *testing.T) {
		if err := f.repo.publish(ctx, "ferrox/b/integration", merged, f.base, lane); err != nil {
			t.Fatal(err)
		}
		f.git(f.dir, "merge-base", "--is-ancestor", string(lane), "ferrox/b/integration")
		if log := f.git(f.dir, "reflog", "show", "-n1", "ferrox/b/integration"); !strings.Contains(log, "ferrox: land "+lane.Short()) {
			t.Errorf("reflog says %q", log)
		}
	})
	t.Run("a symbolic branch moves nothing else", func(t *testing.T) {
		free := f.merge(f.base, other).Commit
		f.git(f.dir, "branch", "free", string(f.base))
		f.git(f.dir, "symbolic-ref", "refs/heads/alias", "refs/heads/free")
		if err := f.repo.publish(ctx, "alias", free, f.base, other); err != nil || f.at(f.dir, "alias") != free || f.at(f.dir, "free") != f.base {
			t.Errorf("the target of a symbolic branch moved, or: %v", err)
		}
	})
}

// TestW14_DamagedObject lands nothing that git could not read again: a cut of the power has left an object of the lane empty,
// torn, or with the bytes of another, and git does not notice while it only walks through trees.
func TestW14_DamagedObject(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(whole []byte) []byte{
		"empty": func([]byte) []byte { return nil },
		"torn":  func(whole []byte) []byte { return whole[:len(whole)/2] },
		"zeros": func(whole []byte) []byte { return make([]byte, len(whole)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			lane := f.laneWith("lane-1", map[string]string{"a.txt": strings.Repeat("what the lane did\n", 40)})
			if err := f.repo.CreateBranch(t.Context(), "ferrox/b/integration", f.base); err != nil {
				t.Fatal(err)
			}
			merged := f.merge(f.base, lane).Commit
			blob := f.git(f.dir, "rev-parse", string(lane)+":a.txt")
			file := filepath.Join(f.dir, ".git", "objects", blob[:2], blob[2:])
			whole, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(os.Chmod(file, 0o600), os.WriteFile(file, damage(whole), 0o600)); err != nil {
				t.Fatal(err)
			}
			err = f.repo.publish(t.Context(), "ferrox/b/integration", merged, f.base, lane)
			if next := engine.Mend(err); !strings.Contains(next, "rm -f "+file) {
				t.Errorf("got %v, next %q", err, next)
			}
			if got := f.at(f.dir, "ferrox/b/integration"); got != f.base {
				t.Errorf("the branch is at %s", got)
			}
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			f.write(f.dir, "again.txt", strings.Repeat("what the lane did\n", 40))
			f.git(f.dir, "hash-object", "-w", "again.txt")
			if err := f.repo.publish(t.Context(), "ferrox/b/integration", merged, f.base, lane); err != nil {
				t.Errorf("with the object written again: %v", err)
			}
		})
	}
}

func TestPublish_LockedRef(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	lane := f.laneWith("lane-1", map[string]string{"a.txt": "a\n"})
	if err := f.repo.CreateBranch(t.Context(), "integration", f.base); err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(f.dir, ".git", "refs", "heads", "integration.lock")
	if err := os.WriteFile(lock, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	err := f.repo.publish(t.Context(), "integration", f.merge(f.base, lane).Commit, f.base, lane)
	if !errors.Is(err, engine.ErrGitLocked) {
		t.Errorf("got %v, want ErrGitLocked", err)
	}
	if _, err := os.Stat(lock); err != nil {
		t.Error("somebody else's lock was removed")
	}
}

func TestDeleteBranch(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	lane := f.lane("lane-1")
	f.git(f.dir, "branch", "free")
	if err := f.repo.DeleteBranch(ctx, gates.Permit{}, "free", f.base); err == nil {
		t.Error("a zero permit was accepted")
	}
	if err := f.repo.deleteBranch(ctx, "ferrox/b/lane-1", f.base); !errors.Is(err, engine.ErrRefCheckedOut) || !strings.Contains(err.Error(), lane) {
		t.Errorf("got %v, want ErrRefCheckedOut in %s", err, lane)
	}
	other := f.commit(f.dir, "second")
	if err := f.repo.deleteBranch(ctx, "free", other); !errors.Is(err, engine.ErrRefMoved) {
		t.Errorf("got %v, want ErrRefMoved", err)
	}
	for range 2 { // the second finds nothing to do
		if err := f.repo.deleteBranch(ctx, "free", f.base); err != nil {
			t.Error(err)
		}
	}
	if info, _ := f.repo.Branch(ctx, "free"); info.Head != "" {
		t.Error("the branch is still there")
	}
}
