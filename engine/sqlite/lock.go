package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"ferrox/engine"
)

// fileLock is the lock that writers of different processes take around a transaction. SQLite's own lock is taken by
// polling, which lets one of two busy writers starve; the kernel wakes waiters and frees the lock of a dead one.
//
// There are two files. Who holds the first is next in line for the second, and lets go of the first once it has the
// second. A writer that is done and wants to write again so finds somebody in front of it, instead of taking back the
// lock before a waiter is awake.
//
// A blocked wait cannot be called back. When its caller gives up, it is left behind, and the next caller takes it over, so
// that there is never more than one.
type fileLock struct {
	path string

	mu   sync.Mutex
	left *wait // a wait that its caller gave up; nil if there is none
}

// wait is one attempt to take the lock.
type wait struct {
	line *flock.Flock // next in line
	lock *flock.Flock

	granted chan error // buffered; nil when the lock was taken at once
	wanted  bool       // someone receives from granted; guarded by fileLock.mu
}

// acquire takes the lock and returns its release. ErrBusy once patience has passed, naming the holder.
func (l *fileLock) acquire(ctx context.Context, patience time.Duration) (release func(), err error) {
	w, err := l.try()
	if err != nil {
		return nil, l.explain(err)
	}
	if w.granted == nil {
		return w.release, nil
	}

	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case err := <-w.granted:
		return w.release, l.explain(err)
	case <-ctx.Done():
		l.leave(w)
		return nil, fmt.Errorf("wait for the write lock %s: %w", l.path, ctx.Err())
	case <-timer.C:
		l.leave(w)
		h := l.holder()
		return nil, &engine.MendError{
			Err:  fmt.Errorf("wait for the write lock %s: %w: held by %s for more than %v", l.path, engine.ErrBusy, h, patience),
			Next: h.next(),
		}
	}
}

// try takes the lock if it is free, and else starts a wait or takes over the one that was left.
func (l *fileLock) try() (*wait, error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	if w := l.left; w != nil {
		w.wanted, l.left = true, nil
		return w, nil
	}
	w := &wait{line: flock.New(l.path + "-line"), lock: flock.New(l.path)}
	ok, err := w.atOnce()
	if err != nil {
		w.release()
		return nil, err
	}
	if ok {
		return w, nil
	}
	w.granted, w.wanted = make(chan error, 1), true
	go l.block(w)
	return w, nil
}

// atOnce takes what is free: the place in line, then the lock.
func (w *wait) atOnce() (bool, error) {
	for _, f := range []*flock.Flock{w.line, w.lock} {
		if ok, err := f.TryLock(); !ok {
			return false, err
		}
	}
	return true, w.line.Unlock()
}

// blocked takes both in the kernel's own time.
func (w *wait) blocked() error {
	for _, f := range []*flock.Flock{w.line, w.lock} {
		err := f.Lock()
		for errors.Is(err, syscall.EINTR) {
			err = f.Lock()
		}
		if err != nil {
			return err
		}
	}
	return w.line.Unlock()
}

// release frees whatever of the two is held.
func (w *wait) release() {
	_ = w.lock.Unlock()
	_ = w.line.Unlock()
}

// block waits and hands the lock to whoever wants it then, or frees it at once.
func (l *fileLock) block(w *wait) {
	err := w.blocked()
	if err != nil {
		w.release()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.wanted {
		w.granted <- err
		return
	}
	l.left = nil
	w.release()
}

// leave gives a wait up. If the lock came in the same moment, it is freed.
func (l *fileLock) leave(w *wait) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-w.granted:
		w.release()
	default:
		w.wanted, l.left = false, w
	}
}

func (l *fileLock) explain(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("open the write lock %s: %w: start ferrox in the repository first", l.path, err)
	}
	return fmt.Errorf("open the write lock %s: %w (%w); nothing was stored: make the folder writable, then try again",
		l.path, engine.ErrDisk, err)
}

// holder is the process that has a lock.
type holder struct {
	pid     string // "" when it is not known
	name    string // "" when it has ended
	stopped bool   // by a signal; it does not go on by itself
}

func (h holder) String() string {
	switch {
	case h.pid == "":
		return "another process"
	case h.name == "":
		return "process " + h.pid + " or a child of it"
	case h.stopped:
		return "process " + h.pid + " (" + h.name + "), which is stopped,"
	}
	return "process " + h.pid + " (" + h.name + ")"
}

// next is what to type about it.
func (h holder) next() string {
	switch {
	case h.pid == "" || h.name == "":
		return "wait"
	case h.stopped:
		return "kill -CONT " + h.pid
	}
	return "ps -fp " + h.pid
}

// holder finds the process that has the lock, as the kernel lists it.
func (l *fileLock) holder() holder {
	info, err := os.Stat(l.path)
	if err != nil {
		return holder{}
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return holder{}
	}
	list, err := os.Open("/proc/locks")
	if err != nil {
		return holder{}
	}
	defer list.Close()
	inode := fmt.Sprintf(":%d", st.Ino)
	for lines := bufio.NewScanner(list); lines.Scan(); {
		// "1: FLOCK  ADVISORY  WRITE 4711 fe:00:131 0 EOF"; a line with "->" is a waiter.
		f := strings.Fields(lines.Text())
		if len(f) < 6 || f[1] != "FLOCK" || !strings.HasSuffix(f[5], inode) {
			continue
		}
		return lookAt(f[4])
	}
	return holder{}
}

// lookAt reads what the kernel says of the holder: "4711 (name) T …".
func lookAt(pid string) holder {
	h := holder{pid: pid}
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	open, end := strings.IndexByte(string(stat), '('), strings.LastIndexByte(string(stat), ')')
	if err != nil || open < 0 || end < open || end+2 >= len(stat) {
		return h
	}
	h.name, h.stopped = string(stat[open+1:end]), stat[end+2] == 'T'
	return h
}
