package gitcli

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ferrox/engine"
)

const ref = "refs/ferrox/rescue/b/T-1"

func (f *fixture) rescue(dir string) engine.Rescue {
	f.t.Helper()
	got, err := f.repo.Rescue(f.t.Context(), dir, ref, "rescue of T-1", at)
	if err != nil {
		f.t.Fatal(err)
	}
	if f.at(f.dir, ref) != got.Commit {
		f.t.Errorf("%s is not at %s", ref, got.Commit)
	}
	return got
}

func (f *fixture) index(dir string) string {
	f.t.Helper()
	return f.read(f.git(dir, "rev-parse", "--absolute-git-dir"), "index")
}

func TestRescue(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(f.dir, "gone.txt", "1\n")
	f.write(f.dir, ".gitignore", "build/\n")
	f.base = f.commit(f.dir, "more")
	dir := f.lane("lane-1")
	odd := "-x \"quoted\"\nüñ.txt"
	f.write(dir, "committed.txt", "c\n")
	head := f.commit(dir, "work")
	f.write(dir, "shared.txt", "changed\n")
	f.write(dir, "two.txt", "staged\n")
	f.git(dir, "add", "two.txt")
	f.write(dir, "two.txt", "and changed again\n")
	f.write(dir, odd, "untracked\n")
	f.write(dir, ".env.local", "secret\n")
	f.write(dir, ".ferrox/spool/1", "spool\n")
	f.write(dir, "build/out.bin", "ignored\n")
	if err := os.Remove(filepath.Join(dir, "gone.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("shared.txt", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	status := f.git(dir, "status", "--porcelain")
	stash := f.git(dir, "stash", "list")

	got := f.rescue(dir)
	t.Run("W23 everything is taken in", func(t *testing.T) {
		for path, want := range map[string]string{
			"shared.txt": "changed", "two.txt": "and changed again", odd: "untracked", "committed.txt": "c", "link": "shared.txt",
		} {
			if text := f.show(got.Commit, path); text != want {
				t.Errorf("%q is %q, want %q", path, text, want)
			}
		}
		if f.has(got.Commit, "gone.txt") {
			t.Error("gone.txt is still there")
		}
		if text := f.show(got.Index, "two.txt"); text != "staged" {
			t.Errorf("index: two.txt is %q", text)
		}
		if parents := f.git(dir, "show", "-s", "--format=%P", string(got.Commit)); parents != string(head)+" "+string(got.Index) {
			t.Errorf("parents are %s", parents)
		}
	})
	t.Run("W31 what it took is listed, runtime files are not in it", func(t *testing.T) {
		want := []string{odd, ".env.local", "link"}
		slices.Sort(want)
		slices.Sort(got.Files)
		if !slices.Equal(got.Files, want) {
			t.Errorf("files are %q, want %q", got.Files, want)
		}
		if !slices.Equal(got.Ignored, []string{"build/"}) {
			t.Errorf("ignored are %q", got.Ignored)
		}
		if f.has(got.Commit, ".ferrox") || f.has(got.Commit, "build") {
			t.Error("runtime or ignored files were taken in")
		}
	})
	t.Run("worktree and index stay as they were", func(t *testing.T) {
		if f.git(dir, "status", "--porcelain") != status {
			t.Errorf("status is now %s", f.git(dir, "status", "--porcelain"))
		}
		if f.at(dir, "HEAD") != head {
			t.Error("head moved")
		}
	})
	t.Run("index is byte for byte the same", func(t *testing.T) {
		before := f.index(dir)
		f.rescue(dir)
		if f.index(dir) != before {
			t.Error("the index changed")
		}
	})
	t.Run("F127 no stash is used", func(t *testing.T) {
		if now := f.git(dir, "stash", "list"); now != stash || now != "" {
			t.Errorf("stash list is %q", now)
		}
	})
	t.Run("again finds it made", func(t *testing.T) {
		if again := f.rescue(dir); again.Commit != got.Commit {
			t.Errorf("got %s, want %s", again.Commit, got.Commit)
		}
		f.write(dir, "shared.txt", "changed since\n")
		if _, err := f.repo.Rescue(t.Context(), dir, ref, "rescue of T-1", at); !errors.Is(err, engine.ErrRefExists) {
			t.Errorf("another rescue under the same name: got %v, want ErrRefExists", err)
		}
	})
	t.Run("W25 F158 commits stay after gc", func(t *testing.T) {
		if err := f.repo.removeWorktree(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		if err := f.repo.deleteBranch(t.Context(), "ferrox/b/lane-1", head); err != nil {
			t.Fatal(err)
		}
		f.git(f.dir, "reflog", "expire", "--expire=now", "--all")
		f.git(f.dir, "gc", "-q", "--prune=now")
		if f.show(head, "committed.txt") != "c" || f.show(got.Index, "two.txt") != "staged" {
			t.Error("rescued commits are gone")
		}
	})
}

func TestRescue_IndexUntouched(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dir := f.lane("lane-1")
	f.write(dir, "shared.txt", "changed\n")
	before := f.index(dir)
	f.rescue(dir)
	if f.index(dir) != before {
		t.Error("the index changed")
	}
}

func TestRescue_RefNames(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, ref := range []string{"refs/heads/main", "refs/ferrox/rescue/", "refs/ferrox/rescue/a b", "refs/ferrox/rescue/../../heads/x"} {
		if _, err := f.repo.Rescue(t.Context(), f.dir, ref, "x", at); err == nil {
			t.Errorf("%s was made", ref)
		}
	}
}

func TestRescue_HeadStates(t *testing.T) {
	t.Parallel()
	t.Run("detached", func(t *testing.T) {
		f := newFixture(t)
		dir := f.lane("lane-1")
		f.git(dir, "checkout", "-q", "--detach")
		f.write(dir, "made-elsewhere.txt", "x\n")
		head := f.commit(dir, "on no branch")
		got := f.rescue(dir)
		f.git(f.dir, "merge-base", "--is-ancestor", string(head), string(got.Commit))
	})
	t.Run("unborn", func(t *testing.T) {
		f := newFixture(t)
		dir := f.lane("lane-1")
		f.git(dir, "checkout", "-q", "--orphan", "fresh")
		got := f.rescue(dir)
		if f.git(dir, "show", "-s", "--format=%P", string(got.Commit)) != "" || f.show(got.Commit, "docs/guide.md") != "guide" {
			t.Error("wrong parents or tree")
		}
	})
	t.Run("no index yet", func(t *testing.T) {
		f := newFixture(t)
		empty := filepath.Join(f.top, "empty")
		f.git(f.top, "init", "-q", empty)
		f.write(empty, "x", "x\n")
		r, err := Open(t.Context(), empty)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Rescue(t.Context(), empty, ref, "x", at)
		if err != nil || !slices.Equal(got.Files, []string{"x"}) {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("during a merge with conflicts", func(t *testing.T) {
		f := newFixture(t)
		a := f.laneWith("lane-1", map[string]string{"shared.txt": "A\n", "clean.txt": "from A\n"})
		b := f.laneWith("lane-2", map[string]string{"shared.txt": "B\n"})
		dir := filepath.Join(f.top, "lanes", "lane-2")
		if _, err := f.tryGit(dir, "merge", string(a)); err == nil {
			t.Fatal("no conflict")
		}
		f.write(dir, "shared.txt", "half resolved\n")
		got := f.rescue(dir)
		if f.show(got.Commit, "shared.txt") != "half resolved" || f.show(got.Commit, "clean.txt") != "from A" {
			t.Error("the worktree was not taken in")
		}
		if f.show(got.Index, "shared.txt") != "B" {
			t.Error("the index does not hold our side")
		}
		for _, c := range []string{string(a), string(b)} {
			f.git(f.dir, "merge-base", "--is-ancestor", c, string(got.Commit))
		}
		if f.git(dir, "ls-files", "-u") == "" {
			t.Error("the conflict was taken out of the real index")
		}
	})
	t.Run("during a rebase", func(t *testing.T) {
		f := newFixture(t)
		dir := f.lane("lane-1")
		f.write(dir, "a", "a\n")
		f.commit(dir, "one")
		f.write(dir, "b", "b\n")
		head := f.commit(dir, "two")
		f.git(dir, "-c", "sequence.editor=sed -i 1s/pick/edit/", "rebase", "-q", "-i", string(f.base))
		f.write(dir, "a", "edited\n")
		got := f.rescue(dir)
		f.git(f.dir, "merge-base", "--is-ancestor", string(head), string(got.Commit))
		if f.show(got.Commit, "a") != "edited" {
			t.Error("the change was not taken in")
		}
	})
}

func TestW32_DeadIndexLock(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dir := f.lane("lane-1")
	lock := filepath.Join(f.git(dir, "rev-parse", "--absolute-git-dir"), "index.lock")
	if err := os.WriteFile(lock, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	f.write(dir, "work.txt", "x\n")
	if s, err := f.repo.Status(t.Context(), dir); err != nil || len(s.Entries) != 1 {
		t.Errorf("status: got %+v, %v", s, err)
	}
	if got := f.rescue(dir); f.show(got.Commit, "work.txt") != "x" {
		t.Error("the work was not rescued")
	}
	if _, err := os.Lstat(lock); err != nil {
		t.Error("the lock was removed though its owner could live")
	}
}

func TestW31_RepositoryInsideALane(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dir := f.lane("lane-1")
	inner := filepath.Join(dir, "vendor", "inner")
	f.git(f.top, "init", "-q", inner)
	f.write(inner, "src/file.go", "package inner\n")
	got := f.rescue(dir)
	if f.show(got.Commit, "vendor/inner/src/file.go") != "package inner" {
		t.Error("the files of the inner repository are not in the rescue")
	}
	if links := f.git(f.dir, "ls-tree", "-r", string(got.Commit)); strings.Contains(links, "160000") {
		t.Errorf("a link to a repository was committed:\n%s", links)
	}
	if !slices.Contains(got.Ignored, "vendor/inner/.git") {
		t.Errorf("what was left out is not named: %q", got.Ignored)
	}
}

func TestRescue_UnreadableFileFails(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	f := newFixture(t)
	dir := f.lane("lane-1")
	f.write(dir, "secret", "x")
	if err := os.Chmod(filepath.Join(dir, "secret"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := f.repo.Rescue(t.Context(), dir, ref, "x", at); err == nil {
		t.Error("a file that was not taken in is not reported")
	}
}

func TestRescue_FoldersAndFilesThatSwappedPlaces(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(f.dir, "dir/a", "a\n")
	f.write(f.dir, "dir/sub/b", "b\n")
	f.write(f.dir, "file", "file\n")
	f.write(f.dir, "other/c", "c\n")
	f.base = f.commit(f.dir, "more")
	dir := f.lane("lane-1")
	for _, name := range []string{"dir", "file", "other"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(f.dir+"/dir", filepath.Join(dir, "dir")); err != nil {
		t.Fatal(err)
	}
	f.write(dir, "file/inside", "now a folder\n")
	f.write(dir, "other", "now a file\n")
	got := f.rescue(dir)
	files := f.git(f.dir, "ls-tree", "-r", "--name-only", string(got.Commit))
	if files != "dir\ndocs/guide.md\nfile/inside\nother\nshared.txt" || f.show(got.Commit, "dir") != f.dir+"/dir" {
		t.Errorf("got\n%s", files)
	}
}

func TestW23_ChangesHiddenFromStatus(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dir := f.lane("lane-1")
	f.git(dir, "update-index", "--assume-unchanged", "shared.txt")
	f.git(dir, "update-index", "--skip-worktree", "docs/guide.md")
	f.write(dir, "shared.txt", "hidden\n")
	f.write(dir, "docs/guide.md", "hidden too\n")
	before := f.index(dir)
	got := f.rescue(dir)
	if f.show(got.Commit, "shared.txt") != "hidden" || f.show(got.Commit, "docs/guide.md") != "hidden too" {
		t.Error("hidden changes were not taken in")
	}
	if f.index(dir) != before {
		t.Error("the index changed")
	}
}

func TestRescue_SparseCheckoutIsNoDeletion(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dir := f.lane("lane-1")
	f.git(dir, "sparse-checkout", "set", "--no-cone", "/shared.txt")
	f.write(dir, "shared.txt", "changed\n")
	if got := f.rescue(dir); f.show(got.Commit, "docs/guide.md") != "guide" || f.show(got.Commit, "shared.txt") != "changed" {
		t.Error("wrong tree")
	}
}

func TestRescue_SplitIndex(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dir := f.lane("lane-1")
	f.git(dir, "config", "core.splitIndex", "true")
	f.git(dir, "update-index", "--split-index")
	f.write(dir, "shared.txt", "changed\n")
	parts := filepath.Join(f.git(dir, "rev-parse", "--absolute-git-dir"), "sharedindex.*")
	before, err := filepath.Glob(parts)
	if err != nil || len(before) == 0 {
		t.Fatalf("the index is not split: %v", err)
	}
	if got := f.rescue(dir); f.show(got.Commit, "shared.txt") != "changed" || f.show(got.Commit, "docs/guide.md") != "guide" {
		t.Error("wrong tree")
	}
	if after, _ := filepath.Glob(parts); !slices.Equal(before, after) {
		t.Errorf("parts of the index are now %q, were %q", after, before)
	}
}
