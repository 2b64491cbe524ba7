package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ferrox/engine"
)

// The exit codes that shells use for a command that never ran.
const (
	codeNotRunnable = 126
	codeNotFound    = 127
)

// busyTries and busyPause are for a command whose file another process still has open for writing.
const (
	busyTries = 20
	busyPause = 25 * time.Millisecond
)

// defaultPath is searched when the worker's environment names no PATH.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// startError says why a command could not be started, with the exit code that stands for it.
type startError struct {
	code int
	err  error
}

func (e *startError) Error() string { return e.err.Error() }
func (e *startError) Unwrap() error { return e.err }

// startCommand starts the worker in a session of its own, with its prompt as standard input and out as both outputs.
// No shell is involved. The error is a *startError.
func startCommand(s engine.WorkerSpec, out *os.File) (*exec.Cmd, error) {
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return nil, &startError{codeNotFound, errors.New("start worker: no command given; set runner.worker.command")}
	}
	if info, err := os.Stat(s.Cwd); err != nil || !info.IsDir() {
		return nil, &startError{codeNotRunnable, fmt.Errorf("start worker: no worktree at %s; run ferrox resume", s.Cwd)}
	}
	path, err := lookUp(s.Argv[0], s.Cwd, s.Env)
	if err != nil {
		return nil, err
	}
	prompt, err := os.Open(s.Prompt)
	if err != nil {
		return nil, &startError{codeNotRunnable, fmt.Errorf("start worker: open prompt: %w", err)}
	}
	defer prompt.Close()
	for try := 1; ; try++ {
		cmd := &exec.Cmd{
			Path: path, Args: s.Argv, Env: s.Env, Dir: s.Cwd,
			Stdin: prompt, Stdout: out, Stderr: out,
			SysProcAttr: &syscall.SysProcAttr{Setsid: true},
		}
		err := cmd.Start()
		if err == nil {
			return cmd, nil
		}
		if !errors.Is(err, unix.ETXTBSY) || try == busyTries {
			return nil, &startError{exitFor(err), fmt.Errorf("start worker %s: %w", s.Argv[0], err)}
		}
		time.Sleep(busyPause)
	}
}

func exitFor(err error) int {
	if errors.Is(err, fs.ErrNotExist) {
		return codeNotFound
	}
	return codeNotRunnable
}

// lookUp finds a command in the worker's PATH. Relative entries of PATH are passed over: what a lane's files are called
// must not decide which program runs.
func lookUp(name, cwd string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		full := name
		if !filepath.IsAbs(name) {
			full = filepath.Join(cwd, name)
		}
		if err := runnable(full); err != nil {
			return "", &startError{exitFor(err), fmt.Errorf("start worker: %w; set runner.worker.command", err)}
		}
		return full, nil
	}
	path := pathOf(env)
	refused := error(nil)
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		err := runnable(filepath.Join(dir, name))
		if err == nil {
			return filepath.Join(dir, name), nil
		}
		if refused == nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTDIR) {
			refused = err
		}
	}
	if refused != nil {
		return "", &startError{codeNotRunnable, fmt.Errorf("start worker: %w; set runner.worker.command", refused)}
	}
	return "", &startError{codeNotFound, fmt.Errorf("start worker: no command %q in PATH %s; install it or set runner.worker.command", name, path)}
}

func pathOf(env []string) string {
	path := defaultPath
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok && v != "" {
			path = v
		}
	}
	return path
}

func runnable(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &fs.PathError{Op: "run", Path: name, Err: unix.EACCES}
	}
	if err := unix.Faccessat(unix.AT_FDCWD, name, unix.X_OK, unix.AT_EACCESS); err != nil {
		return &fs.PathError{Op: "run", Path: name, Err: err}
	}
	return nil
}
