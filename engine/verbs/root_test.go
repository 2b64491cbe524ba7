package verbs

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFindRoot(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.git("init", "-q", "-b", "main")
	s.write("svc/a/.planning/.keep", "")
	s.write("svc/a/src/x", "")
	s.write("svc/b/x", "")
	s.write("odd/.git/not-git", "")
	s.write("pointer/.git", "gitdir:")
	s.git("add", "svc")
	s.git("commit", "-q", "-m", "one")

	outside := t.TempDir()
	lane := filepath.Join(outside, "lane")
	s.git("worktree", "add", "-q", "-b", "lane", lane)
	if err := os.MkdirAll(filepath.Join(lane, "svc", "new", "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.git("clone", "-q", "--bare", s.dir, filepath.Join(outside, "bare.git"))
	ofBare := filepath.Join(outside, "of-bare")
	s.git("-C", filepath.Join(outside, "bare.git"), "worktree", "add", "-q", ofBare, "main")
	s.git("clone", "-q", "--separate-git-dir", filepath.Join(outside, "apart.git"), s.dir, filepath.Join(outside, "apart"))
	super := filepath.Join(outside, "super")
	s.git("init", "-q", super)
	s.git("-C", super, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", s.dir, "sub")

	for _, tc := range []struct {
		name, dir, want string
		note            bool
	}{
		{"the checkout", s.dir, s.dir, false},
		{"a folder of it", filepath.Join(s.dir, "svc/b"), s.dir, false},
		{"a project inside it", filepath.Join(s.dir, "svc/a/src"), filepath.Join(s.dir, "svc/a"), false},
		{"a folder that only looks like a repository", filepath.Join(s.dir, "odd"), s.dir, false},
		{"a pointer to nowhere", filepath.Join(s.dir, "pointer"), s.dir, false},
		{"a lane", lane, s.dir, false},
		{"the project's place in a lane", filepath.Join(lane, "svc/a/src"), filepath.Join(s.dir, "svc/a"), false},
		{"a folder that only the lane has", filepath.Join(lane, "svc/new/deep"), s.dir, false},
		{"a worktree of a bare repository", ofBare, ofBare, true},
		{"its git dir elsewhere", filepath.Join(outside, "apart"), filepath.Join(outside, "apart"), false},
		{"a submodule", filepath.Join(super, "sub"), filepath.Join(super, "sub"), false},
		{"no repository", outside, outside, false},
	} {
		got, note := findRoot(tc.dir)
		want, err := filepath.EvalSymlinks(tc.want)
		if err != nil {
			t.Fatal(err)
		}
		if got != want || (note != "") != tc.note {
			t.Errorf("%s: %s (%s), want %s", tc.name, got, note, want)
		}
	}
}

func TestFindRootOutsideARepository(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.write("a/b/x", "")
	if got, _ := findRoot(filepath.Join(s.dir, "a/b")); got != s.dir {
		t.Errorf("the nearest .planning above: %s", got)
	}
}
