//go:build linux

package process

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ferrox/engine"
)

// TestMain makes the test binary play every part: the shim, an engine that dies, and the commands of a worker.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		if part, ok := parts[os.Args[1]]; ok {
			if err := part(os.Args[2:]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	// A shim of a race build would stay for a second after its last line.
	os.Setenv("GORACE", "atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	if err := BecomeSubreaper(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

var parts = map[string]func([]string) error{
	"shim":      playShim,
	"engine":    playEngine,
	"call":      playCall,
	"ancestors": playAncestors,
	"stamp":     playStamp,
	"orphans":   playOrphans,
}

// playShim is `shim --spec FILE`.
func playShim(args []string) error {
	var spec engine.WorkerSpec
	if err := readJSON(args[1], &spec); err != nil {
		return err
	}
	return Shim(context.Background(), args[1], storeIn(spec.Store), nil)
}

// storeIn is a handler that keeps every request in a file named after its id.
func storeIn(store string) Handler {
	return func(ctx context.Context, req engine.WorkerRequest) (engine.WorkerAnswer, error) {
		b, err := json.Marshal(req)
		if err != nil {
			return engine.WorkerAnswer{}, err
		}
		switch req.Verb {
		case "fail":
			return engine.WorkerAnswer{}, fmt.Errorf("store is busy")
		case "block": // until the test lets it go on
			if err := poll(ctx, time.Minute, func() bool { return exists(filepath.Join(store, req.Text)) }); err != nil {
				return engine.WorkerAnswer{}, err
			}
		}
		if err := replaceFile(filepath.Join(store, req.ID), b, false); err != nil {
			return engine.WorkerAnswer{}, err
		}
		return engine.WorkerAnswer{Result: `"` + req.ID + `"`, Text: req.Verb}, nil
	}
}

// playEngine starts the shim of a spec, prints its identity and stays until it is killed.
func playEngine(args []string) error {
	var spec engine.WorkerSpec
	if err := readJSON(args[0], &spec); err != nil {
		return err
	}
	id, err := new(Runner).Start(context.Background(), spec)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(id); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// playCall is `call VERB ID TEXTFILE`; "-" is no text.
func playCall(args []string) error {
	req := engine.WorkerRequest{Verb: args[0], ID: args[1]}
	if args[2] != "-" {
		b, err := os.ReadFile(args[2])
		if err != nil {
			return err
		}
		req.Text = string(b)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	a, err := Call(ctx, os.Getenv, req)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(a); err != nil {
		return err
	}
	os.Exit(a.Exit)
	return nil
}

// playAncestors writes the caller's ancestry to a file.
func playAncestors(args []string) error {
	ids, err := Ancestors(os.Getpid())
	if err != nil {
		return err
	}
	b, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	return replaceFile(args[0], b, false)
}

// playStamp writes the monotonic time of its first instruction, in nanoseconds.
func playStamp(args []string) error {
	return replaceFile(args[0], fmt.Appendf(nil, "%d", monotonic()), false)
}

// playOrphans is an engine that adopts an orphan while it has a dead child of its own that it did not wait for yet.
func playOrphans([]string) error {
	if err := BecomeSubreaper(); err != nil {
		return err
	}
	own := exec.Command("true")
	own.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := own.Start(); err != nil {
		return err
	}
	if err := exec.Command("sh", "-c", "setsid sh -c 'exec true' & exit").Run(); err != nil {
		return err
	}
	r := new(Runner)
	dead := func() (n int) {
		all, _ := everyProcess()
		for _, s := range all {
			if s.ppid == os.Getpid() && s.dead() {
				n++
			}
		}
		return n
	}
	if err := poll(context.Background(), patience, func() bool { return dead() == 2 }); err != nil {
		return fmt.Errorf("%d dead children: %w", dead(), err)
	}
	for range 3 {
		if n, err := r.ReapOrphans(); n != 0 || err != nil {
			return fmt.Errorf("reaped %d at once: %v", n, err)
		}
	}
	if err := own.Wait(); err != nil {
		return fmt.Errorf("stolen: %w", err)
	}
	if n, err := r.reapOrphans(0); n != 1 || err != nil || dead() != 0 {
		return fmt.Errorf("reaped %d, %d left: %v", n, dead(), err)
	}
	return nil
}
