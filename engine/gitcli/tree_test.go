package gitcli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ferrox/engine"
)

// throughIndex does what put does with git's own index.
func (f *fixture) throughIndex(tree string, files []engine.File) string {
	f.t.Helper()
	index := filepath.Join(f.t.TempDir(), "index")
	run := func(stdin string, args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = f.dir, append(os.Environ(), "GIT_INDEX_FILE="+index)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err != nil {
			f.t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("", "read-tree", tree)
	var info strings.Builder
	for _, file := range files {
		if file.Remove {
			fmt.Fprintf(&info, "0 %s\t%s\x00", strings.Repeat("0", 40), file.Path)
			continue
		}
		fmt.Fprintf(&info, "%s %s\t%s\x00", file.Mode, run(string(file.Data), "hash-object", "-w", "--stdin"), file.Path)
	}
	run(info.String(), "update-index", "-z", "--index-info")
	return run("", "write-tree")
}

// TestPut_AgreesWithTheIndex edits a tree in random ways, names that sort beside folders included, and compares with
// what git's index makes of the same edits.
func TestPut_AgreesWithTheIndex(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, path := range []string{"a/b/c", "a/b.c", "a.b", "a-b", "b", "c/d"} {
		f.write(f.dir, path, path)
	}
	tree := string(f.commit(f.dir, "names")) + "^{tree}"
	names := []string{"a/b/c", "a/b/d", "a/b", "a/b.c", "a", "a.b", "a-b", "a0/x", "b", "b/x/y", "c/d", "new/\"q\"\nü", "Z"}
	random := rapid.Custom(func(rt *rapid.T) []engine.File {
		var files []engine.File
		for _, path := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, 6, rapid.ID[string]).Draw(rt, "paths") {
			file := engine.File{Path: path, Remove: rapid.Bool().Draw(rt, "remove")}
			if !file.Remove {
				file.Mode = rapid.SampledFrom([]string{"100644", "100755", "120000"}).Draw(rt, "mode")
				file.Data = []byte(rapid.SampledFrom([]string{"", "x", strings.Repeat("long\n", 1000)}).Draw(rt, "data"))
			}
			files = append(files, file)
		}
		return files
	})
	for seed := range 40 {
		files := random.Example(seed)
		if _, err := plan(unstored(files)); err != nil {
			continue // a file and a folder of one name
		}
		got, err := f.repo.put(t.Context(), tree, files)
		if err != nil {
			t.Fatal(err)
		}
		if want := f.throughIndex(tree, files); got != want {
			t.Fatalf("%+v\ngot  %s\nwant %s", files, f.git(f.dir, "ls-tree", "-r", "-t", got), f.git(f.dir, "ls-tree", "-r", "-t", want))
		}
	}
	f.git(f.dir, "fsck", "--strict", "--no-dangling")
}

func TestPut_SHA256(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	dir := filepath.Join(f.top, "sha256")
	f.git(f.top, "init", "-q", "--object-format=sha256", dir)
	f.write(dir, "a/b", "1\n")
	head := f.commit(dir, "base")
	r, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.CommitFiles(t.Context(), head, []engine.File{{Path: "a/c", Mode: "100644", Data: []byte("2\n")}}, "x", at, false)
	if err != nil {
		t.Fatal(err)
	}
	if files := f.git(dir, "ls-tree", "-r", "--name-only", string(got)); files != "a/b\na/c" {
		t.Errorf("files are %q", files)
	}
	f.git(dir, "fsck", "--strict", "--no-dangling")
	if err := r.CreateBranch(t.Context(), "integration", got); err != nil {
		t.Error(err)
	}
}

func TestPut_FileAndFolder(t *testing.T) {
	t.Parallel()
	for _, paths := range [][]string{{"a", "a/b"}, {"a/b", "a"}} {
		if _, err := plan(unstored([]engine.File{{Path: paths[0], Mode: "100644"}, {Path: paths[1], Mode: "100644"}})); err == nil {
			t.Errorf("%v: no error", paths)
		}
	}
}
