package watch

import (
	"sync"

	"github.com/fsnotify/fsnotify"
)

// fake is a kernel whose events are sent by the test.
type fake struct {
	events chan fsnotify.Event
	errs   chan error
	fail   func(path string) error // nil: every path can be armed

	mu    sync.Mutex
	added map[string]int
}

func newFake() *fake {
	return &fake{events: make(chan fsnotify.Event), errs: make(chan error), added: map[string]int{}}
}

func (f *fake) source() *source { return drain(f, f.events, f.errs) }

func (f *fake) Add(path string) error {
	if f.fail != nil {
		if err := f.fail(path); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.added[path]++
	return nil
}

func (f *fake) Remove(string) error { return nil }

func (f *fake) Close() error {
	close(f.errs)
	return nil
}

func (f *fake) count(path string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.added[path]
}
