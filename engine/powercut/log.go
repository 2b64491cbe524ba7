package powercut

import (
	"math/rand/v2"
	"slices"
)

// flush is one call for a flush, before the kernel has carried it out.
type flush struct {
	path    string
	of      entry
	content *content // of a file
	written *state   // everything
	durable *state   // everything that survives if this flush does not happen
}

// Mark is something that somebody relies on.
type Mark struct {
	Name string
	At   int // the first flush that came after it
}

// Log is a recording.
type Log struct {
	Marks   []Mark
	flushes []flush // the last one is the end: it flushes nothing
}

// Without is the same recording on a disk that does not carry out the flushes of some paths, though it says so.
func (l *Log) Without(path func(string) bool) *Log {
	lying := &Log{Marks: l.Marks, flushes: slices.Clone(l.flushes)}
	for i := 1; i < len(lying.flushes); i++ {
		before := lying.flushes[i-1]
		lying.flushes[i].durable = before.durable
		if !path(before.path) {
			lying.flushes[i].durable = before.after()
		}
	}
	return lying
}

// after is what is durable once the flush is carried out.
func (f flush) after() *state {
	next := f.durable.clone()
	if f.of.kind == folder {
		next.flushFolder(f.of.inode, f.written)
	} else {
		next.contents[f.of.inode] = f.content
	}
	return next
}

// Len is the number of instants at which the power can be cut: before each flush, and at the end.
func (l *Log) Len() int { return len(l.flushes) }

// Path names what was about to be flushed at an instant, from the recorded folder.
func (l *Log) Path(at int) string { return l.flushes[at].path }

// Before are the names of the marks that were set before an instant.
func (l *Log) Before(at int) (names []string) {
	for _, m := range l.Marks {
		if m.At <= at {
			names = append(names, m.Name)
		}
	}
	return names
}

// Loss says how much of what was not flushed is lost.
type Loss int

// The kinds of losses.
const (
	All   Loss = iota // names and bytes
	Bytes             // bytes; names are there, new files empty
	Torn              // bytes of some pages; names are there
	Names             // names; files that have one hold some of the pages that were not flushed
)

// Losses are all kinds.
func Losses() []Loss { return []Loss{All, Bytes, Torn, Names} }

func (l Loss) String() string { return [...]string{"all", "bytes", "torn", "names"}[l] }

// Image is what the disk holds after a cut.
type Image struct{ state *state }

// Cut is the disk after the power was cut at an instant. Equal seeds tear equally.
func (l *Log) Cut(at int, loss Loss, seed uint64) Image {
	f := l.flushes[at]
	chance := rand.New(rand.NewPCG(seed, uint64(at)))
	image := newState(f.durable.root)
	image.names = f.durable.names
	if loss == Bytes || loss == Torn {
		image.names = f.written.names
	}
	image.fill(image.root, func(id inode) *content {
		durable, written := f.durable.contents[id], f.written.contents[id]
		if loss == All || loss == Bytes {
			return durable
		}
		return torn(durable, written, chance)
	})
	return Image{image}
}

// fill sets the contents of all files below a folder, in the order of their names.
func (s *state) fill(dir inode, of func(inode) *content) {
	for _, name := range sortedNames(s.names[dir]) {
		switch e := s.names[dir][name]; e.kind {
		case folder:
			s.fill(e.inode, of)
		case file:
			s.contents[e.inode] = of(e.inode)
		}
	}
}

// torn is a file of which some pages were written.
func torn(durable, written *content, chance *rand.Rand) *content {
	if durable == nil {
		durable = &content{}
	}
	if written == nil || durable.same(written) {
		return durable
	}
	size := durable.size
	if grown := written.size - size; grown > 0 {
		size += chance.IntN(grown + 1)
	} else if chance.IntN(2) == 0 {
		size = written.size
	}
	data := make([]byte, size)
	copy(data, durable.bytes())
	for i, page := range written.pages {
		if chance.IntN(2) == 0 && i*pageSize < size {
			copy(data[i*pageSize:], page)
		}
	}
	return newContent(data, durable)
}
