package powercut

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"strings"
)

// Write puts the image into dir, which must not be there. only limits it to what is below these paths; none is everything.
func (i Image) Write(dir string, only ...string) error {
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("write an image to %s: something is there: %w", dir, err)
	}
	return i.write(dir, "", i.state.root, only)
}

func (i Image) write(to, path string, dir inode, only []string) error {
	if err := os.MkdirAll(filepath.Join(to, path), 0o755); err != nil {
		return err
	}
	for _, name := range sortedNames(i.state.names[dir]) {
		e := i.state.names[dir][name]
		below := filepath.Join(path, name)
		if !wanted(below, only) {
			continue
		}
		var err error
		switch e.kind {
		case folder:
			err = i.write(to, below, e.inode, only)
		case file:
			err = os.WriteFile(filepath.Join(to, below), i.state.contents[e.inode].bytes(), os.FileMode(e.mode))
		case link:
			err = os.Symlink(e.link, filepath.Join(to, below))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Digest is equal for images that hold the same below these paths.
func (i Image) Digest(only ...string) string {
	sum := sha256.New()
	i.digest(sum, "", i.state.root, only)
	return hex.EncodeToString(sum.Sum(nil))
}

func (i Image) digest(sum hash.Hash, path string, dir inode, only []string) {
	for _, name := range sortedNames(i.state.names[dir]) {
		e := i.state.names[dir][name]
		below := filepath.Join(path, name)
		if !wanted(below, only) {
			continue
		}
		data := i.state.contents[e.inode]
		size := 0
		if data != nil {
			size = data.size
		}
		fmt.Fprintf(sum, "%d %q %q %d\n", e.kind, below, e.link, size)
		switch e.kind {
		case folder:
			i.digest(sum, below, e.inode, only)
		case file:
			sum.Write(data.bytes())
		}
	}
}

// wanted reports whether a path is one of only, below one, or on the way to one.
func wanted(path string, only []string) bool {
	for _, o := range only {
		if path == o || strings.HasPrefix(path, o+"/") || strings.HasPrefix(o, path+"/") {
			return true
		}
	}
	return len(only) == 0
}
