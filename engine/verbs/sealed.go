package verbs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"ferrox/engine/crash"
	"ferrox/gates/sealed"
)

type sealedFailure struct {
	OK     bool        `json:"ok"`
	Code   sealed.Code `json:"code"`
	Detail string      `json:"detail"`
}

type sealedObject struct {
	OK   bool        `json:"ok"`
	Hash sealed.Hash `json:"hash"`
	URI  string      `json:"uri"`
	Path string      `json:"path"`
}

type verifiedObject struct {
	OK    bool        `json:"ok"`
	Hash  sealed.Hash `json:"hash"`
	Bytes int         `json:"bytes"`
	Path  string      `json:"path"`
}

func seal(c *call) (any, error) {
	file := c.id("file")
	store, err := c.sealedStore()
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(c.fromProcess(file))
	if err != nil {
		return sealedFailure{Code: sealed.CodeRead, Detail: err.Error()}, nil
	}

	h := sealed.HashOf(data)
	path := filepath.Join(store, filepath.FromSlash(h.Path()))
	if err := putObject(path, data); err != nil {
		return sealedFailure{Code: sealed.CodeWrite, Detail: err.Error()}, nil
	}
	return sealedObject{OK: true, Hash: h, URI: h.URI(), Path: path}, nil
}

// putObject writes an object whole; one that is there already, and whole, is left alone.
func putObject(path string, data []byte) error {
	if there, err := os.ReadFile(path); err == nil && string(there) == string(data) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temp := tempName(path, nonce())
	defer crash.Around("put object")()
	err := writeSynced(temp, data, 0o444)
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		_ = os.Remove(temp)
		return err
	}
	return syncFolder(filepath.Dir(path))
}

func verifySeal(c *call) (any, error) {
	uri := c.id("uri")
	store, err := c.sealedStore()
	if err != nil {
		return nil, err
	}
	h, ok := sealed.ParseURI(uri)
	if !ok {
		return sealedFailure{Code: sealed.CodeUnsealed, Detail: uri}, nil
	}

	path := filepath.Join(store, filepath.FromSlash(h.Path()))
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return sealedFailure{Code: sealed.CodeMissing, Detail: string(h)}, nil
	case err != nil || sealed.HashOf(data) != h:
		return sealedFailure{Code: sealed.CodeCorrupt, Detail: string(h)}, nil
	}
	return verifiedObject{OK: true, Hash: h, Bytes: len(data), Path: path}, nil
}

func sampleMutants(c *call) (any, error) {
	runID, gateID, text := c.id("run-id"), c.id("gate-id"), c.text("pool")
	if err := c.usage(); err != nil {
		return nil, err
	}
	pool, err := sealed.ReadPool([]byte(text))
	if err != nil {
		return nil, c.invalid("pool", err)
	}
	k := float64(sealed.DefaultDraw)
	if v, ok := c.value("k"); ok {
		n, isNumber := parseNumber(v)
		if !isNumber || n < 1 {
			c.warn("--k: %q draws no mutant; drawing %d", v, sealed.DefaultDraw)
			n = sealed.DefaultDraw
		}
		k = n
	}
	return struct {
		RunID   string          `json:"runId"`
		GateID  string          `json:"gateId"`
		Sampled []sealed.Mutant `json:"sampled"`
	}{runID, gateID, sealed.Sample(runID, gateID, pool, k)}, nil
}

// sealedStore is the folder of the sealed objects.
func (c *call) sealedStore() (string, error) {
	store, given := c.value("store")
	if given && store == "" {
		c.wrong("store", "empty")
	}
	if !given {
		store = c.env("FERROX_SEALED_STORE")
	}
	if store == "" {
		home := c.env("HOME")
		if home == "" && !given {
			c.wrong("store", "missing, and neither FERROX_SEALED_STORE nor HOME is set")
		}
		store = filepath.Join(home, ".cache", "ferrox", "gates", "sealed")
	}
	return c.fromProcess(store), c.usage()
}

// fromProcess is a path as the process means it: the sealed verbs' files are not the project's.
func (c *call) fromProcess(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(c.cwd, path)
}
