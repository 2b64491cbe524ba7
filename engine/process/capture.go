package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"ferrox/engine/crash"
	"ferrox/lanes"
)

// defaultOutputLimit bounds the output kept of one run, in bytes.
const defaultOutputLimit = 16 << 20

// tailSize is how many bytes of the output's end go into the exit record.
const tailSize = 4 << 10

// retryAfter is how long nothing is written after the disk refused.
const retryAfter = time.Second

// OutputIndex says what was kept of a run's output. It is written when the run ends.
type OutputIndex struct {
	Run     lanes.RunID `json:"run"`
	Bytes   int64       `json:"bytes"`    // printed by the worker
	Kept    int64       `json:"kept"`     // on disk
	LeftOut int64       `json:"left_out"` // not on disk: over the limit, or the disk refused them
}

// indexFile lies beside the segments.
const indexFile = "index.json"

// capture keeps a worker's output on disk, bounded: the first quarter of the limit, and the newest part in two
// segments that replace each other. A segment is named by its offset in the whole output, so that a gap between two of
// them says by itself how many bytes are missing. It never fails: what can't be written is counted and dropped, since
// a full disk must not kill the worker.
type capture struct {
	dir   string
	limit int64
	now   func() time.Time

	seen    int64    // bytes printed so far
	current *os.File // nil: the next write opens a segment
	room    int64    // bytes left in the current segment
	kept    []segment
	broken  time.Time // no attempt to write before this instant
	tail    []byte
}

// segment is one file of the output.
type segment struct {
	offset int64
	size   int64
}

func (s segment) name() string { return fmt.Sprintf("%020d", s.offset) }

func newCapture(dir string, limit int64) *capture {
	if limit <= 0 {
		limit = defaultOutputLimit
	}
	return &capture{dir: dir, limit: max(limit, 16), now: time.Now}
}

// Write keeps what it can and always takes all.
func (c *capture) Write(p []byte) (int, error) {
	c.remember(p)
	for rest := p; len(rest) > 0; {
		n := c.keep(rest)
		c.seen += int64(n)
		rest = rest[n:]
	}
	return len(p), nil
}

// remember keeps the newest bytes for the exit record.
func (c *capture) remember(p []byte) {
	c.tail = append(c.tail, p[max(0, len(p)-tailSize):]...)
	if over := len(c.tail) - tailSize; over > 0 {
		c.tail = append(c.tail[:0], c.tail[over:]...)
	}
}

// keep writes the start of p and returns how many bytes of it are dealt with.
func (c *capture) keep(p []byte) int {
	if c.current == nil && !c.open() {
		return len(p)
	}
	part := p[:min(int64(len(p)), c.room)]
	n, err := c.current.Write(part)
	c.room -= int64(n)
	c.kept[len(c.kept)-1].size += int64(n)
	if err != nil {
		c.broken = c.now().Add(retryAfter)
		c.close()
		return len(p)
	}
	if c.room == 0 {
		c.close()
	}
	return n
}

// open starts the next segment and gives up the oldest one that is not the first.
func (c *capture) open() bool {
	if c.now().Before(c.broken) {
		return false
	}
	head := c.limit / 4
	size := (c.limit - head) / 2
	if len(c.kept) == 0 {
		size = head
	}
	if len(c.kept) > 2 {
		after := crash.Around("drop output")
		os.Remove(filepath.Join(c.dir, c.kept[1].name()))
		after()
		c.kept = append(c.kept[:1], c.kept[2:]...)
	}
	defer crash.Around("next output")()
	next := segment{offset: c.seen}
	f, err := os.OpenFile(filepath.Join(c.dir, next.name()), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		c.broken = c.now().Add(retryAfter)
		return false
	}
	c.current, c.room = f, size
	c.kept = append(c.kept, next)
	return true
}

// close ends the current segment. It is not flushed to disk: the worker would stand still meanwhile, and the end of the
// output is in the exit record, which is.
func (c *capture) close() error {
	if c.current == nil {
		return nil
	}
	err := c.current.Close()
	c.current = nil
	return err
}

// finish closes the output and leaves the index.
func (c *capture) finish(run lanes.RunID) error {
	err := c.close()
	index := OutputIndex{Run: run, Bytes: c.seen}
	for _, s := range c.kept {
		index.Kept += s.size
	}
	index.LeftOut = index.Bytes - index.Kept
	return errors.Join(err, noteJSON(filepath.Join(c.dir, indexFile), index))
}

// text is the end of the output as valid UTF-8.
func (c *capture) text() string {
	t := c.tail
	for cut := 0; c.seen > int64(len(c.tail)) && cut < utf8.UTFMax-1 && len(t) > 0 && !utf8.RuneStart(t[0]); cut++ {
		t = t[1:]
	}
	return strings.ToValidUTF8(string(t), "\uFFFD")
}
