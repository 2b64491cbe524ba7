package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"ferrox/engine"
	"ferrox/engine/crash"
)

// Bar implements engine.Workers. Holding the lane's lock, no shim can be between its look for records and its own.
func (r *Runner) Bar(dir, laneLock string) (bool, error) {
	defer crash.Around("bar run")()
	l, err := lockLane(laneLock)
	if errors.Is(err, engine.ErrLaneBusy) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("bar run: %w", err)
	}
	defer l.Close()
	if _, err := os.Lstat(filepath.Join(dir, shimFile)); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, fmt.Errorf("bar run: %w", err)
	}
	exit := engine.WorkerExit{Code: -1, Terminated: true, EndedAt: now()}
	if err := writeJSONForGood(filepath.Join(dir, exitFile), exit); err != nil {
		return false, fmt.Errorf("bar run: %w", err)
	}
	return true, nil
}
