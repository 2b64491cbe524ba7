package gitcli

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ferrox/engine"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	odd := "-x \"quoted\"\nüñ.txt"
	f.write(f.dir, odd, "1")
	f.write(f.dir, "gone.txt", "1")
	f.write(f.dir, "moved.txt", "a file with enough text to be seen as renamed\n")
	f.base = f.commit(f.dir, "more")
	dir := f.lane("lane-1")
	f.write(dir, odd, "2")
	f.write(dir, "new/deep/file.txt", "untracked")
	f.write(dir, ".ferrox/spool/1", "never counted")
	f.write(dir, "staged.txt", "staged")
	f.git(dir, "add", "staged.txt")
	f.git(dir, "rm", "-q", "gone.txt")
	f.git(dir, "mv", "moved.txt", "renamed.txt")
	f.git(dir, "config", "status.showUntrackedFiles", "no")
	f.git(dir, "config", "status.renames", "copies")

	got, err := f.repo.Status(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	want := engine.WorktreeStatus{Branch: "ferrox/b/lane-1", Head: f.base, Entries: []engine.StatusEntry{
		{Path: odd, Code: ".M"},
		{Path: "gone.txt", Code: "D."},
		{Path: "moved.txt", Code: "D."},
		{Path: "renamed.txt", Code: "A."},
		{Path: "staged.txt", Code: "A."},
		{Path: "new/deep/file.txt", Code: "??"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("W62 W20 status (-want +got):\n%s", diff)
	}
}

func TestStatus_Unmerged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.laneWith("lane-1", map[string]string{"shared.txt": "A\n"})
	f.laneWith("lane-2", map[string]string{"shared.txt": "B\n"})
	dir := filepath.Join(f.top, "lanes", "lane-2")
	if out, err := f.tryGit(dir, "merge", string(a)); err == nil {
		t.Fatalf("no conflict: %s", out)
	}
	got, err := f.repo.Status(t.Context(), dir)
	if err != nil || len(got.Entries) != 1 || got.Entries[0].Code != "UU" || got.Entries[0].Path != "shared.txt" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestStatus_Gone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other := newFixture(t)
	check := func(name, dir string) {
		t.Helper()
		if got, err := f.repo.Status(t.Context(), dir); !errors.Is(err, engine.ErrWorktreeGone) {
			t.Errorf("%s: got %+v, %v; want ErrWorktreeGone", name, got, err)
		}
	}
	check("missing", filepath.Join(f.top, "none"))
	check("another repository", other.dir)
	check("another repository's worktree", other.lane("lane-1"))
	inside := filepath.Join(f.dir, "docs")
	check("a folder of the main checkout", inside)

	broken := f.lane("lane-1")
	f.write(broken, ".git", "gitdir: "+filepath.Join(f.dir, ".git", "worktrees", "none")+"\n")
	check("broken link", broken)
	noLink := f.lane("lane-2")
	if err := os.Remove(filepath.Join(noLink, ".git")); err != nil {
		t.Fatal(err)
	}
	check("no link", noLink)
	moved := f.lane("lane-3")
	if err := os.Rename(moved, moved+"-moved"); err != nil {
		t.Fatal(err)
	}
	check("moved", moved+"-moved")
	pruned := f.lane("lane-4")
	if err := os.RemoveAll(filepath.Join(f.dir, ".git", "worktrees", "lane-4")); err != nil {
		t.Fatal(err)
	}
	check("registration gone", pruned)

	if got, err := f.repo.Status(t.Context(), f.dir); err != nil || got.Branch != "main" {
		t.Errorf("main checkout: got %+v, %v", got, err)
	}
}

func TestStatus_CoreBareSetByAWorker(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dir := f.lane("lane-1")
	f.git(f.dir, "config", "core.bare", "true")
	f.write(dir, "new.txt", "x")
	got, err := f.repo.Status(t.Context(), dir)
	if err != nil || len(got.Entries) != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
}
