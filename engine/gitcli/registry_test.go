package gitcli

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Another process makes a worktree just now: git has made its entry's commondir and not written it yet.
func TestWorktrees_HalfMadeByAnother(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if err := f.repo.AddWorktree(t.Context(), filepath.Join(f.top, "lane-1"), "lane-1", f.base); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(f.dir, ".git", "worktrees", "lane-1", "commondir")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(200*time.Millisecond, func() { _ = os.WriteFile(file, []byte("../..\n"), 0o644) })
	defer timer.Stop()
	if _, err := f.repo.Inspect(t.Context()); err != nil {
		t.Errorf("a command fails while a lane is made: %v", err)
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
