package verbs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ferrox/engine/crash"
)

// appendLine adds one record to a log of JSON lines, under the log's lock. decide gives the record, or none; it may read the
// log, which stands still meanwhile. A last line without its newline is closed first, and torn says so: it is what a crash left, and must not swallow
// the next record.
func appendLine(path string, l limits, decide func() (any, error)) (torn bool, err error) {
	k, err := acquire(path, l)
	if err != nil {
		return false, err
	}
	defer k.release()

	record, err := decide()
	if err != nil || record == nil {
		return false, err
	}
	line, err := encode(record, "")
	if err != nil {
		return false, fmt.Errorf("append to log: %w", err)
	}

	last, isNew, err := lastByte(path)
	if err != nil {
		return false, fmt.Errorf("append to log: %w", err)
	}
	torn = !isNew && last != '\n'
	if torn {
		line = append([]byte{'\n'}, line...)
	}
	if err := k.guarded(func() error { return addSynced(path, line) }); err != nil {
		return false, err
	}
	if isNew {
		err = syncFolder(filepath.Dir(path))
	}
	return torn, err
}

// lastByte reads the end of a log; one that is not there, or empty, ends like a line.
func lastByte(path string) (last byte, isNew bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return '\n', true, nil
	}
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, false, err
	}
	if info.Size() == 0 {
		return '\n', false, nil
	}
	var b [1]byte
	_, err = f.ReadAt(b[:], info.Size()-1)
	return b[0], false, err
}

// addSynced appends whole or not at all.
func addSynced(path string, line []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("append to log: %w", err)
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return fmt.Errorf("append to log: %w", err)
	}
	defer crash.Around("append to log")()
	if _, err := f.Write(line); err != nil {
		return fmt.Errorf("append to log: %w", errors.Join(err, f.Truncate(before.Size())))
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("append to log: %w", err)
	}
	return nil
}

// readLines reads a log of JSON lines. Blank lines are skipped; a broken one is an error that names its number.
func readLines[T any](name string, data []byte) ([]T, error) {
	var records []T
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		if strings.TrimSpace(line) == "" {
			continue
		}
		var r T
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return nil, fmt.Errorf("read log: %s:%d: no JSON record: %w; put the line right or move the file away", name, number, err)
		}
		records = append(records, r)
	}
	return records, nil
}
