package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"ferrox/engine/crash"
)

const (
	// errandTail is how much of a command's output is kept.
	errandTail = 16 << 10
	// errandGrace is how long a command that was told to end may take.
	errandGrace = 5 * time.Second
)

// Command implements engine.Workers: it runs one of our own commands in its own process group, without input.
func (r *Runner) Command(ctx context.Context, dir string, argv, env []string) (string, error) {
	if len(argv) == 0 {
		return "", errors.New("run a command: it is empty")
	}
	program, err := lookUp(argv[0], dir, env)
	if err != nil {
		return "", fmt.Errorf("run %s: %w", argv[0], err)
	}
	out := &lastBytes{most: errandTail}
	cmd := exec.CommandContext(ctx, program, argv[1:]...)
	cmd.Args[0] = argv[0]
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = errandGrace
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	after := crash.Around("run command")
	err = cmd.Run()
	after()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // something it left behind holds its output open
	}
	if err != nil {
		return out.String(), fmt.Errorf("run %s: %w", strings.Join(argv, " "), err)
	}
	return out.String(), nil
}

// lastBytes keeps the newest part of what is written to it.
type lastBytes struct {
	most int
	kept []byte
}

func (l *lastBytes) Write(p []byte) (int, error) {
	l.kept = append(l.kept, p...)
	if over := len(l.kept) - l.most; over > 0 {
		l.kept = append(l.kept[:0], l.kept[over:]...)
	}
	return len(p), nil
}

func (l *lastBytes) String() string { return strings.ToValidUTF8(string(l.kept), "\uFFFD") }

// LastOutput implements engine.Workers.
func (r *Runner) LastOutput(dir string) (last time.Time) {
	entries, err := os.ReadDir(filepath.Join(dir, outputDir))
	if err != nil {
		return last
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}
