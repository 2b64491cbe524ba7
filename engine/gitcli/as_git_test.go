package gitcli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ferrox/engine"
	"ferrox/lanes"
)

// What is computed without git has to be what git computes.

// changes draws files to put into a tree or to take out of it, in few enough places to meet often.
func changes(label string) *rapid.Generator[[]engine.File] {
	names := []string{"a", "b", "dir/a", "dir/b", "dir/sub/c", "Dir/x", "a.txt", "a-b", "z/é", "shared.txt"}
	return rapid.Custom(func(t *rapid.T) []engine.File {
		var files []engine.File
		for _, path := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 4, rapid.ID[string]).Draw(t, label) {
			files = append(files, engine.File{
				Path: path, Mode: rapid.SampledFrom([]string{"100644", "100644", "100755", "120000"}).Draw(t, "mode"),
				Data:   []byte(rapid.SampledFrom([]string{"", "1\n", "2\n", "3\n"}).Draw(t, "data")),
				Remove: rapid.IntRange(0, 5).Draw(t, "remove") == 0,
			})
		}
		return files
	})
}

// sides is a base with two commits on top.
type sides struct{ base, into, from lanes.Commit }

func (f *fixture) sides(seed int) (sides, bool) {
	commit := func(on lanes.Commit, label string) lanes.Commit {
		files := changes(label).Example(seed)
		seed += 1000
		if _, err := plan(unstored(files)); err != nil {
			return ""
		}
		c, err := f.repo.CommitFiles(f.t.Context(), on, files, label, at, false)
		if err != nil {
			f.t.Fatal(err)
		}
		return c
	}
	s := sides{base: commit(f.base, "base")}
	if s.base == "" {
		return s, false
	}
	s.into, s.from = commit(s.base, "into"), commit(s.base, "from")
	return s, s.into != "" && s.from != ""
}

func TestMerge_ApartAsGit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	apart, compared := 0, 20
	for seed := 0; apart < compared && seed < 2000; seed++ {
		s, ok := f.sides(seed)
		if !ok {
			continue
		}
		rel, err := f.repo.relate(t.Context(), s.into, s.from)
		if err != nil {
			t.Fatal(err)
		}
		m := &merge{relation: rel, repo: f.repo}
		if !m.apart() || len(rel.ours) == 0 || len(rel.theirs) == 0 {
			continue
		}
		apart++
		tree, files, _, err := m.tree(t.Context())
		if err == nil && len(files) > 0 {
			tree, err = f.repo.place(t.Context(), tree, files)
		}
		if err != nil {
			t.Fatal(err)
		}
		if want, err := f.tryGit(f.dir, "merge-tree", "--write-tree", string(s.into), string(s.from)); err != nil || tree != want {
			t.Errorf("seed %d: the merged tree is %s, git's is %s: %v", seed, tree, want, err)
		}
	}
	if apart < compared {
		t.Errorf("only %d merges had sides that are apart", apart)
	}
	if out, err := f.tryGit(f.dir, "fsck", "--strict", "--no-dangling"); err != nil {
		t.Errorf("fsck: %v\n%s", err, out)
	}
}

func TestDiffTrees_AsGit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.git(f.dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", f.dir, "module")
	last := f.commit(f.dir, "with a submodule")
	for seed := range 25 {
		next, err := f.repo.CommitFiles(t.Context(), last, changes("files").Example(seed), "x", at, false)
		if err != nil {
			continue // a file and a folder of one name
		}
		before, after := f.treeOf(last), f.treeOf(next)
		got, err := f.repo.diffTrees(t.Context(), before, after)
		if err != nil {
			t.Fatal(err)
		}
		out, err := f.repo.diffTree(t.Context(), before, after)
		if err != nil {
			t.Fatal(err)
		}
		want, err := parseRaw(out)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(want, func(a, b diff) int { return cmp.Compare(a.Path, b.Path) })
		for i := range want {
			if want[i].Status == 'D' {
				want[i].newOID = ""
			}
		}
		if d := gocmp.Diff(want, got, gocmp.AllowUnexported(diff{})); d != "" {
			t.Fatalf("seed %d (-git +own):\n%s", seed, d)
		}
		last = next
	}
}

func (f *fixture) treeOf(c lanes.Commit) string {
	f.t.Helper()
	return f.git(f.dir, "rev-parse", string(c)+"^{tree}")
}

// TestRelate_ByLineAsGit lands lanes one after the other and asks about each before it lands: the line that is followed back
// has to end where git's merge base is, also where one lane has another one's work in it.
func TestRelate_ByLineAsGit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	if err := f.repo.CreateBranch(ctx, "integration", f.base); err != nil {
		t.Fatal(err)
	}
	head, byLine := f.base, 0
	var lane []lanes.Commit
	grow := func(on lanes.Commit, n int) lanes.Commit {
		for i := range n {
			c, err := f.repo.CommitFiles(ctx, on, []engine.File{{Path: fmt.Sprintf("f%d-%d", len(lane), i), Mode: "100644"}}, "x", at, false)
			if err != nil {
				t.Fatal(err)
			}
			on = c
		}
		return on
	}
	for i := range 12 {
		on := f.base
		switch {
		case i%3 == 1:
			on = head
		case i%3 == 2:
			on = lane[rapid.IntRange(0, len(lane)-1).Example(i)] // on top of another lane's work
		}
		from := grow(on, 1+i%4)
		if i == 7 {
			from = f.merge(from, lane[2]).Commit // a lane that has merged another one
		}
		lane = append(lane, from)
		got, ok := f.repo.relateByLine(ctx, head, from)
		asked := &relation{into: head, from: from}
		if err := asked.askBases(ctx, f.repo); err != nil {
			t.Fatal(err)
		}
		if ok {
			byLine++
			if !slices.Equal(got.bases, asked.bases) || got.intoTree != asked.intoTree || got.fromTree != asked.fromTree {
				t.Errorf("lane %d: bases %v, git says %v", i, got.bases, asked.bases)
			}
		}
		if i%2 == 0 {
			next := f.merge(head, from).Commit
			if err := f.repo.publish(ctx, "integration", next, head, from); err != nil {
				t.Fatal(err)
			}
			head = next
		}
	}
	if byLine < 6 {
		t.Errorf("%d of 12 were found without git", byLine)
	}
}

func TestCommits_LineAsGit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, message := range []string{"one line", "subject\nthat goes on\n\nbody\n\nof two", "subject\n\n\n  body with blanks\n\n", "ü\n\nÉ"} {
		f.git(f.dir, "commit", "-q", "--allow-empty", "--cleanup=verbatim", "-m", message)
	}
	head := f.at(f.dir, "HEAD")
	line, ok := f.repo.line(t.Context(), f.base, head)
	out := f.git(f.dir, "log", "-z", "--reverse", "--format=%H%n%s%n%b", string(f.base)+".."+string(head))
	if !ok || len(line) != 4 {
		t.Fatalf("line: %v %v", line, ok)
	}
	for i, rec := range strings.Split(strings.TrimRight(out, "\x00"), "\x00") {
		if got := strings.TrimRight(fmt.Sprintf("%s\n%s\n%s", line[i].OID, line[i].Subject, line[i].Body), "\n"); got != strings.TrimRight(rec, "\n") {
			t.Errorf("commit %d is\n%q, git says\n%q", i, got, rec)
		}
	}
	if _, ok := f.repo.line(t.Context(), head, f.base); ok {
		t.Error("a line was found from a commit to one on top of it")
	}
}

func TestCommitTree_AsGit(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*fixture){
		"named": func(f *fixture) {
			f.git(f.dir, "config", "user.name", " Ann. <the> \"worker\" ")
			f.git(f.dir, "config", "user.email", "a@b")
		},
		"roles": func(f *fixture) {
			f.git(f.dir, "config", "author.name", "Author")
			f.git(f.dir, "config", "committer.email", "c@d")
		},
		"fallback": func(*fixture) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			prepare(f)
			spec := commitSpec{tree: f.treeOf(f.base), parents: []lanes.Commit{f.base}, message: "subject\n\nüber\n\n", at: at}
			got, err := f.repo.commitTree(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			want, err := f.repo.gitCommitTree(t.Context(), spec)
			if err != nil || got != want {
				t.Errorf("commit %s, git makes %s: %v", got, want, err)
			}
		})
	}
}

// TestWrite_SharedRepository leaves objects to git where other users have to be able to read them.
func TestWrite_SharedRepository(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.git(f.dir, "config", "core.sharedRepository", "0660")
	o := object{kind: "blob", data: []byte("shared\n")}
	if err := f.repo.write(t.Context(), []object{o}, len(f.base)); err != nil {
		t.Fatal(err)
	}
	oid := o.oid(len(f.base))
	info, err := os.Stat(filepath.Join(f.dir, ".git", "objects", oid[:2], oid[2:]))
	if err != nil || info.Mode().Perm() != 0o440 {
		t.Errorf("the object's rights are %v: %v", info.Mode(), err)
	}
}

// TestWrite_EmptyObject: an object that a power cut left empty is written again.
func TestWrite_EmptyObject(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	o := object{kind: "blob", data: []byte("cut off\n")}
	oid := o.oid(len(f.base))
	f.write(f.dir, ".git/objects/"+oid[:2]+"/"+oid[2:], "")
	if err := f.repo.write(t.Context(), []object{o}, len(f.base)); err != nil {
		t.Fatal(err)
	}
	if got := f.git(f.dir, "cat-file", "blob", oid); got != "cut off" {
		t.Errorf("the object is %q", got)
	}
}

// TestBranch_LooseAsGit compares what is read from git's files with git, or sees that git is asked.
func TestBranch_LooseAsGit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do    func(f *fixture, lane string)
		loose bool
	}{
		"checked out": {func(*fixture, string) {}, true},
		"free":        {func(f *fixture, lane string) { f.git(lane, "checkout", "-q", "--detach") }, true},
		"packed":      {func(f *fixture, _ string) { f.git(f.dir, "pack-refs", "--all") }, false},
		"gone": {func(f *fixture, lane string) {
			f.git(lane, "checkout", "-q", "--detach")
			f.git(f.dir, "branch", "-D", "ferrox/b/lane-1")
		}, false},
		"symbolic": {func(f *fixture, lane string) {
			f.git(lane, "checkout", "-q", "--detach")
			f.git(f.dir, "symbolic-ref", "refs/heads/ferrox/b/lane-1", "refs/heads/main")
		}, false},
		"head is a link": {func(f *fixture, _ string) {
			head := filepath.Join(f.dir, ".git", "HEAD")
			if err := os.Remove(head); err != nil {
				f.t.Fatal(err)
			}
			if err := os.Symlink("refs/heads/main", head); err != nil {
				f.t.Fatal(err)
			}
		}, false},
		"folder gone": {func(f *fixture, lane string) {
			if err := os.RemoveAll(lane); err != nil {
				f.t.Fatal(err)
			}
		}, true},
		"rebase": {func(f *fixture, lane string) {
			f.write(lane, "one", "1")
			f.commit(lane, "one")
			f.git(lane, "-c", "sequence.editor=sed -i 1s/pick/edit/", "rebase", "-q", "-i", "HEAD~1")
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			c.do(f, f.lane("lane-1"))
			rec, loose := f.repo.looseBranch("ferrox/b/lane-1")
			if loose != c.loose {
				t.Fatalf("read from files: %v (%+v)", loose, rec)
			}
			if !loose {
				return
			}
			list, err := f.repo.refs(t.Context(), branches+"ferrox/b/lane-1")
			if err != nil || len(list) != 1 {
				t.Fatalf("%v %v", list, err)
			}
			own, err1 := f.repo.branchInfo(rec)
			asked, err2 := f.repo.branchInfo(list[0])
			if own != asked || err1 != nil || err2 != nil {
				t.Errorf("own %+v, git's %+v: %v %v", own, asked, err1, err2)
			}
		})
	}
}

// TestReader_EndedFromOutside: the process that reads objects may be ended by anybody; the next one answers.
func TestReader_EndedFromOutside(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for range 3 {
		c, err := f.repo.readCommit(t.Context(), f.base)
		if err != nil || c.tree != f.treeOf(f.base) {
			t.Fatalf("%+v %v", c, err)
		}
		if err := f.repo.objects.git.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
	}
}
