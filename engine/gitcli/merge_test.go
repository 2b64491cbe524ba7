package gitcli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ferrox/engine"
	"ferrox/lanes"
)

func TestMerge_Clean(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.laneWith("lane-1", map[string]string{"a.txt": "a\n", "shared.txt": "ONE\ntwo\nthree\n"})
	b := f.laneWith("lane-2", map[string]string{"b.txt": "b\n", "shared.txt": "one\ntwo\nTHREE\n"})
	first := f.merge(f.base, a)
	if first.Tree != f.git(f.dir, "rev-parse", string(a)+"^{tree}") {
		t.Error("a lane on top of the integration head must land as it is")
	}
	second := f.merge(first.Commit, b)
	if got := f.show(second.Commit, "shared.txt"); got != "ONE\ntwo\nTHREE" {
		t.Errorf("shared.txt is %q", got)
	}
	if got := f.git(f.dir, "show", "-s", "--format=%P %at %ct", string(second.Commit)); got != string(first.Commit)+" "+string(b)+" 1772366400 1772366400" {
		t.Errorf("parents and dates are %s", got)
	}
	if again := f.merge(first.Commit, b); again.Commit != second.Commit {
		t.Error("the same merge again is another commit")
	}
	if f.git(f.dir, "status", "--porcelain") != "" {
		t.Error("the main checkout was touched")
	}
}

func TestMerge_NothingNew(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	head := f.commit(f.dir, "later")
	got := f.merge(head, f.base)
	if got.Tree != f.git(f.dir, "rev-parse", string(head)+"^{tree}") || got.Commit == "" {
		t.Errorf("W38 an ancestor merged again: %+v", got)
	}
	if same := f.merge(head, head); same.Commit == "" || same.Tree != got.Tree {
		t.Errorf("a lane without commits: %+v", same)
	}
}

func TestMerge_Errors(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, from := range []lanes.Commit{"", "main", "--all", "0123456789012345678901234567890123456789"} {
		_, err := f.repo.Merge(t.Context(), engine.MergeRequest{Into: f.base, From: from, Message: "x", At: at})
		if !errors.Is(err, engine.ErrNoSuchRevision) {
			t.Errorf("%q: got %v, want ErrNoSuchRevision", from, err)
		}
	}
	f.git(f.dir, "checkout", "-q", "--orphan", "other")
	unrelated := f.commit(f.dir, "unrelated")
	if _, err := f.repo.Merge(t.Context(), engine.MergeRequest{Into: f.base, From: unrelated, Message: "x", At: at}); err == nil {
		t.Error("unrelated histories were merged")
	}
}

func TestW34_ConflictIsNeverSettledSilently(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(f.dir, "kept.txt", "kept\n")
	f.base = f.commit(f.dir, "more")
	odd := "-x \"quoted\"\nüñ.txt"
	a := f.laneWith("lane-1", map[string]string{"shared.txt": "A\n", "kept.txt": "changed\n", odd: "A\n"})
	b := f.laneWith("lane-2", map[string]string{"shared.txt": "B\n", "kept.txt": "", odd: "B\n"})
	f.git(f.dir, "config", "merge.ours.driver", "true")
	f.git(f.dir, "config", "pull.rebase", "true")
	got := f.merge(f.merge(f.base, a).Commit, b)
	want := []engine.Conflict{{Path: odd, Kind: "content"}, {Path: "kept.txt", Kind: "modify/delete"}, {Path: "shared.txt", Kind: "content"}}
	if diff := cmp.Diff(want, got.Conflicts); diff != "" || got.Commit != "" {
		t.Errorf("W62 commit %q, conflicts (-want +got):\n%s", got.Commit, diff)
	}
}

func TestW35_ClashesOfNames(t *testing.T) {
	t.Parallel()
	clash := func(name string, first, second map[string]string, want ...engine.Conflict) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			into := f.merge(f.base, f.laneWith("lane-1", first)).Commit
			got := f.merge(into, f.laneWith("lane-2", second))
			if diff := cmp.Diff(want, got.Conflicts); diff != "" || (got.Commit == "") != (len(want) > 0) {
				t.Errorf("commit %q, conflicts (-want +got):\n%s", got.Commit, diff)
			}
		})
	}
	type files = map[string]string
	clash("letters of a file", files{"Readme.md": "1\n"}, files{"README.md": "2\n"}, engine.Conflict{Path: "README.md", Kind: "letter-case"})
	clash("letters of a folder", files{"Lib/x": "1\n"}, files{"lib/x": "2\n"}, engine.Conflict{Path: "lib/x", Kind: "letter-case"})
	clash("two forms of one letter", files{"caf\u00e9": "1\n"}, files{"cafe\u0301": "2\n"}, engine.Conflict{Path: "cafe\u0301", Kind: "letter-case"})
	clash("file against folder", files{"x": "1\n"}, files{"x/y": "2\n"}, engine.Conflict{Path: "x", Kind: "file/folder"})
	clash("folder against file", files{"x/y": "1\n"}, files{"x": "2\n"}, engine.Conflict{Path: "x", Kind: "file/folder"})
	clash("file against folder in other letters", files{"X": "1\n"}, files{"x/y": "2\n"}, engine.Conflict{Path: "x/y", Kind: "letter-case"})
	clash("folder against file in other letters", files{"X/y": "1\n"}, files{"x": "2\n"}, engine.Conflict{Path: "x", Kind: "letter-case"})
	clash("within one lane", files{"other": "1\n"}, files{"b": "1\n", "B": "2\n"}, engine.Conflict{Path: "b", Kind: "letter-case"}, engine.Conflict{Path: "B", Kind: "letter-case"})
	clash("folders share a name in other letters", files{"Lib/x": "1\n"}, files{"lib/y": "2\n"})
	clash("no clash", files{"a": "1\n"}, files{"ab": "2\n", "a.b/c": "3\n"})
}

func TestW35_OldClashIsNotTheLanes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(f.dir, "B", "1\n")
	f.write(f.dir, "b", "2\n")
	f.base = f.commit(f.dir, "a clash of old")
	if got := f.merge(f.base, f.laneWith("lane-1", map[string]string{"new.txt": "x\n"})); len(got.Conflicts) > 0 {
		t.Errorf("got %v", got.Conflicts)
	}
}

func TestW35_SymlinksStaySymlinks(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	into := f.merge(f.base, f.laneWith("lane-1", map[string]string{"a": "1\n"})).Commit
	dir := f.lane("lane-2")
	if err := os.Remove(filepath.Join(dir, "shared.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "shared.txt")); err != nil {
		t.Fatal(err)
	}
	got := f.merge(into, f.commit(dir, "link"), engine.File{Path: "other", Mode: "120000", Data: []byte("docs")})
	tree := f.git(f.dir, "ls-tree", string(got.Commit), "shared.txt", "other")
	if strings.Count(tree, "120000 blob") != 2 || f.show(got.Commit, "shared.txt") != "/etc/passwd" {
		t.Errorf("got\n%s", tree)
	}
}

func TestMerge_Overlay(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(f.dir, "tasks/T-1/STATUS.md", "template\n")
	f.write(f.dir, "tasks/T-1/old", "old\n")
	f.base = f.commit(f.dir, "packet")
	first := f.merge(f.base, f.laneWith("lane-1", map[string]string{"tasks/T-2/.DONE": "by lane 1\n", "z": "1\n"})).Commit
	lane := f.laneWith("lane-2", map[string]string{"tasks/T-1/.reviews/1.md": "committed\n", "deep": "a file\n"})
	odd := "tasks/T-1/\"q\"\n-ü"
	got := f.merge(first, lane,
		engine.File{Path: "tasks/T-1/STATUS.md", Mode: "100644", Data: []byte("worked on\n")},
		engine.File{Path: "tasks/T-1/.DONE", Mode: "100755", Data: nil},
		engine.File{Path: odd, Mode: "100644", Data: []byte("odd\n")},
		engine.File{Path: "tasks/T-1/old", Remove: true},
		engine.File{Path: "tasks/T-1/.reviews/1.md", Mode: "100644", Data: []byte("never over the lane's\n")},
		engine.File{Path: "tasks/T-2/.DONE", Mode: "100644", Data: []byte("never over the other lane's\n")},
		engine.File{Path: "deep/file", Mode: "100644", Data: []byte("never instead of the lane's\n")},
	)
	for path, want := range map[string]string{
		"tasks/T-1/STATUS.md": "worked on", "tasks/T-1/.DONE": "", odd: "odd",
		"tasks/T-1/.reviews/1.md": "committed", "tasks/T-2/.DONE": "by lane 1", "deep": "a file", "z": "1",
	} {
		if text := f.show(got.Commit, path); text != want {
			t.Errorf("F160 W62 %q is %q, want %q", path, text, want)
		}
	}
	if f.has(got.Commit, "tasks/T-1/old") {
		t.Error("a file to remove is still there")
	}
	if mode := f.git(f.dir, "ls-tree", string(got.Commit), "tasks/T-1/.DONE"); !strings.HasPrefix(mode, "100755") {
		t.Errorf("mode is %s", mode)
	}
	if got.Tree != f.git(f.dir, "rev-parse", string(got.Commit)+"^{tree}") {
		t.Error("the result names another tree than the commit's")
	}
}

func TestMerge_OverlayOutsideTheTree(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	lane := f.laneWith("lane-1", map[string]string{"a": "1\n"})
	for _, path := range []string{"../x", ".git/config", "/abs", "a/../../b"} {
		_, err := f.repo.Merge(t.Context(), engine.MergeRequest{
			Into: f.base, From: lane, Message: "x", At: at, Overlay: []engine.File{{Path: path, Mode: "100644", Data: []byte("x")}},
		})
		if err == nil {
			t.Errorf("W62 %q was put into a tree", path)
		}
	}
}

func TestMerge_Attributes(t *testing.T) {
	t.Parallel()
	sides := func(t *testing.T, attributes string, config ...string) (*fixture, engine.MergeRequest) {
		f := newFixture(t)
		f.write(f.dir, ".gitattributes", attributes)
		f.write(f.dir, "docs/log.txt", "start\n")
		f.base = f.commit(f.dir, "attributes")
		for i := 0; i < len(config); i += 2 {
			f.git(f.dir, "config", config[i], config[i+1])
		}
		// What stands in the main checkout must not count.
		f.write(f.dir, ".gitattributes", "* merge=evil\n")
		f.git(f.dir, "add", ".gitattributes")
		into := f.merge(f.base, f.laneWith("lane-1", map[string]string{"docs/log.txt": "start\none\n", "new.bin": "1\n"})).Commit
		from := f.laneWith("lane-2", map[string]string{"docs/log.txt": "start\ntwo\n", "other.bin": "2\n"})
		return f, engine.MergeRequest{Into: into, From: from, Message: "x\n", At: at}
	}
	mark := filepath.Join(t.TempDir(), "ran")
	driver := "touch '" + mark + "'; true"
	refused := func(name, attributes, names string, config ...string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, q := sides(t, attributes, config...)
			_, err := f.repo.Merge(t.Context(), q)
			if !errors.Is(err, engine.ErrMergeDriver) || !strings.Contains(err.Error(), names) || !strings.Contains(err.Error(), "docs/log.txt") {
				t.Errorf("got %v, want ErrMergeDriver that names %s and docs/log.txt", err, names)
			}
			if _, err := os.Stat(mark); err == nil {
				t.Error("the driver ran")
			}
		})
	}
	refused("configured driver", "*.txt merge=mine\n", `"mine"`, "merge.mine.driver", driver)
	refused("unknown driver", "*.txt merge=theirs\n", `"theirs"`)
	refused("driver by default", "*.bin -text\n", `"mine"`, "merge.default", "mine", "merge.mine.driver", driver)
	refused("built-in name with a command", "*.txt merge=union\n", `"union"`, "merge.union.driver", driver)
	refused("filter with a command", "*.txt filter=crypt\n", `"crypt"`, "filter.crypt.clean", "cat")

	t.Run("union is honoured", func(t *testing.T) {
		t.Parallel()
		f, q := sides(t, "*.txt merge=union\n")
		res, err := f.repo.Merge(t.Context(), q)
		if err != nil || f.show(res.Commit, "docs/log.txt") != "start\none\ntwo" {
			t.Errorf("got %+v, %v", res, err)
		}
	})
	t.Run("binary is honoured", func(t *testing.T) {
		t.Parallel()
		f, q := sides(t, "*.txt -merge\n")
		res, err := f.repo.Merge(t.Context(), q)
		if err != nil || len(res.Conflicts) != 1 {
			t.Errorf("got %+v, %v", res, err)
		}
	})
	t.Run("a driver of paths that only one side changed does not matter", func(t *testing.T) {
		t.Parallel()
		f, q := sides(t, "*.bin merge=lfs filter=lfs\n*.txt merge=union\n", "filter.lfs.clean", "cat")
		res, err := f.repo.Merge(t.Context(), q)
		if err != nil || !f.has(res.Commit, "new.bin") || !f.has(res.Commit, "other.bin") {
			t.Errorf("got %+v, %v", res, err)
		}
	})
	t.Run("in a folder", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.write(f.dir, "docs/.gitattributes", "log.txt merge=union\n")
		f.write(f.dir, "docs/log.txt", "start\n")
		f.base = f.commit(f.dir, "attributes")
		into := f.merge(f.base, f.laneWith("lane-1", map[string]string{"docs/log.txt": "start\none\n"})).Commit
		got := f.merge(into, f.laneWith("lane-2", map[string]string{"docs/log.txt": "start\ntwo\n"}))
		if got.Commit == "" || f.show(got.Commit, "docs/log.txt") != "start\none\ntwo" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("a renamed path", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		text := strings.Repeat("a line of text\n", 20)
		f.write(f.dir, ".gitattributes", "*.lock merge=mine\n")
		f.write(f.dir, "old.txt", text)
		f.base = f.commit(f.dir, "attributes")
		f.git(f.dir, "config", "merge.mine.driver", driver)
		into := f.merge(f.base, f.laneWith("lane-1", map[string]string{"old.txt": text + "more\n"})).Commit
		from := f.laneWith("lane-2", map[string]string{"old.txt": "", "new.lock": "first\n" + text})
		_, err := f.repo.Merge(t.Context(), engine.MergeRequest{Into: into, From: from, Message: "x\n", At: at})
		if !errors.Is(err, engine.ErrMergeDriver) || !strings.Contains(err.Error(), "new.lock") {
			t.Errorf("got %v, want ErrMergeDriver that names new.lock", err)
		}
	})
}

// sleeper configures programs that never come back for everything that git may ask.
func (f *fixture) sleeper() {
	f.t.Helper()
	script := filepath.Join(f.top, "sleep.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexec sleep 1000\n"), 0o755); err != nil {
		f.t.Fatal(err)
	}
	for _, key := range []string{"gpg.program", "core.editor", "sequence.editor", "core.pager", "core.askPass"} {
		f.git(f.dir, "config", key, script)
	}
	for _, key := range []string{"commit.gpgSign", "tag.gpgSign"} {
		f.git(f.dir, "config", key, "true")
	}
	f.git(f.dir, "config", "user.signingKey", "ABCDEF")
}

func TestW40_SigningProgramAndEditorThatSleep(t *testing.T) {
	t.Parallel()
	f := newFixture(t, WithSignLimit(500*time.Millisecond))
	lane := f.laneWith("lane-1", map[string]string{"a": "1\n"})
	f.sleeper()
	q := engine.MergeRequest{Into: f.base, From: lane, Message: "x\n", At: at}
	start := time.Now()
	if _, err := f.repo.Merge(t.Context(), q); err != nil {
		t.Errorf("a merge without a signature asked: %v", err)
	}
	dir := filepath.Join(f.top, "lanes", "lane-1")
	f.write(dir, "work", "x\n")
	f.rescue(dir)
	q.Sign = true
	if _, err := f.repo.Merge(t.Context(), q); !errors.Is(err, engine.ErrSigning) || !errors.Is(err, engine.ErrGitTimeout) {
		t.Errorf("got %v, want ErrSigning and ErrGitTimeout", err)
	}
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("it took %s", d)
	}
}

func TestW40_SigningProgramThatFails(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.git(f.dir, "config", "gpg.program", "false")
	_, err := f.repo.CommitFiles(t.Context(), f.base, []engine.File{{Path: "x", Mode: "100644"}}, "x", at, true)
	if !errors.Is(err, engine.ErrSigning) || errors.Is(err, engine.ErrGitTimeout) {
		t.Errorf("got %v, want ErrSigning", err)
	}
}

func TestMerge_SignsWithAnSSHKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	key := filepath.Join(f.top, "key")
	f.keygen(key)
	f.git(f.dir, "config", "gpg.format", "ssh")
	f.git(f.dir, "config", "user.signingKey", key)
	lane := f.laneWith("lane-1", map[string]string{"a": "1\n"})
	res, err := f.repo.Merge(t.Context(), engine.MergeRequest{Into: f.base, From: lane, Message: "x\n", At: at, Sign: true})
	if err != nil || !strings.Contains(f.git(f.dir, "cat-file", "commit", string(res.Commit)), "gpgsig -----BEGIN SSH SIGNATURE-----") {
		t.Errorf("no signature: %v", err)
	}
}
