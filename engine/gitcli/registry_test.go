package gitcli

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Another process makes a worktree just now: git has made its entry's commondir and not written it yet. Whatever looks
// through the worktrees, as a merge does for the branch that it publishes, waits for it.
func TestWorktrees_HalfMadeByAnother(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.git(f.dir, "branch", "apart")
	other := filepath.Join(f.top, "other")
	for _, w := range []string{filepath.Join(f.top, "lane-1"), other} {
		if err := f.repo.AddWorktree(t.Context(), w, filepath.Base(w), f.base); err != nil {
			t.Fatal(err)
		}
	}
	ahead := f.laneWith("ahead", map[string]string{"a": "1"})
	file := filepath.Join(f.dir, ".git", "worktrees", "lane-1", "commondir")
	for _, c := range []struct {
		name string
		do   func() error
	}{
		{"inspect", func() error { _, err := f.repo.Inspect(t.Context()); return err }},
		{"look up a branch", func() error { _, err := f.repo.Branch(t.Context(), "apart"); return err }},
		{"list branches", func() error { _, err := f.repo.BranchesUnder(t.Context(), "apart"); return err }},
		{"publish", func() error {
			return f.repo.publish(t.Context(), "apart", ahead, f.base, ahead)
		}},
		{"add a worktree", func() error {
			return f.repo.add(t.Context(), filepath.Join(f.top, "third"), "third", f.base,
				[]string{"worktree", "add", "-b", "third", "--", filepath.Join(f.top, "third"), string(f.base)})
		}},
		{"remove a worktree", func() error { return f.repo.removeWorktree(t.Context(), other) }},
	} {
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(200*time.Millisecond, func() { _ = os.WriteFile(file, []byte("../..\n"), 0o644) })
		if err := c.do(); err != nil {
			t.Errorf("%s fails while a lane is made: %v", c.name, err)
		}
		timer.Stop()
		if err := os.WriteFile(file, []byte("../..\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWorktrees_DamagedEntry(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if err := f.repo.AddWorktree(t.Context(), filepath.Join(f.top, "lane-1"), "lane-1", f.base); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.dir, ".git", "worktrees", "lane-1", "commondir"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if _, err := f.repo.Inspect(t.Context()); err == nil {
		t.Skip("this git reads past it")
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s to say so", took)
	}
}
