package gitcli

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ferrox/engine"
)

func (f *fixture) keygen(path string) {
	f.t.Helper()
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path).CombinedOutput(); err != nil {
		f.t.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
}

func TestIsAncestor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	head := f.commit(f.dir, "second")
	for _, c := range []struct {
		name string
		got  func() (bool, error)
		want bool
	}{
		{"older in newer", func() (bool, error) { return f.repo.IsAncestor(t.Context(), f.base, head) }, true},
		{"newer in older", func() (bool, error) { return f.repo.IsAncestor(t.Context(), head, f.base) }, false},
		{"equal", func() (bool, error) { return f.repo.IsAncestor(t.Context(), head, head) }, true},
	} {
		if got, err := c.got(); err != nil || got != c.want {
			t.Errorf("%s: got %v, %v", c.name, got, err)
		}
	}
	if _, err := f.repo.IsAncestor(t.Context(), head, "0123456789012345678901234567890123456789"); !errors.Is(err, engine.ErrNoSuchRevision) {
		t.Errorf("got %v, want ErrNoSuchRevision", err)
	}
}

func TestChanged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	lib := newFixture(t)
	odd := "-x \"quoted\"\nüñ.txt"
	dir := f.lane("lane-1")
	f.write(dir, odd, "1\n")
	f.git(dir, "mv", "shared.txt", "renamed.txt")
	f.git(dir, "submodule", "--quiet", "add", lib.dir, "lib")
	f.git(dir, "config", "-f", ".gitmodules", "submodule.lib.ignore", "all")
	head := f.commit(dir, "work")
	f.write(f.dir, "elsewhere.txt", "the integration branch moved on\n")
	moved := f.commit(f.dir, "moved on")

	got, err := f.repo.Changed(t.Context(), moved, head)
	if err != nil {
		t.Fatal(err)
	}
	want := []engine.Change{
		{Path: odd, Status: 'A', OldMode: "000000", NewMode: "100644"},
		{Path: ".gitmodules", Status: 'A', OldMode: "000000", NewMode: "100644"},
		{Path: "lib", Status: 'A', OldMode: "000000", NewMode: "160000"},
		{Path: "renamed.txt", Status: 'A', OldMode: "000000", NewMode: "100644"},
		{Path: "shared.txt", Status: 'D', OldMode: "100644", NewMode: "000000"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("W62 (-want +got):\n%s", diff)
	}
	if got, err := f.repo.Changed(t.Context(), head, head); err != nil || len(got) != 0 {
		t.Errorf("nothing changed: got %v, %v", got, err)
	}
}

func TestChanged_TwoMergeBases(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.laneWith("lane-1", map[string]string{"a": "1\n"})
	b := f.laneWith("lane-2", map[string]string{"b": "1\n"})
	x, y := f.merge(a, b).Commit, f.merge(b, a).Commit
	dir := f.lane("lane-3")
	f.git(dir, "reset", "-q", "--hard", string(y))
	f.write(dir, "c", "1\n")
	head := f.commit(dir, "work")
	got, err := f.repo.Changed(t.Context(), x, head)
	if err != nil || len(got) == 0 || got[len(got)-1].Path != "c" {
		t.Errorf("got %v, %v", got, err)
	}
	if res := f.merge(x, head); res.Commit == "" || !f.has(res.Commit, "c") {
		t.Errorf("got %+v", res)
	}
}

func TestCommits(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first := f.commit(f.dir, "one")
	f.git(f.dir, "commit", "-q", "--allow-empty", "-m", "two: \"ü\"", "-m", "Body line\n\nRuling: X-1")
	second := f.at(f.dir, "HEAD")
	f.git(f.dir, "config", "log.showSignature", "true")
	got, err := f.repo.Commits(t.Context(), f.base, second)
	if err != nil {
		t.Fatal(err)
	}
	want := []engine.CommitInfo{
		{OID: first, Subject: "one"},
		{OID: second, Subject: "two: \"ü\"", Body: "Body line\n\nRuling: X-1\n"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTreeAndBlobs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	odd := "docs/-x \"q\"\nü*[a]"
	f.write(f.dir, odd, "odd\n\x00binary")
	f.write(f.dir, "docs2/x", "x\n")
	f.write(f.dir, ":(top)docs/y", "y\n")
	head := f.commit(f.dir, "files")
	for prefix, want := range map[string][]string{
		"docs": {odd, "docs/guide.md"}, "docs/": {odd, "docs/guide.md"}, "docs/guide.md": {"docs/guide.md"}, "none": nil, odd: {odd},
		":(top)docs": {":(top)docs/y"}, "": {":(top)docs/y", odd, "docs/guide.md", "docs2/x", "shared.txt"},
	} {
		got, err := f.repo.Tree(t.Context(), head, prefix)
		if err != nil {
			t.Fatal(err)
		}
		var paths []string
		for _, e := range got {
			paths = append(paths, e.Path)
		}
		if diff := cmp.Diff(want, paths); diff != "" {
			t.Errorf("W62 %q (-want +got):\n%s", prefix, diff)
		}
	}
	entries, err := f.repo.Tree(t.Context(), head, "docs")
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := f.repo.Blobs(t.Context(), []string{entries[0].OID, entries[1].OID, entries[0].OID})
	if err != nil || len(blobs) != 3 || string(blobs[0]) != "odd\n\x00binary" || string(blobs[1]) != "guide\n" || string(blobs[2]) != string(blobs[0]) {
		t.Errorf("got %q, %v", blobs, err)
	}
	if _, err := f.repo.Blobs(t.Context(), []string{strings.Repeat("1", 40)}); !errors.Is(err, engine.ErrNoSuchRevision) {
		t.Errorf("got %v, want ErrNoSuchRevision", err)
	}
	if got, err := f.repo.Blobs(t.Context(), nil); err != nil || len(got) != 0 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestCommitFiles(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	message := "-n: \"subject\" ü\n\nTask: T-1\n"
	got, err := f.repo.CommitFiles(t.Context(), f.base, []engine.File{
		{Path: "tasks/T-1/PROMPT.md", Mode: "100644", Data: []byte("prompt\r\n")}, {Path: "shared.txt", Remove: true},
	}, message, at, false)
	if err != nil {
		t.Fatal(err)
	}
	if text := f.show(got, "tasks/T-1/PROMPT.md"); text != "prompt\r" || f.has(got, "shared.txt") || !f.has(got, "docs/guide.md") {
		t.Errorf("PROMPT.md is %q", text)
	}
	if text := f.git(f.dir, "show", "-s", "--format=%B", string(got)); strings.TrimSpace(text) != strings.TrimSpace(message) {
		t.Errorf("message is %q", text)
	}
	if f.git(f.dir, "status", "--porcelain") != "" {
		t.Error("the main checkout was touched")
	}
}
