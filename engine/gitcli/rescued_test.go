package gitcli

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"ferrox/engine"
)

// What was rescued comes back as it was: head, index, changes, deletions and untracked files, in a worktree of its own.
func TestRestoreRescue(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(f.dir, "gone.txt", "1\n")
	f.base = f.commit(f.dir, "more")
	dir := f.lane("lane-1")
	f.write(dir, "committed.txt", "c\n")
	head := f.commit(dir, "work")
	f.write(dir, "shared.txt", "changed\n")
	f.write(dir, "two.txt", "staged\n")
	f.git(dir, "add", "two.txt")
	f.write(dir, "two.txt", "and changed again\n")
	f.write(dir, "ü x.txt", "untracked\n")
	if err := os.Remove(filepath.Join(dir, "gone.txt")); err != nil {
		t.Fatal(err)
	}
	want := f.git(dir, "status", "--porcelain=v2")
	saved := f.rescue(dir)
	if err := f.repo.removeWorktree(t.Context(), dir); err != nil {
		t.Fatal(err)
	}

	list, err := f.repo.Rescues(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("got %v, %v", list, err)
	}
	if got := list[0]; got.Ref != ref || got.Commit != saved.Commit || got.Head != head || got.Index != saved.Index || !got.At.Equal(at) || len(got.Files) != 4 {
		t.Errorf("listed as %+v", got)
	}
	back := filepath.Join(f.top, "back")
	if _, err := f.repo.RestoreRescue(t.Context(), ref, back, "ferrox-rescued/b/T-1"); err != nil {
		t.Fatal(err)
	}
	if got := f.git(back, "status", "--porcelain=v2"); got != want {
		t.Errorf("status is\n%s\nit was\n%s", got, want)
	}
	for path, text := range map[string]string{"shared.txt": "changed\n", "two.txt": "and changed again\n", "ü x.txt": "untracked\n"} {
		if got := f.read(back, path); got != text {
			t.Errorf("%s is %q", path, got)
		}
	}
	if f.at(back, "HEAD") != head || f.at(back, "ferrox-rescued/b/T-1") != head {
		t.Error("it does not stand on the rescued head")
	}

	t.Run("nothing is written over", func(t *testing.T) {
		if _, err := f.repo.RestoreRescue(t.Context(), ref, filepath.Join(f.top, "other"), "ferrox-rescued/b/T-1"); !errors.Is(err, engine.ErrRefExists) {
			t.Errorf("same branch: %v", err)
		}
		f.write(f.top, "full/mine.txt", "mine\n")
		if _, err := f.repo.RestoreRescue(t.Context(), ref, filepath.Join(f.top, "full"), "fresh"); err == nil {
			t.Error("a folder with a file in it was taken")
		}
		if f.read(f.top, "full/mine.txt") != "mine\n" {
			t.Error("the file in the way was changed")
		}
		if info, err := f.repo.Branch(t.Context(), "fresh"); err != nil || info.Head != "" {
			t.Errorf("a refused restore left a branch: %+v, %v", info, err)
		}
	})
}

// A change that is staged whole comes back staged.
func TestRestoreRescue_AllStaged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dir := f.lane("lane-1")
	f.write(dir, "new.txt", "staged\n")
	f.git(dir, "add", "new.txt")
	want := f.git(dir, "status", "--porcelain=v2")
	f.rescue(dir)
	back := filepath.Join(f.top, "back")
	if _, err := f.repo.RestoreRescue(t.Context(), ref, back, "back"); err != nil {
		t.Fatal(err)
	}
	if got := f.git(back, "status", "--porcelain=v2"); got != want {
		t.Errorf("status is %q, it was %q", got, want)
	}
}

// W25: a head that no worktree stands on is held by a ref of the same form.
func TestW25_RescueCommit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dir := f.lane("lane-1")
	f.write(dir, "work.txt", "w\n")
	head := f.commit(dir, "work")
	if err := f.repo.removeWorktree(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if _, err := f.repo.RescueCommit(t.Context(), head, ref, "rescue of T-1", at); err != nil {
		t.Fatal(err)
	}
	list, err := f.repo.Rescues(t.Context())
	if err != nil || len(list) != 1 || list[0].Head != head || len(list[0].Files) != 0 {
		t.Fatalf("got %+v, %v", list, err)
	}
	if _, err := f.repo.RestoreRescue(t.Context(), ref, filepath.Join(f.top, "back"), "back"); err != nil {
		t.Fatal(err)
	}
	if f.read(filepath.Join(f.top, "back"), "work.txt") != "w\n" {
		t.Error("the commit's file is not back")
	}
}
