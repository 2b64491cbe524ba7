package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ferrox/engine"
	"ferrox/lanes"
)

// drainTime is how long output is still read after the worker's tree is gone: what it printed lies in the pipe, and
// whoever else was handed the pipe does not count.
const drainTime = 200 * time.Millisecond

// collector reads the pipe that a worker prints into.
type collector struct {
	writer  *os.File // the worker's end
	reader  *os.File
	capture *capture
	done    chan struct{} // closed when the pipe was read to its end
	noted   bool          // the index is on disk
}

func openOutput(s engine.WorkerSpec) (*collector, error) {
	dir := filepath.Join(s.Dir, outputDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep output: %w", err)
	}
	// The worker's end must block: programs take a full pipe's EAGAIN for an error and lose output.
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, fmt.Errorf("keep output: %w", err)
	}
	if err := unix.SetNonblock(p[0], true); err != nil {
		return nil, fmt.Errorf("keep output: %w", errors.Join(err, unix.Close(p[0]), unix.Close(p[1])))
	}
	c := &collector{
		reader: os.NewFile(uintptr(p[0]), "output"), writer: os.NewFile(uintptr(p[1]), "output"),
		capture: newCapture(dir, s.OutputLimit), done: make(chan struct{}),
	}
	go c.read()
	return c, nil
}

func (c *collector) read() {
	defer close(c.done)
	buf := make([]byte, 64<<10)
	for {
		n, err := c.reader.Read(buf)
		c.capture.Write(buf[:n])
		if err != nil {
			return
		}
	}
}

// release closes our copy of the worker's end.
func (c *collector) release() { c.writer.Close() }

// abandon gives up a collector that no worker was started with.
func (c *collector) abandon() error {
	c.release()
	<-c.done
	return c.reader.Close()
}

// finish reads what is left and closes the output.
func (c *collector) finish(run lanes.RunID) {
	c.writer.Close()
	c.reader.SetReadDeadline(time.Now().Add(drainTime))
	<-c.done
	c.reader.Close()
	c.note(run)
}

// note leaves the index of the output, which says what is missing of it. A disk that refused it may take it later.
func (c *collector) note(run lanes.RunID) {
	if c.noted {
		return
	}
	if err := c.capture.finish(run); err != nil {
		fmt.Fprintln(os.Stderr, "finish output:", err)
		return
	}
	c.noted = true
}

// text is the end of the output; only after finish.
func (c *collector) text() string { return c.capture.text() }

// spoolTick is how often the spool folder is looked at while the worker runs.
const spoolTick = 150 * time.Millisecond

// pollSpool answers spooled requests until stop is called; stop waits for the one that is being carried out.
func pollSpool(spool string, d *desk) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(spoolTick)
		defer tick.Stop()
		last := ""
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			// Its own context: a request that is being carried out is not cut off by the end of the run.
			err := serveSpool(context.Background(), spool, d, false)
			if err != nil && err.Error() != last { // or a broken disk would fill the log
				last = err.Error()
				fmt.Fprintln(os.Stderr, last)
			}
		}
	})
	return func() { cancel(); wg.Wait() }
}
