package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// terminal opens a pseudo terminal: what is written to the second is read from the first.
func terminal(t *testing.T) (controller, tty *os.File) {
	t.Helper()
	controller, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	var unlocked int32
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, controller.Fd(), unix.TIOCSPTLCK, uintptr(unsafe.Pointer(&unlocked))); errno != 0 {
		t.Fatal(errno)
	}
	n, err := unix.IoctlGetInt(int(controller.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return controller, tty
}

// TestTerminal_Colours looks at a real terminal: colours unless they are not wanted, and never a question to the terminal.
func TestTerminal_Colours(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		env    string
		args   []string
		colour bool
	}{
		{"terminal", "TERM=xterm", nil, true},
		{"NO_COLOR", "NO_COLOR=1", nil, false},
		{"dumb", "TERM=dumb", nil, false},
		{"plain", "TERM=xterm", []string{"--plain"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			controller, tty := terminal(t)
			defer controller.Close()
			a := &app{stdout: tty, env: []string{"TERM=xterm", c.env}, plain: len(c.args) > 0}
			if strings.HasPrefix(c.env, "TERM=") {
				a.env = a.env[1:]
			}
			fmt.Fprintln(tty, a.paint("landed", "landed T-1"))
			if err := tty.Close(); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, 100)
			n, err := controller.Read(got)
			if err != nil {
				t.Fatal(err)
			}
			want := "landed T-1\r\n"
			if c.colour {
				want = "\x1b[32mlanded T-1\x1b[0m\r\n"
			}
			if string(got[:n]) != want {
				t.Errorf("%q instead of %q", got[:n], want)
			}
		})
	}
}

// TestTerminal_Pipe writes no escape into a pipe, whatever TERM says.
func TestTerminal_Pipe(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(binary, "--help")
	cmd.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=")
	out, err := cmd.Output()
	if err != nil || strings.Contains(string(out), "\x1b") || !strings.Contains(string(out), "Rule on holds:") {
		t.Errorf("%v\n%q", err, out)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if a := (&app{stdout: w, env: []string{"TERM=xterm"}}); a.colours() {
		t.Error("a pipe gets colours")
	}
}
