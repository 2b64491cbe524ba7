package gitcli

import (
	"compress/zlib"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"ferrox/engine"
	"ferrox/lanes"
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
	_, err := r.syncHistory(ctx, revs...)
	return err
}

// history is what a walk through new commits saw.
type history struct {
	fresh []lanes.Commit        // the new commits, but for such without a parent
	seen  map[lanes.Commit]bool // the new commits and the parents of those
}

// syncHistory is sync that also returns the commits it saw.
func (r *Repo) syncHistory(ctx context.Context, revs ...string) (history, error) {
	out, err := r.git(ctx, append(append([]string{"rev-list", "--objects", "--parents", "--no-object-names"}, revs...), "--")...)
	if err != nil {
		return history{}, fmt.Errorf("list new objects: %w", err)
	}
	h := history{seen: map[lanes.Commit]bool{}}
	var oids []string
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line) // a commit and its parents, or another object alone
		if len(f) == 0 || !isOID(f[0]) {
			continue
		}
		oids = append(oids, f[0])
		if len(f) > 1 {
			h.fresh = append(h.fresh, lanes.Commit(f[0]))
		}
		for _, oid := range f {
			h.seen[lanes.Commit(oid)] = true
		}
	}
	return h, r.flushObjects(oids)
}

func (r *Repo) flushObjects(oids []string) error {
	objects := filepath.Join(r.common, "objects")
	folders := map[string]bool{}
	var g errgroup.Group
	g.SetLimit(syncers)
	for _, oid := range oids {
		folders[oid[:2]] = true
		g.Go(func() error { return flushLoose(filepath.Join(objects, oid[:2], oid[2:]), oid) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if len(folders) > 0 {
		folders["."] = true
	}
	for name := range folders {
		if err := flush(filepath.Join(objects, name)); err != nil {
			return err
		}
	}
	return nil
}

// flushRef puts the folders of a ref on disk. Git waits for the ref's file, but not for its name in the folder.
func (r *Repo) flushRef(ref string) error {
	top := filepath.Join(r.common, "refs")
	for dir := filepath.Dir(filepath.Join(r.common, ref)); within(dir, top); dir = filepath.Dir(dir) {
		if err := flush(dir); err != nil {
			return err
		}
	}
	return nil
}

// flushWorktree puts on disk what makes a folder a worktree of this repository: the branch, the registration, the link. A
// cut of the power that left any of it empty would stop git in all worktrees. The checked-out files are not waited for:
// git has them.
func (r *Repo) flushWorktree(dir, branch string) error {
	gitDir, err := r.locate(dir)
	if err != nil {
		return err
	}
	registered, err := os.ReadDir(gitDir)
	if err != nil {
		return fmt.Errorf("flush worktree: %w", err)
	}
	paths := []string{filepath.Join(r.common, branches+branch)}
	for _, e := range registered {
		if e.Type().IsRegular() {
			paths = append(paths, filepath.Join(gitDir, e.Name()))
		}
	}
	paths = append(paths, gitDir, filepath.Dir(gitDir), r.common, filepath.Join(dir, ".git"), dir, filepath.Dir(dir), filepath.Dir(filepath.Dir(dir)))
	for _, path := range paths {
		if err := flush(path); err != nil {
			return err
		}
	}
	return r.flushRef(branches + branch)
}

// flushLoose waits until an object's file is on disk, and fails when the file does not hold that object: an earlier cut of
// the power may have left it empty or torn, and git takes such a file for the object and does not write it again.
func flushLoose(path, oid string) error {
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil // in a pack, which git itself flushes
	}
	if err != nil {
		return fmt.Errorf("flush object: %w", err)
	}
	defer f.Close()
	if err := holds(f, oid); err != nil {
		return &engine.MendError{
			Err:  fmt.Errorf("flush object %s: its file is damaged, as after a cut of the power: %w", oid, err),
			Next: "rm -f " + path + ", commit what it held again",
		}
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("flush object: %w", err)
	}
	return nil
}

// holds fails when the file of a loose object has other bytes than its name promises.
func holds(file io.Reader, oid string) error {
	z, err := zlib.NewReader(file)
	if err != nil {
		return err
	}
	sum := hasher(len(oid))
	if _, err := io.Copy(sum, z); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != oid {
		return fmt.Errorf("it holds %s", got)
	}
	return nil
}

// flush waits until a file or folder is on disk, if there is one.
func flush(path string) error {
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	return nil
}
