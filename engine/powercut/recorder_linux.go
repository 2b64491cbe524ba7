package powercut

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// Recorder runs programs and records what they flush below one folder.
type Recorder struct {
	root, marks string
	serving     sync.WaitGroup

	mu      sync.Mutex
	durable *state
	written *state // as of the last flush
	log     Log
	err     error
}

// Record begins to record the folder root, which is durable as it is. A flush of a file in the folder marks, which lies
// elsewhere, is a mark with that file's name: so does a program under the recorder say what it was told.
// ErrUnsupported when the kernel does not take part.
func Record(root, marks string) (*Recorder, error) {
	r := &Recorder{root: root, marks: marks}
	var err error
	if r.written, err = walk(root, nil); err != nil {
		return nil, fmt.Errorf("record flushes: %w", err)
	}
	r.durable = r.written.clone()
	if err := r.Run(exec.Command("true")); err != nil {
		return nil, fmt.Errorf("record flushes: %w", err)
	}
	return r, nil
}

// Run runs a command to its end and records it, and whatever it leaves behind for as long as that lives.
func (r *Recorder) Run(cmd *exec.Cmd) error {
	listener, err := start(cmd)
	if err != nil {
		if cmd.Process != nil {
			_ = cmd.Wait()
		}
		return err
	}
	r.serving.Go(func() {
		if err := serve(listener, r.flushed); err != nil {
			r.fail(fmt.Errorf("listen: %w", err))
		}
	})
	return cmd.Wait()
}

// Mark says that from now on the caller relies on something.
func (r *Recorder) Mark(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.Marks = append(r.log.Marks, Mark{Name: name, At: len(r.log.flushes)})
}

// End waits until every process under the recorder has ended and returns what was recorded.
func (r *Recorder) End() (*Log, error) {
	r.serving.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.written, r.err = walk(r.root, r.written)
		r.log.flushes = append(r.log.flushes, flush{path: "the end", durable: r.durable, written: r.written})
	}
	return &r.log, r.err
}

func (r *Recorder) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
}

// flushed takes down one call of fsync, before the kernel has carried it out.
func (r *Recorder) flushed(call report) {
	name := fmt.Sprintf("/proc/%d/fd/%d", call.tid, int32(call.args[0]))
	path, err := os.Readlink(name)
	if err != nil {
		return // the caller was killed
	}
	if dir, base := filepath.Split(path); filepath.Clean(dir) == r.marks {
		r.Mark(base)
		return
	}
	if path != r.root && !strings.HasPrefix(path, r.root+"/") {
		return
	}
	if err := r.take(name, strings.TrimPrefix(path, r.root+"/")); err != nil {
		r.fail(fmt.Errorf("record a flush of %s: %w", path, err))
	}
}

// take records the two states at a flush, and then makes durable what is flushed.
func (r *Recorder) take(open, path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, data, err := readOpen(open)
	if err != nil {
		return err
	}
	written, err := walk(r.root, r.written)
	if err != nil {
		return err
	}
	f := flush{path: path, of: e, written: written, durable: r.durable}
	if e.kind == file {
		f.content = newContent(data, written.contents[e.inode])
	}
	r.log.flushes = append(r.log.flushes, f)
	r.durable, r.written = f.after(), written
	return nil
}
