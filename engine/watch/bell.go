package watch

import (
	"fmt"
	"os"
	"path/filepath"

	"ferrox/engine/crash"
)

// Ring tells whoever watches dir that the store has changed. dir is a folder of its own, made on demand with one empty
// file in it; beside a database every write of the database would ring it.
//
// Any process may ring. Truncating an empty file needs no space and no ownership. The ringer's work is already
// committed and will be found by polling: an error is worth a debug line, never a failed command.
func Ring(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("ringing the bell: %w; the engine will notice at its next poll", err)
	}
	defer crash.Around("ring")()
	f, err := os.OpenFile(filepath.Join(dir, "bell"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("ringing the bell: %w; the engine will notice at its next poll", err)
	}
	return f.Close()
}
