package gitcli

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"ferrox/engine"
	"ferrox/lanes"
)

// BenchmarkMerge compares landing one diverged lane in a repository of 2,000 files with the fewest raw commands that
// could do it: merge-tree, commit-tree, update-ref.
func BenchmarkMerge(b *testing.B) {
	f := newFixture(b)
	for i := range 2000 {
		f.write(f.dir, fmt.Sprintf("src/p%02d/f%d.txt", i%50, i), fmt.Sprintf("file %d\n", i))
	}
	f.base = f.commit(f.dir, "many files")
	one := f.laneWith("lane-1", map[string]string{"src/p01/f1.txt": "one\n", "one.txt": "1\n"})
	into := f.merge(f.base, one).Commit
	changing := f.laneWith("lane-2", map[string]string{"src/p02/f2.txt": "two\n"})
	adding := f.laneWith("lane-3", map[string]string{"src/p03/f3.txt": "two\n", "two.txt": "2\n"})
	f.git(f.dir, "branch", "integration", string(into))

	b.Run("floor", func(b *testing.B) {
		for b.Loop() {
			tree := rawGit(b, f.dir, "merge-tree", "--write-tree", string(into), string(changing))
			commit := rawGit(b, f.dir, "commit-tree", "-p", string(into), "-p", string(changing), "-m", "x", tree)
			rawGit(b, f.dir, "update-ref", "refs/heads/integration", commit, string(into))
			b.StopTimer()
			f.git(f.dir, "branch", "-f", "integration", string(into))
			b.StartTimer()
		}
	})
	land := func(b *testing.B, from lanes.Commit, overlay ...engine.File) {
		for b.Loop() {
			res := f.merge(into, from, overlay...)
			if err := f.repo.publish(b.Context(), "integration", res.Commit, into, from); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			f.git(f.dir, "branch", "-f", "integration", string(into))
			b.StartTimer()
		}
	}
	b.Run("changed files", func(b *testing.B) { land(b, changing) })
	b.Run("new files", func(b *testing.B) { land(b, adding) })
	b.Run("overlay", func(b *testing.B) {
		land(b, changing, engine.File{Path: "tasks/T-1/.DONE", Mode: "100644"},
			engine.File{Path: "tasks/T-1/STATUS.md", Mode: "100644", Data: []byte("done\n")})
	})
	b.Run("merge alone", func(b *testing.B) {
		for b.Loop() {
			f.merge(into, changing)
		}
	})
	b.Run("status", func(b *testing.B) {
		for b.Loop() {
			if _, err := f.repo.Status(b.Context(), f.top+"/lanes/lane-2"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func rawGit(b *testing.B, dir string, args ...string) string {
	cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
