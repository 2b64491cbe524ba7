package watch

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"ferrox/engine"
)

// Poll is the usual time between two looks at everything. It bounds how late a change is noticed where no events come.
const Poll = 2 * time.Second

// gap is the least time between two deliveries of one folder. A change after a quiet time is told at once; a worker that
// writes thousands of files into its folder costs its reader 200 looks a second at most.
const gap = 5 * time.Millisecond

// ErrClosed is what Watch says after Close.
var ErrClosed = errors.New("watcher is closed")

// Watcher tells which of the watched folders may have changed. One goroutine owns all of its state.
type Watcher struct {
	changed chan string
	asks    chan func() // run by the owner, one at a time
	stop    chan struct{}
	done    chan struct{} // closed when the owner is gone
	closing func() error

	// Owned by run.
	source  *source
	folders *folders
	pending *pending
	poll    time.Duration
	log     *slog.Logger
	warned  bool
}

var _ engine.Watcher = (*Watcher)(nil)

// New starts a watcher that looks at everything once in poll (more than 0), events or not. When the kernel gives it no
// or too few watches, it says so once on log and relies on poll.
func New(poll time.Duration, log *slog.Logger) *Watcher {
	return start(open(), poll, log)
}

func start(s *source, poll time.Duration, log *slog.Logger) *Watcher {
	w := &Watcher{
		changed: make(chan string),
		asks:    make(chan func()),
		stop:    make(chan struct{}),
		done:    make(chan struct{}),
		source:  s,
		pending: newPending(gap),
		poll:    poll,
		log:     log,
	}
	w.folders = newFolders(s, w.pending.add, w.warn)
	w.closing = sync.OnceValue(w.close)
	go w.run()
	return w
}

// Watch adds a folder, named by an absolute path. It need not exist. Once it is armed the folder is delivered on Changed
// under its cleaned name, so that what was there before is looked at too. Only a relative path and a closed watcher are
// errors: a folder that cannot be watched is polled.
func (w *Watcher) Watch(dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("watching %q: the path is relative; give an absolute one", dir)
	}
	dir = filepath.Clean(dir)
	if !w.ask(func() { w.folders.watch(dir) }) {
		return fmt.Errorf("watching %s: %w", dir, ErrClosed)
	}
	return nil
}

// Unwatch forgets a folder. Nothing is delivered for it after Unwatch has returned.
func (w *Watcher) Unwatch(dir string) {
	dir = filepath.Clean(dir)
	w.ask(func() {
		w.folders.unwatch(dir)
		w.pending.drop(dir)
	})
}

// Changed delivers one folder at a time, or "" for all of them. A slow reader makes nothing wait: folders gather, each
// once. The channel is not closed by Close.
func (w *Watcher) Changed() <-chan string { return w.changed }

// Close ends the watcher and waits for its goroutines. Closing again gives the same answer.
func (w *Watcher) Close() error { return w.closing() }

func (w *Watcher) close() error {
	close(w.stop)
	<-w.done
	if err := w.source.close(); err != nil {
		return fmt.Errorf("closing the watcher: %w", err)
	}
	return nil
}

// ask has the owner run f and waits for it; false when there is no owner any more.
func (w *Watcher) ask(f func()) bool {
	ran := make(chan struct{})
	select {
	case w.asks <- func() { f(); close(ran) }:
		<-ran
		return true
	case <-w.done:
		return false
	}
}

// run owns the state until Close.
func (w *Watcher) run() {
	defer close(w.done)
	tick := time.NewTicker(w.poll)
	defer tick.Stop()
	rest := time.NewTimer(w.poll)
	defer rest.Stop()

	for {
		// A nil channel is never ready: with nothing to tell there is no offer.
		var offer chan<- string
		next, wait, some := w.pending.next(time.Now())
		switch {
		case some && wait <= 0:
			offer = w.changed
		case some:
			rest.Reset(wait)
		}

		select {
		case offer <- next:
			w.pending.took(next, time.Now())
		case e := <-w.source.events:
			w.folders.event(e)
		case err := <-w.source.trouble:
			w.warnTrouble(err)
			w.everything()
		case <-tick.C:
			w.everything()
		case f := <-w.asks:
			f()
		case <-rest.C:
		case <-w.stop:
			return
		}
	}
}

// everything arms each folder again, since the event that it was replaced may be among the lost ones, and tells to look
// at all of them.
func (w *Watcher) everything() {
	w.folders.rearm()
	w.pending.add("")
}
