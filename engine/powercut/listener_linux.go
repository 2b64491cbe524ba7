package powercut

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"unsafe"

	"golang.org/x/sys/unix"
)

// report is the kernel's struct seccomp_notif.
type report struct {
	id    uint64
	tid   uint32
	flags uint32
	call  int32
	arch  uint32
	at    uint64
	args  [6]uint64
}

// answer is the kernel's struct seccomp_notif_resp.
type answer struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// goOn lets the kernel carry the reported call out.
const goOn = 1

// start starts a command under the filter and returns its listener.
func start(cmd *exec.Cmd) (listener int, err error) {
	if cmd.Err != nil {
		return 0, cmd.Err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	theirs := os.NewFile(uintptr(pair[1]), "listener")
	defer unix.Close(pair[0])
	self, err := os.Executable()
	if err != nil {
		return 0, errors.Join(err, theirs.Close())
	}
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Args = append([]string{self, cmd.Path}, cmd.Args...)
	cmd.Path = self
	cmd.ExtraFiles = append(cmd.ExtraFiles, theirs)
	cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d", launchEnv, 2+len(cmd.ExtraFiles)))
	if err := errors.Join(cmd.Start(), theirs.Close()); err != nil {
		return 0, err
	}
	return receive(pair[0])
}

// receive takes the listener that a launched process hands out.
func receive(fd int) (int, error) {
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(fd, make([]byte, 1), rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return 0, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) == 0 {
		return 0, errors.Join(ErrUnsupported, err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return 0, err
	}
	return fds[0], nil
}

// serve hands every report to seen and then lets the caller go on, until no process is left under the filter.
func serve(listener int, seen func(report)) error {
	defer unix.Close(listener)
	for {
		ready := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(ready, -1); err != nil && err != unix.EINTR {
			return err
		}
		if ready[0].Revents&unix.POLLIN == 0 {
			if ready[0].Revents != 0 {
				return nil
			}
			continue
		}
		var r report
		if errno := control(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&r)); errno != 0 {
			if errno == unix.EINTR || errno == unix.ENOENT { // the caller was killed
				continue
			}
			return errno
		}
		seen(r)
		a := answer{id: r.id, flags: goOn}
		if errno := control(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&a)); errno != 0 && errno != unix.ENOENT {
			return errno
		}
	}
}

func control(fd int, request uintptr, arg unsafe.Pointer) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg))
	return errno
}
