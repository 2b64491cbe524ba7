package watch

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// rounds bounds how often catchUp goes on because arming changed other watches. A path has seldom more parts that are
// missing; polling does the rest.
const rounds = 16

// folders knows what is watched and keeps it armed. Beside each folder its guard is armed: its parent, or the nearest
// ancestor that is there, which tells when the folder appears, goes or is replaced.
type folders struct {
	kernel kernel
	tell   func(dir string)  // a watched folder may have changed
	blind  func(error)       // a folder sends no events
	wanted map[string]string // watched folder → its guard; "" when it has none
	guards map[string]int    // guard → how many folders it stands for
	shaken []string          // paths whose watch came or went since the last catchUp
}

func newFolders(k kernel, tell func(string), blind func(error)) *folders {
	return &folders{kernel: k, tell: tell, blind: blind, wanted: map[string]string{}, guards: map[string]int{}}
}

func (f *folders) watch(dir string) {
	if !f.watched(dir) {
		f.wanted[dir] = ""
		f.shaken = append(f.shaken, dir)
	}
	f.arm(dir)
	f.tell(dir)
	f.catchUp()
}

func (f *folders) unwatch(dir string) {
	guard, ok := f.wanted[dir]
	if !ok {
		return
	}
	delete(f.wanted, dir)
	f.release(guard)
	f.disarm(dir)
	f.catchUp()
}

// rearm arms every folder again.
func (f *folders) rearm() {
	for dir := range f.wanted {
		f.arm(dir)
	}
	f.catchUp()
}

// event tells the watched folders that e may be about, after arming again those that e may have replaced.
func (f *folders) event(e fsnotify.Event) {
	name := filepath.Clean(e.Name)
	if parent := filepath.Dir(name); f.watched(parent) && parent != name {
		f.tell(parent)
	}
	if e.Has(fsnotify.Create) || e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		f.renew(func(dir string) bool { return within(dir, name) })
		f.catchUp()
	}
}

// catchUp arms again what is below the paths whose watch came or went. Parts of a path may have been made before their
// guard was armed. And fsnotify tells nothing of a folder's own end while
// its parent is watched, and nothing of a parent that is not watched any more: around such a change an end is lost.
func (f *folders) catchUp() {
	for range rounds {
		if len(f.shaken) == 0 {
			return
		}
		tops := f.shaken
		f.shaken = nil
		f.renew(func(dir string) bool {
			return slices.ContainsFunc(tops, func(top string) bool { return dir != top && within(dir, top) })
		})
	}
	f.shaken = nil
}

// renew arms again and tells the watched folders that pick picks.
func (f *folders) renew(pick func(dir string) bool) {
	for dir := range f.wanted {
		if pick(dir) {
			f.arm(dir)
			f.tell(dir)
		}
	}
}

func (f *folders) watched(dir string) bool {
	_, ok := f.wanted[dir]
	return ok
}

// arm watches dir's guard and then dir: in this order, a folder made in between is told by the guard. What was made
// before a new guard was armed is found by catchUp.
func (f *folders) arm(dir string) {
	f.stand(dir, f.climb(dir))
	if err := f.add(dir); err != nil && !missing(err) {
		f.blind(err)
	}
}

// climb arms the nearest ancestor of dir that is there and returns it, or "" when none can be armed.
func (f *folders) climb(dir string) string {
	for at := filepath.Dir(dir); ; at = filepath.Dir(at) {
		err := f.add(at)
		switch {
		case err == nil:
			return at
		case !missing(err):
			f.blind(err)
			return ""
		case at == filepath.Dir(at):
			return ""
		}
	}
}

// stand makes guard the one that stands for dir.
func (f *folders) stand(dir, guard string) {
	old := f.wanted[dir]
	if old == guard {
		return
	}
	f.wanted[dir] = guard
	if guard != "" {
		f.guards[guard]++
	}
	if f.guards[guard] == 1 {
		f.shaken = append(f.shaken, guard)
	}
	f.release(old)
}

func (f *folders) release(guard string) {
	if guard == "" {
		return
	}
	f.guards[guard]--
	if f.guards[guard] == 0 {
		delete(f.guards, guard)
		f.disarm(guard)
	}
}

// add arms one path. A path that cannot be armed is forgotten: fsnotify would go on to report a folder that was moved
// away under the name that it had.
func (f *folders) add(path string) error {
	err := f.kernel.Add(path)
	if err != nil {
		_ = f.kernel.Remove(path) // it was not there, or its watch went with its folder
	}
	return err
}

// disarm removes the watch of a path that nobody needs any more.
func (f *folders) disarm(path string) {
	if !f.watched(path) && f.guards[path] == 0 {
		_ = f.kernel.Remove(path) // it may have gone with its folder
		f.shaken = append(f.shaken, path)
	}
}

// within reports whether dir is top or below it.
func within(dir, top string) bool {
	rest, ok := strings.CutPrefix(dir, top)
	return ok && (rest == "" || rest[0] == filepath.Separator)
}

// missing reports whether a path could not be armed because nothing is there yet.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
