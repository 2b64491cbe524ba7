//go:build brokenack

package sqlite

import (
	"os"
	"time"
)

// durably is wrong on purpose: a shim tells its worker what is not on disk yet.
func durably(commit func() error) error {
	if len(os.Args) < 2 || os.Args[1] != "shim" {
		return commit()
	}
	go func() {
		time.Sleep(50 * time.Millisecond) // time enough to tell it
		_ = commit()
	}()
	return nil
}
