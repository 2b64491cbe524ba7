package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ferrox/engine"
	"ferrox/lanes"
)

// What the processes that tests start are told: what to be, where the store is, and their own name.
const (
	roleVariable = "FERROX_TEST_STORE_ROLE"
	pathVariable = "FERROX_TEST_STORE_PATH"
	nameVariable = "FERROX_TEST_STORE_NAME"
)

// The roles of a child.
const (
	roleLoop    = "loop"    // writes until its standard input ends, then prints how often
	roleAck     = "ack"     // writes for ever and prints every number once it is stored
	roleHolder  = "holder"  // sits in a write transaction until its standard input ends
	roleFull    = "full"    // writes under a limit on the size of files until that fails, and prints how
	roleVisitor = "visitor" // without privileges, opens the store and writes once, and prints how that went
)

func child(role, path string) int {
	ctx := context.Background()
	if role == roleFull {
		if err := limitFiles(); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	if role == roleVisitor {
		if err := becomeNobody(); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	if role == rolePower {
		if err := powerChild(ctx, path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	s, err := Open(ctx, path, Options{Patience: time.Minute})
	if err != nil {
		fmt.Println(kind(err), err)
		return 0
	}
	defer s.Close()
	switch role {
	case roleLoop:
		return loop(ctx, s)
	case roleAck:
		return acknowledge(ctx, s)
	case roleHolder:
		_ = s.Update(ctx, func(engine.Tx) error {
			fmt.Println("holding")
			_, _ = io.Copy(io.Discard, os.Stdin)
			return nil
		})
	case roleFull:
		return untilFull(ctx, s)
	case roleVisitor:
		err := appendNumber(ctx, s, "visitor", 1, "")
		fmt.Println(kind(err), err)
	}
	return 0
}

// becomeNobody drops root's rights, to whom nothing is read-only.
func becomeNobody() error {
	const nobody = 65534
	if os.Getuid() != 0 {
		return nil
	}
	return errors.Join(syscall.Setgroups(nil), syscall.Setgid(nobody), syscall.Setuid(nobody))
}

// kind names an error for the parent.
func kind(err error) string {
	switch {
	case err == nil:
		return "nil"
	case errors.Is(err, engine.ErrDisk):
		return "disk"
	case errors.Is(err, engine.ErrBusy):
		return "busy"
	}
	return "other"
}

func appendNumber(ctx context.Context, s *Store, name string, n int, data string) error {
	return s.Update(ctx, func(tx engine.Tx) error {
		_, err := tx.AppendEvent(ctx, lanes.Event{At: time.UnixMicro(1), Name: name, Ref: strconv.Itoa(n), Data: data})
		return err
	})
}

func loop(ctx context.Context, s *Store) int {
	ended := make(chan struct{})
	fmt.Println("ready")
	in := bufio.NewReader(os.Stdin)
	_, _ = in.ReadString('\n') // all start together
	go func() {
		_, _ = in.ReadString('\n')
		close(ended)
	}()
	for n := 1; ; n++ {
		select {
		case <-ended:
			fmt.Println(n - 1)
			return 0
		default:
		}
		if err := appendNumber(ctx, s, os.Getenv(nameVariable), n, ""); err != nil {
			fmt.Println(err)
			return 1
		}
	}
}

func acknowledge(ctx context.Context, s *Store) int {
	for n := 1; ; n++ {
		if err := appendNumber(ctx, s, "ack", n, ""); err != nil {
			return 1
		}
		fmt.Println(n)
	}
}

// fileLimit is small enough to be reached soon, in bytes.
const fileLimit = 2 << 20

// limitFiles makes writes beyond fileLimit fail as on a full disk.
func limitFiles() error {
	signal.Ignore(syscall.SIGXFSZ) // else the limit ends the process instead of failing the write
	return unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: fileLimit, Max: fileLimit})
}

func untilFull(ctx context.Context, s *Store) int {
	data := string(make([]byte, 50_000))
	for n := 1; ; n++ {
		if err := appendNumber(ctx, s, "full", n, data); err != nil {
			fmt.Println(n-1, kind(err), err)
			return 0
		}
	}
}

// process is a child of a test.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(t *testing.T, role, path, name string) *process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), roleVariable+"="+role, pathVariable+"="+path, nameVariable+"="+name)
	cmd.Stderr = os.Stderr
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd, in: in, out: bufio.NewReader(out)}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return p
}

// line returns the next line of output, "" at its end.
func (p *process) line() string {
	text, err := p.out.ReadString('\n')
	if err != nil {
		return ""
	}
	return text[:len(text)-1]
}
