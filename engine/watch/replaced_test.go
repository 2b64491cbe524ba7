package watch

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Except where polling is named, it is off: the replaced folder must be picked up by events alone.

func TestW49_FolderReplaced(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		poll    time.Duration
		replace func(t *testing.T, root, dir string)
	}{
		"deleted and made again": {never, func(t *testing.T, _, dir string) {
			for range 20 {
				must(t, os.RemoveAll(dir))
				must(t, os.Mkdir(dir, 0o700))
			}
		}},
		"moved away and back": {never, func(t *testing.T, _, dir string) {
			for range 20 {
				must(t, os.Rename(dir, dir+".old"))
				must(t, os.Rename(dir+".old", dir))
			}
		}},
		"moved away and another moved in": {never, func(t *testing.T, root, dir string) {
			other := mkdir(t, filepath.Join(root, "other"))
			must(t, os.Rename(dir, dir+".old"))
			must(t, os.Rename(other, dir))
		}},
		"moved away and deleted": {never, func(t *testing.T, _, dir string) {
			must(t, os.Rename(dir, dir+".old"))
			must(t, os.RemoveAll(dir+".old"))
			must(t, os.Mkdir(dir, 0o700))
		}},
		"parent deleted and made again": {never, func(t *testing.T, _, dir string) {
			must(t, os.RemoveAll(filepath.Dir(dir)))
			must(t, os.MkdirAll(dir, 0o700))
		}},
		"parent moved away and another moved in": {never, func(t *testing.T, root, dir string) {
			other := mkdir(t, filepath.Join(root, "other", filepath.Base(dir)))
			must(t, os.Rename(filepath.Dir(dir), filepath.Join(root, "old")))
			must(t, os.Rename(filepath.Dir(other), filepath.Dir(dir)))
		}},
		"all of the lane deleted and made again": {never, func(t *testing.T, root, dir string) {
			must(t, os.RemoveAll(filepath.Join(root, "lane")))
			must(t, os.MkdirAll(dir, 0o700))
		}},
		"lane moved away and another moved in, by polling": {20 * time.Millisecond, func(t *testing.T, root, dir string) {
			other := mkdir(t, filepath.Join(root, "other", "tasks", filepath.Base(dir)))
			must(t, os.Rename(filepath.Join(root, "lane"), filepath.Join(root, "old")))
			must(t, os.Rename(filepath.Dir(filepath.Dir(other)), filepath.Join(root, "lane")))
		}},
		"a file was there": {never, func(t *testing.T, _, dir string) {
			must(t, os.RemoveAll(dir))
			must(t, os.WriteFile(dir, nil, 0o600))
			must(t, os.Remove(dir))
			must(t, os.Mkdir(dir, 0o700))
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			dir := mkdir(t, filepath.Join(root, "lane", "tasks", "TP-1"))
			w := begin(t, open(), tc.poll)
			watch(t, w, dir)
			if tc.poll == never {
				settle(t, w)
			}
			tc.replace(t, root, dir)
			finish(t, dir)
			claimed(t, w, dir)
		})
	}
}

// The claim comes when the dust of the replacement has settled, so only a watch on the new folder can tell of it.
func TestW49_NewFolderIsArmed(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := mkdir(t, filepath.Join(root, "tasks", "TP-1"))
	w := begin(t, open(), never)
	watch(t, w, dir)
	for range 10 {
		must(t, os.RemoveAll(filepath.Dir(dir)))
		must(t, os.MkdirAll(dir, 0o700))
		mark := filepath.Join(root, "mark")
		watch(t, w, mark)
		told(t, w, mark, 1)
		must(t, os.Mkdir(mark, 0o700))
		told(t, w, mark, 1) // events come in order: those of the replacement are through
		w.Unwatch(mark)
		must(t, os.Remove(mark))
		settle(t, w)
		finish(t, dir)
		claimed(t, w, dir)
	}
}

// A folder that went with its lane, unseen, is no longer watched where it is now.
func TestW49_MovedAwayIsForgotten(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := mkdir(t, filepath.Join(root, "lane", "tasks", "TP-1"))
	inner, err := fsnotify.NewWatcher()
	must(t, err)
	w := begin(t, drain(inner, inner.Events, inner.Errors), 20*time.Millisecond)
	watch(t, w, dir)
	must(t, os.Rename(filepath.Join(root, "lane"), filepath.Join(root, "old")))
	told(t, w, nobody, 2)
	if armed := inner.WatchList(); !slices.Equal(armed, []string{root}) {
		t.Errorf("armed %q, want %q", armed, root)
	}
}

// told waits until dir was delivered that often.
func told(t *testing.T, w *Watcher, dir string, times int) {
	t.Helper()
	late := time.After(limit)
	for times > 0 {
		select {
		case d := <-w.Changed():
			if d == dir {
				times--
			}
		case <-late:
			t.Fatalf("%s was not delivered within %v", dir, limit)
		}
	}
}

func TestW49_Git(t *testing.T) {
	t.Parallel()
	tests := map[string][][]string{
		"stash and pop": {{"stash", "push", "-u"}, {"stash", "pop"}},
		"switch back and forth": {
			{"add", "."},
			{"commit", "-q", "-m", "task"},
			{"switch", "-q", "-c", "work"},
			{"switch", "-q", "--orphan", "empty"},
			{"switch", "-q", "work"},
		},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			git(t, root, "init", "-q")
			git(t, root, "commit", "-q", "--allow-empty", "-m", "start")
			dir := mkdir(t, filepath.Join(root, "tasks", "TP-1"))
			must(t, os.WriteFile(filepath.Join(dir, "STATUS.md"), []byte("x\n"), 0o600))
			w := begin(t, open(), never)
			watch(t, w, dir)
			settle(t, w)
			for _, s := range steps {
				git(t, root, s...)
			}
			finish(t, dir)
			claimed(t, w, dir)
		})
	}
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	c := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}
