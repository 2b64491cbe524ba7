package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"ferrox/engine/crash"
)

// binDir is the folder that is first in a worker's PATH: it holds this program under the name ferrox and nothing else,
// whatever its file is called and whatever else lies beside it.
func (e *Engine) binDir() string { return filepath.Join(e.Home, "bin") }

// publishProgram makes binDir's link point at this program. It is replaced in one step: live workers may be reading it.
func (e *Engine) publishProgram() error {
	link := filepath.Join(e.binDir(), "ferrox")
	if at, err := os.Readlink(link); err == nil && at == e.Exe {
		return nil
	}
	if err := os.MkdirAll(e.binDir(), 0o700); err != nil {
		return fmt.Errorf("make the folder of the workers' ferrox: %w", err)
	}
	fresh := link + "." + e.NewID()
	defer crash.Around("link program")()
	err := os.Symlink(e.Exe, fresh)
	if err == nil {
		err = os.Rename(fresh, link)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("link the workers' ferrox: %w", err), os.RemoveAll(fresh))
	}
	return nil
}
