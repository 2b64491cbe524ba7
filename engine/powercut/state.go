package powercut

import (
	"maps"
	"slices"
)

// inode tells one file or folder from all others, also from a later one with the same number.
type inode struct {
	number uint64
	born   int64 // nanoseconds
}

// entry is what a name stands for.
type entry struct {
	inode inode
	kind  kind
	mode  uint32 // permissions
	link  string // where a symbolic link leads
}

type kind byte

const (
	file kind = iota
	folder
	link
)

// pageSize is the unit in which bytes reach the disk.
const pageSize = 4096

// content are a file's bytes. Pages are shared between states and never changed.
type content struct {
	pages [][]byte // all of pageSize but the last
	size  int
	stamp stamp
}

// stamp changes with a file.
type stamp struct {
	size    int64
	changed int64
}

func newContent(data []byte, old *content) *content {
	c := &content{size: len(data)}
	for i := 0; i*pageSize < len(data); i++ {
		page := data[i*pageSize : min((i+1)*pageSize, len(data))]
		if old != nil && i < len(old.pages) && slices.Equal(old.pages[i], page) {
			page = old.pages[i]
		}
		c.pages = append(c.pages, page)
	}
	return c
}

func (c *content) bytes() []byte {
	if c == nil {
		return nil
	}
	return slices.Concat(c.pages...)
}

// same reports whether two files have the same bytes.
func (c *content) same(d *content) bool {
	return c.size == d.size && slices.EqualFunc(c.pages, d.pages, slices.Equal)
}

// sortedNames are the names of a folder in order.
func sortedNames(names map[string]entry) []string { return slices.Sorted(maps.Keys(names)) }

// state is a folder with all that is in it.
type state struct {
	root     inode
	names    map[inode]map[string]entry // of folders
	contents map[inode]*content         // of files
}

func newState(root inode) *state {
	return &state{root: root, names: map[inode]map[string]entry{}, contents: map[inode]*content{}}
}

// clone copies the state. What its maps hold is shared: it is replaced, never changed.
func (s *state) clone() *state {
	return &state{root: s.root, names: maps.Clone(s.names), contents: maps.Clone(s.contents)}
}

// holds reports whether a folder of the state has that very file under that name.
func (s *state) holds(dir inode, name string, of inode) bool {
	e, ok := s.names[dir][name]
	return ok && e.inode == of
}

// flushFolder makes the names of a folder durable as they are in now. A file that was moved here is gone from where it was.
func (s *state) flushFolder(dir inode, now *state) {
	listed := now.names[dir]
	for _, e := range listed {
		for other, names := range s.names {
			for name, old := range names {
				if other != dir && old.inode == e.inode && !now.holds(other, name, e.inode) {
					names = maps.Clone(names)
					delete(names, name)
					s.names[other] = names
				}
			}
		}
	}
	s.names[dir] = listed
}
