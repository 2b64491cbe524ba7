package powercut

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// walker reads a state from the disk while others may write to it.
type walker struct {
	now, before *state
}

// walk reads the folder root. Contents that have not changed since before are not read again.
func walk(root string, before *state) (*state, error) {
	e, _, err := look(root)
	if err != nil {
		return nil, err
	}
	w := walker{now: newState(e.inode), before: before}
	return w.now, w.folder(root, e.inode)
}

func (w walker) folder(path string, id inode) error {
	listed, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // gone meanwhile
	}
	if err != nil {
		return err
	}
	names := map[string]entry{}
	for _, d := range listed {
		name := filepath.Join(path, d.Name())
		e, st, err := look(name)
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && d.Type()&(fs.ModeSocket|fs.ModeNamedPipe|fs.ModeDevice) != 0:
			continue
		case err != nil:
			return err
		}
		names[d.Name()] = e
		switch e.kind {
		case folder:
			err = w.folder(name, e.inode)
		case file:
			err = w.file(name, e.inode, st)
		}
		if err != nil {
			return err
		}
	}
	w.now.names[id] = names
	return nil
}

func (w walker) file(path string, id inode, st stamp) error {
	var old *content
	if w.before != nil {
		old = w.before.contents[id]
	}
	if old != nil && old.stamp == st {
		w.now.contents[id] = old
		return nil
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	c := newContent(data, old)
	c.stamp = st
	w.now.contents[id] = c
	return nil
}

// look says what lies at a path, without following it.
func look(path string) (entry, stamp, error) {
	var s unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &s); err != nil {
		return entry{}, stamp{}, fmt.Errorf("look at %s: %w", path, err)
	}
	e, st := read(s)
	if e.kind != link {
		return e, st, nil
	}
	to, err := os.Readlink(path)
	e.link = to
	return e, st, err
}

func read(s unix.Statx_t) (entry, stamp) {
	e := entry{inode: inode{number: s.Ino, born: nanoseconds(s.Btime)}, mode: uint32(s.Mode & 0o777)}
	switch s.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		e.kind = folder
	case unix.S_IFLNK:
		e.kind = link
	}
	return e, stamp{size: int64(s.Size), changed: nanoseconds(s.Ctime)}
}

func nanoseconds(t unix.StatxTimestamp) int64 { return t.Sec*1e9 + int64(t.Nsec) }

// readOpen reads what another process has open: a file with its bytes.
func readOpen(name string) (entry, []byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return entry{}, nil, err
	}
	defer f.Close()
	var s unix.Statx_t
	if err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &s); err != nil {
		return entry{}, nil, err
	}
	e, _ := read(s)
	if e.kind != file {
		return e, nil, nil
	}
	data, err := io.ReadAll(f)
	return e, data, err
}
