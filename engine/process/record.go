package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ferrox/engine"
	"ferrox/engine/crash"
	"ferrox/lanes"
)

// The files of a run's folder.
const (
	specFile   = "spec.json"
	shimFile   = "shim.json"
	workerFile = "worker.json"
	exitFile   = "exit.json"
	shimLog    = "shim.log"
	outputDir  = "output"
)

// ShimRecord is what a shim writes down about itself before anything of the worker runs.
type ShimRecord struct {
	Identity lanes.Identity `json:"identity"`
	Worker   lanes.Identity `json:"-"` // the command, from a file of its own; unknown until it was started
}

// ReadShim reads the record that a shim left in a run's folder; false when it never got that far.
func ReadShim(dir string) (ShimRecord, bool) {
	var r ShimRecord
	if err := readJSON(filepath.Join(dir, shimFile), &r); err != nil {
		return ShimRecord{}, false
	}
	if err := readJSON(filepath.Join(dir, workerFile), &r.Worker); err != nil {
		r.Worker = lanes.Identity{} // not started yet, or cut off: nothing depends on it
	}
	return r, r.Identity.Known()
}

// readExit reads how a run ended; false when no such record was left.
func readExit(dir string) (engine.WorkerExit, bool, error) {
	var e engine.WorkerExit
	err := readJSON(filepath.Join(dir, exitFile), &e)
	if errors.Is(err, fs.ErrNotExist) {
		return e, false, nil
	}
	if err != nil {
		return e, false, fmt.Errorf("read exit record: %w", err)
	}
	return e, true, nil
}

func readJSON(name string, v any) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// writeJSON replaces a file so that a reader, and a machine that loses power, sees the old one or the whole new one.
func writeJSON(name string, v any) error { return encodeFile(name, v, true) }

// noteJSON is writeJSON for what nothing depends on: a machine that loses power may forget it.
func noteJSON(name string, v any) error { return encodeFile(name, v, false) }

func encodeFile(name string, v any, durable bool) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", filepath.Base(name), err)
	}
	return replaceFile(name, append(b, '\n'), durable)
}

// writeJSONForGood returns when the new file survives a loss of power.
func writeJSONForGood(name string, v any) error {
	if err := writeJSON(name, v); err != nil {
		return err
	}
	return syncDir(filepath.Dir(name))
}

// replaceFile writes beside the file and renames. With durable, the bytes are on disk before the name is.
func replaceFile(name string, b []byte, durable bool) error {
	defer crash.Around("write " + kindOf(name))()
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil && durable {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// kindOf is what a file is called in every run: requests and their answers carry chance in their names.
func kindOf(name string) string {
	base := filepath.Base(name)
	for _, suffix := range []string{requestSuffix, answerSuffix} {
		if strings.HasSuffix(base, suffix) {
			return suffix[1:]
		}
	}
	return base
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
