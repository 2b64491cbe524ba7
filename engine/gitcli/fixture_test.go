package gitcli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ferrox/engine"
	"ferrox/lanes"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var at = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fixture is a real repository in a temporary folder with one commit on main.
type fixture struct {
	t    testing.TB
	top  string // holds repository and worktrees
	dir  string // the main checkout
	repo *Repo
	base lanes.Commit
}

func newFixture(t testing.TB, opts ...Option) *fixture {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, top: top, dir: filepath.Join(top, "repo")}
	if err := os.Mkdir(f.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f.git(f.dir, "init", "-q", "-b", "main")
	f.write(f.dir, "shared.txt", "one\ntwo\nthree\n")
	f.write(f.dir, "docs/guide.md", "guide\n")
	f.base = f.commit(f.dir, "base")
	f.repo, err = Open(t.Context(), f.dir, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// git runs git as a user or worker would.
func (f *fixture) git(dir string, args ...string) string {
	f.t.Helper()
	out, err := f.tryGit(dir, args...)
	if err != nil {
		f.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (f *fixture) tryGit(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-c", "user.name=Worker", "-c", "user.email=worker@example.com", "-c", "commit.gpgSign=false", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return strings.TrimRight(string(out), "\n"), err
}

func (f *fixture) write(dir, path, text string) {
	f.t.Helper()
	name := filepath.Join(dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) read(dir, path string) string {
	f.t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
	if err != nil {
		f.t.Fatal(err)
	}
	return string(data)
}

// commit commits everything in dir.
func (f *fixture) commit(dir, message string) lanes.Commit {
	f.t.Helper()
	f.git(dir, "add", "-A")
	f.git(dir, "commit", "-q", "--allow-empty", "--no-verify", "-m", message)
	return f.at(dir, "HEAD")
}

func (f *fixture) at(dir, rev string) lanes.Commit {
	f.t.Helper()
	return lanes.Commit(f.git(dir, "rev-parse", "--verify", rev+"^{commit}"))
}

// lane makes a worktree on a branch of its own at base.
func (f *fixture) lane(name string) string {
	f.t.Helper()
	dir := filepath.Join(f.top, "lanes", name)
	if err := f.repo.AddWorktree(f.t.Context(), dir, "ferrox/b/"+name, f.base); err != nil {
		f.t.Fatal(err)
	}
	return dir
}

// laneWith makes a lane that has committed the files ("" removes one) and returns its head.
func (f *fixture) laneWith(name string, files map[string]string) lanes.Commit {
	f.t.Helper()
	dir := f.lane(name)
	for path, text := range files {
		if text == "" {
			if err := os.Remove(filepath.Join(dir, path)); err != nil {
				f.t.Fatal(err)
			}
			continue
		}
		f.write(dir, path, text)
	}
	return f.commit(dir, name)
}

func (f *fixture) merge(into, from lanes.Commit, overlay ...engine.File) engine.MergeResult {
	f.t.Helper()
	res, err := f.repo.Merge(f.t.Context(), engine.MergeRequest{Into: into, From: from, Overlay: overlay, Message: "merge\n", At: at})
	if err != nil {
		f.t.Fatal(err)
	}
	return res
}

// show reads a file of a commit.
func (f *fixture) show(at lanes.Commit, path string) string {
	f.t.Helper()
	return f.git(f.dir, "show", string(at)+":"+path)
}

func (f *fixture) has(at lanes.Commit, path string) bool {
	_, err := f.tryGit(f.dir, "cat-file", "-e", string(at)+":"+path)
	return err == nil
}
