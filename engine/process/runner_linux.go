package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ferrox/engine"
	"ferrox/engine/crash"
	"ferrox/lanes"
)

// startTime bounds how long a shim may take to record its identity.
const startTime = 30 * time.Second

// readyEnv tells a shim which descriptor its parent waits on.
const readyEnv = "FERROX_SHIM_READY"

// Runner starts shims and finds them again. The zero value runs the calling executable. It must not be copied after
// its first use.
type Runner struct {
	Exe  string   // the executable; empty: the one that runs now, even when its file was replaced or removed
	Args []string // what stands before the spec file; empty: shim --spec

	mu      sync.Mutex
	shims   map[int]bool // children that a goroutine waits for
	orphans map[int]orphan
}

var _ engine.Workers = (*Runner)(nil)

// report is what a shim tells its parent over the ready pipe.
type report struct {
	Identity lanes.Identity `json:"identity"`
	Busy     bool           `json:"busy"`
	Error    string         `json:"error"`
}

// Start implements engine.Workers.
func (r *Runner) Start(ctx context.Context, s engine.WorkerSpec) (lanes.Identity, error) {
	id, err := r.start(ctx, s)
	if err != nil {
		return lanes.Identity{}, fmt.Errorf("start shim of run %s: %w", s.Run, err)
	}
	return id, nil
}

func (r *Runner) start(ctx context.Context, s engine.WorkerSpec) (lanes.Identity, error) {
	if err := ctx.Err(); err != nil {
		return lanes.Identity{}, err
	}
	name, err := writeSpec(s)
	if err != nil {
		return lanes.Identity{}, err
	}
	ours, theirs, err := os.Pipe()
	if err != nil {
		return lanes.Identity{}, err
	}
	defer ours.Close()
	after := crash.Around("spawn")
	cmd, err := r.launch(s.Dir, name, theirs)
	after()
	theirs.Close()
	if err != nil {
		return lanes.Identity{}, err
	}
	return awaitReady(ctx, ours, cmd, s.Dir)
}

// writeSpec makes the run's folder and the file that the shim starts from.
func writeSpec(s engine.WorkerSpec) (string, error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return "", err
	}
	b, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	name := filepath.Join(s.Dir, specFile)
	return name, replaceFile(name, b, false)
}

// launch starts the shim in a session of its own and leaves a goroutine that reaps it.
func (r *Runner) launch(dir, spec string, ready *os.File) (*exec.Cmd, error) {
	log, err := os.OpenFile(filepath.Join(dir, shimLog), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	exe, args := r.Exe, r.Args
	if exe == "" {
		exe = "/proc/self/exe"
	}
	if len(args) == 0 {
		args = []string{"shim", "--spec"}
	}
	cmd := &exec.Cmd{
		Path:        exe,
		Args:        append(append([]string{"ferrox"}, args...), spec),
		Env:         shimEnv(),
		Dir:         "/",
		Stdout:      log,
		Stderr:      log,
		ExtraFiles:  []*os.File{ready},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if r.shims == nil {
		r.shims = make(map[int]bool)
	}
	r.shims[cmd.Process.Pid] = true
	go r.bury(cmd)
	return cmd, nil
}

// bury reaps a shim when it ends. How its run ended is in its record, not in its exit code.
func (r *Runner) bury(cmd *exec.Cmd) {
	_ = cmd.Wait()
	r.mu.Lock()
	delete(r.shims, cmd.Process.Pid)
	r.mu.Unlock()
}

// shimEnv is what a shim needs for itself. The worker's environment is in the spec and never passes through here.
func shimEnv() []string {
	env := []string{readyEnv + "=3"}
	for _, name := range []string{"PATH", "HOME", "USER", "TMPDIR", "TZ", "LANG", "XDG_CONFIG_HOME", "GOCOVERDIR", "GORACE", crash.At, crash.Log, engine.ClockFile} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// awaitReady waits for the shim's report. A shim that is not heard of in time is told to end: what it may have started
// ends with it.
func awaitReady(ctx context.Context, ready *os.File, cmd *exec.Cmd, dir string) (lanes.Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { ready.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	b, err := io.ReadAll(ready)
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return lanes.Identity{}, errors.Join(err, ignoreDone(cmd.Process.Signal(unix.SIGTERM)))
	}
	var got report
	if err := json.Unmarshal(b, &got); err != nil {
		return lanes.Identity{}, fmt.Errorf("it ended before it was ready: %s", lastLine(filepath.Join(dir, shimLog)))
	}
	switch {
	case got.Busy:
		return lanes.Identity{}, engine.ErrLaneBusy
	case got.Error != "":
		return lanes.Identity{}, errors.New(got.Error)
	}
	return got.Identity, nil
}

func ignoreDone(err error) error {
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// lastLine is the end of a log, for an error message.
func lastLine(name string) string {
	b, err := os.ReadFile(name)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return fmt.Sprintf("%s (more in %s)", lines[len(lines)-1], name)
}
