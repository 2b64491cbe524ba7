package watch

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func unheard(t *testing.T) func(error) {
	return func(err error) { t.Errorf("blind: %v", err) }
}

// The rest of the path is made just before its guard is armed, so no event tells of it.
func TestFolders_PathMadeBeforeItsGuardIsArmed(t *testing.T) {
	t.Parallel()
	lane := mkdir(t, filepath.Join(t.TempDir(), "lane"))
	dir := filepath.Join(lane, "tasks", "TP-1")
	k := newFake()
	k.fail = func(path string) error {
		if _, err := os.Lstat(path); err != nil {
			return fs.ErrNotExist
		}
		if path == lane {
			mkdir(t, dir)
		}
		return nil
	}
	f := newFolders(k, func(string) {}, unheard(t))
	f.watch(dir)
	if k.count(dir) == 0 || f.wanted[dir] != filepath.Dir(dir) {
		t.Errorf("the folder was armed %d times and its guard is %q", k.count(dir), f.wanted[dir])
	}
}

// The end of /a/b was kept back because /a was watched, and what /a had to say of it is lost with the watch of /a.
func TestFolders_EndIsNotLostWithTheWatchAbove(t *testing.T) {
	t.Parallel()
	k := newFake()
	told := map[string]int{}
	f := newFolders(k, func(dir string) { told[dir]++ }, unheard(t))
	f.watch("/a")
	f.watch("/a/b/c")
	armed, heard := k.count("/a/b/c"), told["/a/b/c"]
	f.unwatch("/a")
	if k.count("/a/b/c") == armed || told["/a/b/c"] == heard {
		t.Error("the folder below was not armed and told again")
	}
}
