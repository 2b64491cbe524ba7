package gitcli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ferrox/engine"
)

// TestFewProcesses counts how often git is started: on a busy machine that, not git's work, is what a landing costs.
// Not parallel: it puts a counting git in front of the real one.
func TestFewProcesses(t *testing.T) {
	f := newFixture(t)
	ctx := t.Context()
	into := f.merge(f.base, f.laneWith("lane-1", map[string]string{"a.txt": "1\n"})).Commit
	changing := f.laneWith("lane-2", map[string]string{"shared.txt": "one\n"})
	adding := f.laneWith("lane-3", map[string]string{"b.txt": "1\n"})
	f.git(f.dir, "branch", "integration", string(into))
	lane := filepath.Join(f.top, "lanes", "lane-2")

	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	log, bin := filepath.Join(f.top, "log"), filepath.Join(f.top, "bin")
	script := "#!/bin/sh\necho x >> '" + log + "'\nexec '" + git + "' \"$@\"\n"
	f.write(bin, "git", script)
	if err := os.Chmod(filepath.Join(bin, "git"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))

	done := engine.File{Path: "tasks/T-1/.DONE", Mode: "100644"}
	var merged engine.MergeResult
	for _, c := range []struct {
		name string
		want int
		do   func() error
	}{
		{"status", 1, func() error { _, err := f.repo.Status(ctx, lane); return err }},
		{"changed", 2, func() error { _, err := f.repo.Changed(ctx, into, changing); return err }},
		{"branch", 0, func() error { _, err := f.repo.Branch(ctx, "integration"); return err }},
		{"merge of a lane on top", 0, func() error { f.merge(f.base, changing); return nil }},
		{"merge", 0, func() error { merged = f.merge(into, changing); return nil }},
		{"merge that adds paths", 2, func() error { f.merge(into, adding); return nil }},
		{"merge with overlay", 0, func() error { f.merge(into, changing, done); return nil }},
		{"publish", 2, func() error { return f.repo.publish(ctx, "integration", merged.Commit, into, changing) }},
		{"worktree there already", 0, func() error { return f.repo.AddWorktree(ctx, lane, "ferrox/b/lane-2", into) }},
	} {
		if err := os.WriteFile(log, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := c.do(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := strings.Count(f.read(f.top, "log"), "x"); got != c.want {
			t.Errorf("%s: git was started %d times, want %d", c.name, got, c.want)
		}
	}
}
