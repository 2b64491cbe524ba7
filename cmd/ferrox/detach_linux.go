package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"ferrox/engine"
	"ferrox/engine/crash"
	"ferrox/lanes"
)

// detachEnv tells a detached engine which descriptor its parent waits on.
const detachEnv = "FERROX_DETACH_FD"

// detached is what --detach prints.
type detached struct {
	Batch lanes.BatchID `json:"batch"`
	PID   int           `json:"pid"`
	Log   string        `json:"log"`
}

// detach runs the same command line in a session of its own and returns once the batch is durable, or with what the
// engine had to say when it could not start.
func (a *app) detach(ctx context.Context) error {
	_, info, err := a.openRepo(ctx)
	if err != nil {
		return err
	}
	logName := filepath.Join(info.CommonDir, "ferrox", "engine.log")
	if err := os.MkdirAll(filepath.Dir(logName), 0o700); err != nil {
		return err
	}
	log, err := os.OpenFile(logName, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	ready, tell, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ready.Close()
	cmd := exec.Command("/proc/self/exe", withoutDetach(os.Args[1:])...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(a.env, detachEnv+"=3")
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = log, log, []*os.File{tell}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	start, err := log.Seek(0, 2)
	if err != nil {
		return err
	}
	after := crash.Around("start engine")
	err = cmd.Start()
	after()
	if err != nil {
		return fmt.Errorf("start the engine: %w", err)
	}
	tell.Close()
	line, err := bufio.NewReader(ready).ReadBytes('\n')
	if err != nil {
		return a.detachedEnded(cmd, logName, start)
	}
	d := detached{PID: cmd.Process.Pid, Log: logName}
	if err := json.Unmarshal(line, &d.Batch); err != nil {
		return err
	}
	return json.NewEncoder(a.stdout).Encode(d)
}

// detachedEnded says what an engine wrote that ended before it drove a batch: it could not, or the one that lives goes on
// instead, which is no failure.
func (a *app) detachedEnded(cmd *exec.Cmd, logName string, from int64) error {
	_ = cmd.Wait()
	code, out := cmd.ProcessState.ExitCode(), a.stderr
	if code == engine.ExitDone {
		out = a.stdout
	}
	if data, err := os.ReadFile(logName); err == nil && int64(len(data)) > from {
		_, _ = out.Write(data[from:])
	}
	switch {
	case code == engine.ExitDone:
		return nil
	case code < 0:
		code = engine.ExitFailed
	}
	return exitCode(code)
}

func withoutDetach(args []string) []string {
	var kept []string
	for i, arg := range args {
		if arg == "--" {
			return append(kept, args[i:]...)
		}
		if arg != "--detach" && arg != "--detach=true" {
			kept = append(kept, arg)
		}
	}
	return kept
}

// tellParent names the batch to the process that waits for it.
func (a *app) tellParent(fd string, b lanes.Batch) {
	n, err := strconv.Atoi(fd)
	if err != nil {
		return
	}
	f := os.NewFile(uintptr(n), "ready")
	defer f.Close()
	line, err := json.Marshal(b.ID)
	if err != nil {
		return
	}
	_, _ = f.Write(append(line, '\n'))
}
