package process

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
)

// alert is the signal that a worker asked for, and its own process: the command that the shim started. Nobody else is signalled,
// and nobody who did not ask.
type alert struct {
	asked   atomic.Int64
	process atomic.Pointer[os.Process]
}

// ask takes the name of a signal, with or without SIG. Only signals that mean nothing by themselves can be asked for.
func (a *alert) ask(name string) error {
	signals := map[string]syscall.Signal{"USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2}
	sig, ok := signals[strings.TrimPrefix(strings.ToUpper(name), "SIG")]
	if !ok {
		return fmt.Errorf("signal %q: it is USR1 or USR2", name)
	}
	if a != nil {
		a.asked.Store(int64(sig))
	}
	return nil
}

// tell sends the signal. A worker that has ended by then needs none.
func (a *alert) tell() {
	sig, process := syscall.Signal(a.asked.Load()), a.process.Load()
	if sig != 0 && process != nil {
		_ = process.Signal(sig)
	}
}
