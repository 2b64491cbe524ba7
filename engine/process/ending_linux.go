package process

import (
	"context"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ferrox/engine"
)

// stage is how far the end of a worker's tree has come.
type stage int

const (
	working   stage = iota // the command runs
	finishing              // the command has exited, the rest may end by itself
	asked                  // TERM was sent
	forced                 // KILL is sent until none is left
)

const (
	// forceEvery is how often a tree that is being killed is looked at for newcomers.
	forceEvery = 5 * time.Millisecond
	// reapEvery bounds how often a running worker's dead orphans are looked for.
	reapEvery = 250 * time.Millisecond
)

// ending follows a worker's tree until nothing of it is left.
type ending struct {
	shim   *shim
	cmd    *exec.Cmd
	exited chan struct{} // closed when the command itself was reaped
	gone   bool          // it was
	stage  stage
	timer  *time.Timer // when the next stage is due
	exit   engine.WorkerExit
	ended  sightings
}

func newEnding(s *shim, cmd *exec.Cmd) *ending {
	e := &ending{shim: s, cmd: cmd, exited: make(chan struct{}), timer: time.NewTimer(time.Hour)}
	e.timer.Stop()
	go func() {
		defer close(e.exited)
		_ = cmd.Wait() // the state tells more than the error
	}()
	return e
}

// follow returns when the command was reaped and no descendant is left.
func (e *ending) follow(ctx context.Context) engine.WorkerExit {
	defer e.timer.Stop()
	tick := time.NewTicker(reapEvery)
	defer tick.Stop()
	exited, cancelled, stirred := e.exited, ctx.Done(), false
	for {
		select {
		case <-exited:
			exited, e.gone = nil, true
			e.commandExited()
		case <-cancelled:
			cancelled = nil
			e.told()
		case <-e.shim.told:
			e.told()
		case <-e.timer.C:
			e.advance()
		case <-e.shim.children:
			stirred = true
			if !e.gone {
				continue // looked at by the next tick: a busy worker has many children
			}
		case <-tick.C:
			if !e.gone && !stirred {
				continue
			}
			stirred = false
		}
		if e.settled() {
			e.exit.Ended = e.ended.names()
			return e.exit
		}
	}
}

// commandExited records how the command ended and gives its tree the time to follow.
func (e *ending) commandExited() {
	e.exit.Code, e.exit.Signal = outcome(e.cmd)
	if e.stage == working {
		e.stage = finishing
		e.timer.Reset(e.shim.spec.FinishGrace)
	}
}

// outcome is the command's exit code, or -1 and the signal that ended it.
func outcome(cmd *exec.Cmd) (code int, sig string) {
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return -1, unix.SignalName(status.Signal())
	}
	return cmd.ProcessState.ExitCode(), ""
}

// told ends the tree because someone said so; told again, at once.
func (e *ending) told() {
	again := e.exit.Terminated
	e.exit.Terminated = true
	switch {
	case again:
		e.force()
	case e.stage < asked:
		e.ask()
	}
}

func (e *ending) advance() {
	switch e.stage {
	case finishing:
		e.ask()
	case asked, forced:
		e.force()
	case working:
	}
}

// ask sends TERM to the whole tree, and CONT so that a stopped process can obey.
func (e *ending) ask() {
	e.stage = asked
	e.signal(unix.SIGTERM)
	e.signal(unix.SIGCONT)
	e.timer.Reset(e.shim.spec.KillGrace)
}

// force sends KILL to the whole tree, and again soon, since processes may have been born meanwhile.
func (e *ending) force() {
	e.stage = forced
	e.signal(unix.SIGKILL)
	e.timer.Reset(forceEvery)
}

func (e *ending) signal(sig unix.Signal) {
	tree, err := foreign()
	if err != nil {
		return // looked at again by the next tick
	}
	for _, s := range tree {
		if s.dead() {
			continue
		}
		if err := signalProcess(s, sig); err == nil {
			e.ended.add(s)
		}
	}
}

// settled reaps what has died and reports whether the command and its whole tree are gone. The list of processes is no
// snapshot: one that forks fast slips through it. Whether any child is left the kernel alone can tell, and since orphans
// become children of a subreaper, no child means no descendant.
func (e *ending) settled() bool {
	if e.gone && childless() {
		return true // most workers leave nobody behind: no look at every process of the machine is needed
	}
	tree, err := foreign()
	if err != nil {
		return false
	}
	for _, s := range tree {
		// The command is reaped by its own waiter, everything else by nobody but us.
		if s.dead() && s.pid != e.cmd.Process.Pid {
			reap(s.pid)
		}
	}
	return e.gone && childless()
}
