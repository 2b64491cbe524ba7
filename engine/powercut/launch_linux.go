package powercut

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrUnsupported says that this kernel, or what confines this process, has no filter with a listener.
var ErrUnsupported = errors.New("the kernel does not tell of flushes")

// launchEnv carries the descriptor over which a launched process hands its listener out.
const launchEnv = "FERROX_TEST_POWERCUT"

// exitUnsupported is how a launched process ends that got no listener.
const exitUnsupported = 70

// Launch turns a test's own program, started by a Recorder, into the program that was asked for. A test that uses a
// Recorder calls it first of all; unless a Recorder started the process, it does nothing.
func Launch() {
	fd, err := strconv.Atoi(os.Getenv(launchEnv))
	if err != nil {
		return
	}
	os.Unsetenv(launchEnv)
	fmt.Fprintln(os.Stderr, "powercut:", become(fd, os.Args[1], os.Args[2:]))
	os.Exit(exitUnsupported)
}

// become puts this thread under the filter, hands the listener out, and replaces the process.
func become(fd int, path string, argv []string) error {
	runtime.LockOSThread()
	listener, err := filter()
	if err != nil {
		return fmt.Errorf("set the filter: %w", err)
	}
	if err := unix.Sendmsg(fd, []byte{0}, unix.UnixRights(listener), nil, 0); err != nil {
		return fmt.Errorf("hand the listener out: %w", err)
	}
	return errors.Join(unix.Close(listener), unix.Close(fd), unix.Exec(path, argv, os.Environ()))
}

// filter makes this thread and all that comes from it report fsync and fdatasync to the listener it returns.
func filter() (listener int, err error) {
	code := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_FSYNC, Jt: 1},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_FDATASYNC, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	// A signal must not take a report back once it was read; kernels before 5.19 do not know how.
	for _, flags := range []uintptr{unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER} {
		fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&program)))
		if errno == 0 {
			return int(fd), nil
		}
		err = errno
	}
	return 0, err
}
