package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// followEvery is how often a follower looks for more.
const followEvery = 100 * time.Millisecond

// OpenOutput reads what is kept of a run's output, oldest first, with a line that says how many bytes are missing
// wherever some are. dir is the run's folder. It ends where the output ends now.
func OpenOutput(dir string) (io.ReadCloser, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("open output: %w", err)
	}
	return &outputReader{dir: filepath.Join(dir, outputDir)}, nil
}

// ReadOutput copies a run's output to w. With follow it goes on until the run has ended and all was copied, or until
// ctx ends.
func ReadOutput(ctx context.Context, dir string, w io.Writer, follow bool) error {
	r, err := OpenOutput(dir)
	if err != nil {
		return err
	}
	defer r.Close()
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		// Asked before reading: what was printed until the end is then read below.
		over := !follow || runEnded(dir)
		if _, err := io.Copy(w, r); err != nil {
			return fmt.Errorf("read output: %w", err)
		}
		if over {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// runEnded reports whether nothing will be added: there is an exit record, or the shim died without one.
func runEnded(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, exitFile)); err == nil {
		return true
	}
	shim, ok := ReadShim(dir)
	return ok && !alive(shim.Identity) && !elsewhere(shim.Identity)
}

// outputReader reads segments in the order of their offsets. After io.EOF it can be asked again.
type outputReader struct {
	dir     string
	at      int64 // offset in the whole output
	file    *os.File
	pending []byte // a marker that is due
}

func (r *outputReader) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

func (r *outputReader) Read(p []byte) (int, error) {
	for {
		if len(r.pending) > 0 {
			n := copy(p, r.pending)
			r.pending = r.pending[n:]
			return n, nil
		}
		// Looked for before reading on: once there is a next segment, nothing is added to this one.
		next, more, err := r.next()
		if err != nil {
			return 0, err
		}
		if r.file != nil {
			n, err := r.file.Read(p)
			r.at += int64(n)
			if n > 0 || (err != nil && err != io.EOF) {
				return n, err
			}
		}
		if !more {
			return 0, r.end()
		}
		if err := r.turn(next); err != nil {
			return 0, err
		}
	}
}

// next finds the first segment that starts at or after where we are and is not the one being read.
func (r *outputReader) next() (int64, bool, error) {
	entries, err := os.ReadDir(r.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, false, fmt.Errorf("list output: %w", err)
	}
	var offsets []int64
	for _, e := range entries {
		if o, err := strconv.ParseInt(e.Name(), 10, 64); err == nil && len(e.Name()) == 20 && o >= r.at && !r.reading(o) {
			offsets = append(offsets, o)
		}
	}
	if len(offsets) == 0 {
		return 0, false, nil
	}
	return slices.Min(offsets), true, nil
}

func (r *outputReader) reading(offset int64) bool {
	return r.file != nil && filepath.Base(r.file.Name()) == segment{offset: offset}.name()
}

// turn opens the segment at that offset. One that was given up meanwhile is passed over.
func (r *outputReader) turn(offset int64) error {
	f, err := os.Open(filepath.Join(r.dir, segment{offset: offset}.name()))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open output: %w", err)
	}
	r.skip(offset)
	old := r.file
	r.file = f
	if old != nil {
		return old.Close()
	}
	return nil
}

// end tells of bytes that are missing at the very end, once the index says how many there were.
func (r *outputReader) end() error {
	var index OutputIndex
	if err := readJSON(filepath.Join(r.dir, indexFile), &index); err == nil {
		r.skip(index.Bytes)
	}
	if len(r.pending) == 0 {
		return io.EOF
	}
	return nil
}

// skip moves on and leaves a marker for what was passed over.
func (r *outputReader) skip(to int64) {
	if to > r.at {
		r.pending = fmt.Appendf(nil, "\n[ferrox: %d bytes left out]\n", to-r.at)
		r.at = to
	}
}
