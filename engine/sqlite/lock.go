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
// polling, which lets one of two busy writers starve; the kernel wakes waiters in turn and frees the lock of a dead one.
//
// A blocked wait cannot be called back. When its caller gives up, it is left behind, and the next caller takes it over, so
// that there is never more than one.
type fileLock struct {
	path string

	mu   sync.Mutex
	left *wait // a wait that its caller gave up; nil if there is none
}

// wait is one blocked attempt.
type wait struct {
	granted chan error // buffered
	wanted  bool       // someone receives from granted; guarded by fileLock.mu
	lock    *flock.Flock
}

// acquire takes the lock and returns its release. ErrBusy once patience has passed, naming the holder.
func (l *fileLock) acquire(ctx context.Context, patience time.Duration) (release func(), err error) {
	w, err := l.try()
	if err != nil {
		return nil, err
	}
	if w.granted == nil {
		return func() { _ = w.lock.Unlock() }, nil
	}

	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case err := <-w.granted:
		return func() { _ = w.lock.Unlock() }, l.explain(err)
	case <-ctx.Done():
		l.leave(w)
		return nil, fmt.Errorf("wait for the write lock %s: %w", l.path, ctx.Err())
	case <-timer.C:
		l.leave(w)
		return nil, fmt.Errorf("wait for the write lock %s: %w: held by %s for more than %v; try again when it is done",
			l.path, engine.ErrBusy, l.holder(), patience)
	}
}

// try takes the lock if it is free, and else starts a wait or takes over the one that was left. Only the latter have a
// channel.
func (l *fileLock) try() (*wait, error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	if w := l.left; w != nil {
		w.wanted, l.left = true, nil
		return w, nil
	}
	lock := flock.New(l.path)
	ok, err := lock.TryLock()
	if err != nil {
		return nil, l.explain(err)
	}
	if ok {
		return &wait{lock: lock}, nil
	}
	w := &wait{granted: make(chan error, 1), wanted: true, lock: lock}
	go l.block(w)
	return w, nil
}

// block waits in the kernel and hands the lock to whoever wants it then, or frees it at once.
func (l *fileLock) block(w *wait) {
	err := w.lock.Lock()
	for errors.Is(err, syscall.EINTR) {
		err = w.lock.Lock()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.wanted {
		w.granted <- err
		return
	}
	if l.left == w {
		l.left = nil
	}
	_ = w.lock.Unlock()
}

// leave gives a wait up. If the lock came in the same moment, it is freed.
func (l *fileLock) leave(w *wait) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-w.granted:
		_ = w.lock.Unlock()
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

// holder names the process that has the lock, as the kernel lists it.
func (l *fileLock) holder() string {
	const nobody = "another process"
	info, err := os.Stat(l.path)
	if err != nil {
		return nobody
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nobody
	}
	list, err := os.Open("/proc/locks")
	if err != nil {
		return nobody
	}
	defer list.Close()
	inode := fmt.Sprintf(":%d", st.Ino)
	for lines := bufio.NewScanner(list); lines.Scan(); {
		// "1: FLOCK  ADVISORY  WRITE 4711 fe:00:131 0 EOF"; a line with "->" is a waiter.
		f := strings.Fields(lines.Text())
		if len(f) < 6 || f[1] != "FLOCK" || !strings.HasSuffix(f[5], inode) {
			continue
		}
		return "process " + f[4] + command(f[4])
	}
	return nobody
}

// command returns the name of a process in brackets, or nothing.
func command(pid string) string {
	name, err := os.ReadFile("/proc/" + pid + "/comm")
	if err != nil {
		return ""
	}
	return " (" + strings.TrimSpace(string(name)) + ")"
}
