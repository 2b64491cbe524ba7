package gitcli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"
)

// durable makes git wait for the disk with objects and refs of this call.
func durable() []string {
	return []string{"core.fsync=objects,reference", "core.fsyncMethod=fsync"}
}

// syncers is how many objects are flushed at once: the file system groups them.
const syncers = 8

// sync puts the loose objects that the revisions name on disk. A worker's git writes them without waiting, so what a ref
// is about to promise could be empty files after a power cut. Packs are flushed by git itself.
func (r *Repo) sync(ctx context.Context, revs ...string) error {
	out, err := r.git(ctx, append(append([]string{"rev-list", "--objects", "--no-object-names"}, revs...), "--")...)
	if err != nil {
		return fmt.Errorf("list new objects: %w", err)
	}
	objects := filepath.Join(r.common, "objects")
	folders := map[string]bool{}
	var g errgroup.Group
	g.SetLimit(syncers)
	for oid := range strings.FieldsSeq(string(out)) {
		if !isOID(oid) {
			continue
		}
		folders[oid[:2]] = true
		g.Go(func() error { return flush(filepath.Join(objects, oid[:2], oid[2:])) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for name := range folders {
		if err := flush(filepath.Join(objects, name)); err != nil {
			return err
		}
	}
	return nil
}

// flush waits until a file or folder is on disk. One that is not there lies in a pack.
func flush(path string) error {
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("flush object: %w", err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("flush object: %w", err)
	}
	return nil
}
