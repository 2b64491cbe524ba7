//go:build linux

package powercut

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	Launch()
	if len(os.Args) == 3 && os.Args[1] == "write" { // a Go program that writes and flushes
		f, err := os.Create(os.Args[2])
		if err == nil {
			_, err = f.WriteString("from Go")
		}
		if err = errors.Join(err, f.Sync()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// recorded runs a script in an empty folder and returns what was recorded.
func recorded(t *testing.T, before, script string) *Log {
	t.Helper()
	root, marks := t.TempDir(), t.TempDir()
	shell := func(script string) *exec.Cmd {
		cmd := exec.Command("sh", "-ec", script)
		cmd.Dir, cmd.Stderr = root, os.Stderr
		cmd.Env = append(os.Environ(), "MARKS="+marks, "SELF="+os.Args[0], "GIT_CONFIG_NOSYSTEM=1", "HOME="+marks)
		return cmd
	}
	if err := shell(before).Run(); err != nil {
		t.Fatal(err)
	}
	r, err := Record(root, marks)
	if errors.Is(err, ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Run(shell(script)); err != nil {
		t.Fatal(err)
	}
	log, err := r.End()
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// shown is an image as text: "name=bytes", folders as "name/".
func shown(t *testing.T, i Image) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "image")
	if err := i.Write(dir); err != nil {
		t.Fatal(err)
	}
	var all []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, dir+"/")
		switch {
		case err != nil || path == dir:
			return err
		case d.IsDir():
			all = append(all, name+"/")
			return nil
		}
		data, err := os.ReadFile(path)
		all = append(all, name+"="+strings.TrimSpace(string(data)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

func TestCut_WhatIsFlushedStays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, before, script, all, bytes string }{
		{"nothing flushed", "", "echo a >f", "", "f="},
		{"bytes without a name", "", "echo a >f; sync f", "", "f=a"},
		{"a name without bytes", "", "echo a >f; sync .", "f=", "f="},
		{"both", "", "echo a >f; sync f .", "f=a", "f=a"},
		{"written again", "", "echo a >f; sync f .; echo b >f", "f=a", "f=a"},
		{"what was there", "echo a >f", "rm f", "f=a", ""},
		{"replaced", "echo a >f", "echo b >g; sync g; mv g f", "f=a", "f=b"},
		{"replaced and flushed", "echo a >f", "echo b >g; sync g; mv g f; sync .", "f=b", "f=b"},
		{"replaced without bytes", "echo a >f", "echo b >g; mv g f; sync .", "f=", "f="},
		{"a folder in a folder", "", "mkdir d; echo a >d/f; sync d/f d", "", "d/ d/f=a"},
		{"a folder and its name", "", "mkdir d; echo a >d/f; sync d/f d .", "d/ d/f=a", "d/ d/f=a"},
		{"moved", "mkdir d; echo a >d/f", "mv d/f f; sync .", "d/ f=a", "d/ f=a"},
		{"linked", "mkdir d; echo a >d/f", "ln d/f f; sync .", "d/ d/f=a f=a", "d/ d/f=a f=a"},
		{"a number used again", "", "echo a >f; sync f .; rm f; echo b >f", "f=a", "f="},
		{"by Go", "", `"$SELF" write f; sync .`, "f=from Go", "f=from Go"},
		{"by git", "git init -q --template= .; git config core.fsync objects; git config user.name a; git config user.email a", `git hash-object -w --stdin </dev/null >/dev/null; sync .; rm -rf .git`, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			log := recorded(t, c.before, c.script)
			if c.name == "by git" {
				if log.Len() < 3 {
					t.Errorf("git was not seen: %d flushes", log.Len())
				}
				return
			}
			end := log.Len() - 1
			if got := shown(t, log.Cut(end, All, 1)); got != c.all {
				t.Errorf("all: %q, want %q", got, c.all)
			}
			if got := shown(t, log.Cut(end, Bytes, 1)); got != c.bytes {
				t.Errorf("bytes: %q, want %q", got, c.bytes)
			}
		})
	}
}

// TestLog_Without shows a disk that lies about one file.
func TestLog_Without(t *testing.T) {
	t.Parallel()
	log := recorded(t, "", "echo a >f; echo b >g; sync f g .")
	lying := log.Without(func(path string) bool { return path == "g" })
	if got := shown(t, lying.Cut(lying.Len()-1, All, 1)); got != "f=a g=" {
		t.Errorf("on a disk that lies: %q", got)
	}
	if got := shown(t, log.Cut(log.Len()-1, All, 1)); got != "f=a g=b" {
		t.Errorf("on one that does not: %q", got)
	}
}

// TestCut_Torn looks for every way in which three pages can be torn.
func TestCut_Torn(t *testing.T) {
	t.Parallel()
	page := func(name string) string { return fmt.Sprintf("yes %s | head -c 4096;", name) }
	log := recorded(t, "("+page("o")+page("o")+page("o")+") >f", "("+page("n")+page("n")+page("n")+") >g; cat g 1<>f >&1")
	ways := map[string]bool{}
	for seed := range uint64(64) {
		image := log.Cut(log.Len()-1, Names, seed)
		f := image.state.contents[image.state.names[image.state.root]["f"].inode].bytes()
		if len(f) != 3*pageSize {
			t.Fatalf("%d bytes", len(f))
		}
		ways[string([]byte{f[0], f[pageSize], f[2*pageSize]})] = true
	}
	if len(ways) != 8 {
		t.Errorf("ways: %v", ways)
	}
}

func TestLog_Marks(t *testing.T) {
	t.Parallel()
	log := recorded(t, "", `echo a >f; sync f; echo >"$MARKS/first"; sync "$MARKS/first"; sync .; echo >"$MARKS/second"; sync "$MARKS/second"`)
	if log.Len() != 3 {
		t.Fatalf("%d instants", log.Len())
	}
	for at, want := range []string{"", "first", "first second"} {
		if got := strings.Join(log.Before(at), " "); got != want {
			t.Errorf("before %d (%s): %q, want %q", at, log.Path(at), got, want)
		}
	}
}
