package enginetest

import (
	"cmp"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// turnstile lets one goroutine through at a time, and only once all others rest. Who is next is the history's choice.
type turnstile struct {
	mu      sync.Mutex
	waiting []*ticket
	labels  map[string]string // goroutine: the task that it looked at last, which is the one it drives
	open    bool              // the history is over: nobody waits any more
}

type ticket struct {
	key  string
	pass chan struct{}
}

// wait returns when the caller's turn has come.
func (t *turnstile) wait(key string) {
	t.mu.Lock()
	if t.open {
		t.mu.Unlock()
		return
	}
	mine := &ticket{key + " " + t.labels[goroutine()], make(chan struct{})}
	t.waiting = append(t.waiting, mine)
	t.mu.Unlock()
	<-mine.pass
}

// next lets one waiter through and reports whether there was one.
func (t *turnstile) next(pick func(n int) int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		return false
	}
	slices.SortStableFunc(t.waiting, func(a, b *ticket) int { return cmp.Compare(a.key, b.key) })
	i := pick(len(t.waiting))
	close(t.waiting[i].pass)
	t.waiting = slices.Delete(t.waiting, i, i+1)
	return true
}

// release lets everybody through from now on.
func (t *turnstile) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open = true
	for _, w := range t.waiting {
		close(w.pass)
	}
	t.waiting = nil
}

// label notes what the calling goroutine works on, so that waiters are told apart by it and not by who came first.
func (t *turnstile) label(task string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.labels[goroutine()] = task
}

// goroutine names the calling goroutine.
func goroutine() string {
	var buf [40]byte
	name, _, _ := strings.Cut(string(buf[:runtime.Stack(buf[:], false)]), " [")
	return name
}
