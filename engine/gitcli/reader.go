package gitcli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"ferrox/engine"
)

// readerIdle is how long the process that reads objects stays when nobody asks it.
const readerIdle = 2 * time.Second

// reader reads objects through one `cat-file --batch` that stays for a while: an engine reads many small ones, and each
// process would cost more than all of them. It ends when it is not asked any more, and with this process at the latest,
// because its input ends then.
type reader struct {
	mu   sync.Mutex
	git  *catFile // nil while there is none
	idle *time.Timer
}

// catFile is the process.
type catFile struct {
	cmd *exec.Cmd
	in  *os.File
	out *os.File
	buf *bufio.Reader
}

// read asks for objects by name, in order. A process that fails is ended; one that failed at its first answer may have been
// ended from outside, and is started anew once.
func (d *reader) read(ctx context.Context, r *Repo, names []string) ([]object, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	stale := d.git != nil
	objects, err := d.try(ctx, r, names)
	if err != nil && stale && ctx.Err() == nil {
		objects, err = d.try(ctx, r, names)
	}
	if err != nil {
		return nil, &engine.GitError{Args: []string{"cat-file", "--batch"}, Dir: r.common, Exit: -1, Err: err}
	}
	return objects, nil
}

func (d *reader) try(ctx context.Context, r *Repo, names []string) ([]object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if d.git == nil {
		git, err := r.startCatFile()
		if err != nil {
			return nil, err
		}
		d.git = git
		d.idle = time.AfterFunc(readerIdle, d.rest)
	}
	d.idle.Reset(readerIdle)
	objects, err := d.git.ask(ctx, r.limit, names)
	if err != nil {
		d.idle.Stop()
		d.git.end()
		d.git = nil
	}
	return objects, err
}

// rest ends the process because nobody has asked for a while.
func (d *reader) rest() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.git != nil {
		d.git.end()
		d.git = nil
	}
}

func (r *Repo) startCatFile() (*catFile, error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, theirIn.Close(), in.Close())
	}
	cmd := r.command(context.Background(), call{args: []string{"cat-file", "--batch", "-z"}})
	cmd.Stdin, cmd.Stdout = theirIn, theirOut
	err = cmd.Start()
	err = errors.Join(err, theirIn.Close(), theirOut.Close())
	if err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	return &catFile{cmd: cmd, in: in, out: out, buf: bufio.NewReader(out)}, nil
}

// end ends the process: it has nothing to finish.
func (c *catFile) end() {
	_ = c.in.Close()
	_ = c.out.Close()
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// ask writes one name and reads its answer before the next, so that neither side waits for the other with a full pipe.
func (c *catFile) ask(ctx context.Context, limit time.Duration, names []string) ([]object, error) {
	if err := errors.Join(c.in.SetWriteDeadline(time.Now().Add(limit)), c.out.SetReadDeadline(time.Now().Add(limit))); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() {
		past := time.Unix(1, 0)
		_, _ = c.in.SetWriteDeadline(past), c.out.SetReadDeadline(past)
	})
	defer stop()
	objects := make([]object, len(names))
	for i, name := range names {
		o, err := c.one(name)
		if err != nil {
			if ctx.Err() != nil {
				err = ctx.Err()
			} else if errors.Is(err, os.ErrDeadlineExceeded) {
				err = fmt.Errorf("%w: no answer after %s", engine.ErrGitTimeout, limit)
			}
			return nil, err
		}
		objects[i] = o
	}
	return objects, nil
}

// one reads the answer about one object: "<name> missing", or "<oid> <type> <size>" and the content.
func (c *catFile) one(name string) (object, error) {
	if _, err := c.in.WriteString(name + "\x00"); err != nil {
		return object{}, err
	}
	missing := name + " missing\n"
	line := ""
	for line = ""; ; {
		part, err := c.buf.ReadString('\n')
		if line += part; err != nil {
			return object{}, err
		}
		if line == missing {
			return object{}, nil
		}
		if !strings.HasPrefix(missing, line) { // a name may have line breaks in it
			break
		}
	}
	f := strings.Fields(line)
	size, err := 0, error(nil)
	if len(f) == 3 {
		size, err = strconv.Atoi(f[2])
	}
	if len(f) != 3 || err != nil || size < 0 {
		return object{}, fmt.Errorf("read object %q: git's answer %q is not understood", name, strings.TrimSpace(line))
	}
	data := make([]byte, size+1)
	if _, err := io.ReadFull(c.buf, data); err != nil {
		return object{}, err
	}
	return object{kind: f[1], data: data[:size:size]}, nil
}
