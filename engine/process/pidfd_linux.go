package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"ferrox/engine/crash"
	"ferrox/lanes"
)

// grip holds on to one very process: its number can't be given to another one unnoticed.
type grip struct{ fd *os.File }

// grab takes hold of the process with that number and start time; errGone when there is none.
func grab(pid int, start uint64) (grip, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.ESRCH) {
		return grip{}, errGone
	}
	if err != nil {
		return grip{}, fmt.Errorf("open process %d: %w (pidfd needs Linux 5.10)", pid, err)
	}
	g := grip{fd: os.NewFile(uintptr(fd), "pidfd")}
	// The number is pinned now; whose number it is, only its start time tells.
	s, err := readStat(pid)
	if err == nil && s.start != start {
		err = errGone
	}
	if err != nil {
		return grip{}, errors.Join(err, g.close())
	}
	return g, nil
}

func grabIdentity(id lanes.Identity) (grip, error) {
	if !local(id) {
		return grip{}, errGone
	}
	return grab(id.PID, id.Start)
}

func (g grip) close() error { return g.fd.Close() }

// signal sends; errGone when the process has ended.
func (g grip) signal(sig unix.Signal) error {
	rc, err := g.fd.SyscallConn()
	if err != nil {
		return err
	}
	defer crash.Around("signal")()
	var sent error
	if err := rc.Control(func(fd uintptr) { sent = unix.PidfdSendSignal(int(fd), sig, nil, 0) }); err != nil {
		return err
	}
	if errors.Is(sent, unix.ESRCH) {
		return errGone
	}
	return sent
}

// wait returns nil when the process has ended, whoever reaps it, or the context's error.
func (g grip) wait(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { g.fd.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	rc, err := g.fd.SyscallConn()
	if err != nil {
		return err
	}
	err = rc.Read(ended)
	if ctx.Err() != nil && err != nil {
		return ctx.Err()
	}
	return err
}

// ended reports whether a pidfd's process has ended.
func ended(fd uintptr) bool {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(p, 0)
	return err == nil && n == 1
}

// signalProcess sends to a process that was seen with that start time.
func signalProcess(s stat, sig unix.Signal) error {
	g, err := grab(s.pid, s.start)
	if err != nil {
		return err
	}
	return errors.Join(g.signal(sig), g.close())
}
