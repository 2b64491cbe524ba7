package enginetest

import (
	"fmt"
	"sync"

	"ferrox/engine"
)

type faultKind int

const (
	faultNone   faultKind = iota
	faultKill             // the process is gone, at any commit or effect, before it or after it
	faultFull             // the disk is full: the commit fails
	faultLocked           // another program has the store locked: no transaction begins
)

// fault is the next thing to go wrong.
type fault struct {
	mu   sync.Mutex
	role role
	kind faultKind
	left int // chances that pass before it strikes
	span int // commits that fail from then on
	hits int
}

func (f *fault) arm(r role, k faultKind, left, span int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.role, f.kind, f.left, f.span = r, k, left, span
}

func (f *fault) disarm() { f.arm("", faultNone, 0, 0) }

// struck is how often it has struck so far.
func (f *fault) struck() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.hits
}

// strikes counts a chance and reports whether the fault strikes at it.
func (f *fault) strikes(r role, k faultKind) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kind != k || f.role != r {
		return false
	}
	if f.left > 0 {
		f.left--
		return false
	}
	if f.span--; f.span <= 0 {
		f.kind = faultNone
	}
	f.hits++
	return true
}

// broken is the error of a store that cannot be written.
func broken(k faultKind) error {
	if k == faultFull {
		return fmt.Errorf("write: %w", engine.ErrDisk)
	}
	return fmt.Errorf("write: %w", engine.ErrBusy)
}
