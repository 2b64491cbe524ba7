package verbs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"ferrox/engine/crash"
)

// fields is the top level of a JSON state file. What a verb does not know is kept as it was.
type fields map[string]json.RawMessage

// readState reads a state file. Absent and blank are empty, and so is JSON that is no object; text that does not parse is
// an error.
func readState(path string) (fields, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fields{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read state: %w", err)
	}
	return parseState(path, data)
}

func parseState(path string, data []byte) (fields, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return fields{}, nil
	}
	if !json.Valid(data) {
		return nil, fmt.Errorf("read state: %s is no JSON; put it right or move it away", path)
	}
	var f fields
	if json.Unmarshal(data, &f) != nil || f == nil {
		return fields{}, nil
	}
	return f, nil
}

// set puts a value under a key.
func (f fields) set(key string, value any) error {
	data, err := encode(value, "")
	if err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	f[key] = data
	return nil
}

// sub reads a member that is itself an object; anything else is empty.
func (f fields) sub(key string) fields {
	var s fields
	if len(f[key]) == 0 || json.Unmarshal(f[key], &s) != nil || s == nil {
		return fields{}
	}
	return s
}

// updateState changes a state file under its lock. change says whether there is anything to write.
func updateState(path string, l limits, change func(fields) (bool, error)) error {
	k, err := acquire(path, l)
	if err != nil {
		return err
	}
	defer k.release()

	f, err := readState(path)
	if err != nil {
		return err
	}
	changed, err := change(f)
	if err != nil || !changed {
		return err
	}
	data, err := encode(f, "  ")
	if err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	return replace(path, data, k)
}

// replace writes a file whole: temporary file, sync, proof that the lock is held, rename, sync of the folder.
func replace(path string, data []byte, k *lock) error {
	temp := tempName(path, k.stamp.Nonce)
	if err := writeSynced(temp, data, modeOf(path)); err != nil {
		_ = os.Remove(temp)
		return fmt.Errorf("write state: %w", err)
	}
	defer crash.Around("replace state")()
	if err := k.guarded(func() error { return os.Rename(temp, path) }); err != nil {
		_ = os.Remove(temp)
		return err
	}
	return syncFolder(filepath.Dir(path))
}

func writeSynced(path string, data []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

func modeOf(path string) fs.FileMode {
	if info, err := os.Stat(path); err == nil {
		return info.Mode().Perm()
	}
	return 0o644
}

func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !cannotSync(err) {
		return fmt.Errorf("sync folder: %w", err)
	}
	return nil
}

// encode is JSON with a final newline, without escaping for web pages.
func encode(value any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
