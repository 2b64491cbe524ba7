package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"ferrox/engine"
)

// Lock is the repository's engine lock: a lock of the kernel on an open file, gone with its process. It can be looked at
// without being taken, so a look never gets in the way of an engine that starts.
type Lock struct {
	path string

	mu   sync.Mutex
	file *os.File // open while the lock is held
}

var _ engine.Lock = (*Lock)(nil)

// NewLock returns the lock on a file, which is made when it is first needed.
func NewLock(path string) *Lock { return &Lock{path: path} }

func (l *Lock) whole(kind int16) *unix.Flock_t {
	return &unix.Flock_t{Type: kind, Whence: io.SeekStart}
}

// TryLock implements engine.Lock.
func (l *Lock) TryLock() (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		return false, nil
	}
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return false, fmt.Errorf("lock %s: %w", l.path, err)
	}
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return false, fmt.Errorf("lock %s: %w", l.path, err)
	}
	err = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, l.whole(unix.F_WRLCK))
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return false, f.Close()
	}
	if err != nil {
		return false, errors.Join(fmt.Errorf("lock %s: %w", l.path, err), f.Close())
	}
	l.file = f
	return true, nil
}

// Unlock implements engine.Lock. Unlocking twice is harmless.
func (l *Lock) Unlock() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	f := l.file
	l.file = nil
	return f.Close()
}

// Held implements engine.Lock.
func (l *Lock) Held() (bool, error) {
	f, err := os.Open(l.path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at the lock %s: %w", l.path, err)
	}
	defer f.Close()
	probe := l.whole(unix.F_RDLCK)
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, probe); err != nil {
		return false, fmt.Errorf("look at the lock %s: %w", l.path, err)
	}
	return probe.Type != unix.F_UNLCK, nil
}
