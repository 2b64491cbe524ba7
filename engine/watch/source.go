package watch

import (
	"fmt"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// kernel arms and disarms single folders. Adding twice is harmless, and follows a path to its new folder.
type kernel interface {
	Add(path string) error
	Remove(path string) error
	Close() error
}

// source is where events come from.
type source struct {
	kernel
	events  <-chan fsnotify.Event
	trouble <-chan error // events were lost; holds one, further ones say nothing new
	drained func()       // waits for the drain to end
}

// open starts fsnotify, or a source without events when the kernel gives none.
func open() *source {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return &source{kernel: deaf{fmt.Errorf("starting file events: %w", err)}, drained: func() {}}
	}
	return drain(w, w.Events, w.Errors)
}

// drain takes errors off at once. fsnotify may send one while it holds the lock that Add needs, so an owner that adds
// and reads errors in turn would wait for itself.
func drain(k kernel, events <-chan fsnotify.Event, errs <-chan error) *source {
	trouble := make(chan error, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		for err := range errs {
			select {
			case trouble <- err:
			default:
			}
		}
	})
	return &source{kernel: k, events: events, trouble: trouble, drained: wg.Wait}
}

func (s *source) close() error {
	err := s.Close()
	s.drained()
	return err
}

// deaf is a kernel without events.
type deaf struct{ why error }

func (d deaf) Add(string) error    { return d.why }
func (d deaf) Remove(string) error { return nil }
func (d deaf) Close() error        { return nil }
