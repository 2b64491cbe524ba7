package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"ferrox/engine"
	"ferrox/engine/crash"
)

// The names of files in a spool folder: a request, and its answer under the same stem. Stems sort by age.
const (
	requestSuffix = ".req.json"
	answerSuffix  = ".res.json"
)

// serveSpool answers every request that lies in a spool folder, oldest first. A folder that is not there holds none.
// With keepFailed, a request whose handler failed stays for the next reader instead of being answered so.
func serveSpool(ctx context.Context, spool string, d *desk, keepFailed bool) error {
	entries, err := os.ReadDir(spool)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read spool: %w", err)
	}
	var failed error
	for _, e := range entries {
		stem, ok := strings.CutSuffix(e.Name(), requestSuffix)
		if !ok || e.IsDir() {
			continue
		}
		failed = errors.Join(failed, serveFile(ctx, filepath.Join(spool, stem), d, keepFailed))
	}
	return failed
}

func serveFile(ctx context.Context, stem string, d *desk, keepFailed bool) error {
	line, err := readRequest(stem + requestSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var answer engine.WorkerAnswer
	if err != nil {
		answer = refusal(exitUsage, "bad-request", err.Error(), "")
	} else if answer, err = d.answer(ctx, line); err != nil && keepFailed {
		return fmt.Errorf("take spooled request: %w", err)
	}
	b, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("answer spooled request: %w", err)
	}
	if err := replaceFile(stem+answerSuffix, b, false); err != nil {
		return fmt.Errorf("answer spooled request: %w", err)
	}
	defer crash.Around("take req.json")()
	return os.Remove(stem + requestSuffix)
}

// readRequest reads a file that a worker wrote: anything may lie there under that name.
func readRequest(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("read spooled request: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read spooled request: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("read spooled request: not a regular file")
	}
	b, err := io.ReadAll(io.LimitReader(f, maxRequest+2))
	if err != nil {
		return nil, fmt.Errorf("read spooled request: %w", err)
	}
	return b, nil
}

// clearSpool removes answers that nobody waits for any more.
func clearSpool(spool string) {
	names, err := filepath.Glob(filepath.Join(escapeGlob(spool), "*"+answerSuffix))
	if err != nil {
		return
	}
	for _, n := range names {
		after := crash.Around("clear res.json")
		os.Remove(n)
		after()
	}
}

// escapeGlob makes a path stand for itself in a pattern.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
