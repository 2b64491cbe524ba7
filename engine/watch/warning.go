package watch

import (
	"errors"

	"github.com/fsnotify/fsnotify"
)

// warn says once in the life of the watcher that events are missing: polling has taken over, and saying so for each
// folder and each poll would bury the log.
func (w *Watcher) warn(err error) {
	if w.warned {
		return
	}
	w.warned = true
	w.log.Warn("some folders send no events and are polled; raise fs.inotify.max_user_watches or max_user_instances if that is the limit",
		"every", w.poll, "error", err)
}

// warnTrouble passes over an overflow, which costs one look at everything and nothing more.
func (w *Watcher) warnTrouble(err error) {
	if !errors.Is(err, fsnotify.ErrEventOverflow) {
		w.warn(err)
	}
}
