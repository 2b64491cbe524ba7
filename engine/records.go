package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ferrox/lanes/packet"
)

// ownRecord reports whether a path is one of the packet's own records, which may be uncommitted.
func (u unit) ownRecord(path string) bool { return recordOf(u.task.Path, path) }

// recordOf reports whether a path is a record of the packet in a folder: exactly there, not wherever a name is the same.
func recordOf(folder, path string) bool {
	rest, own := strings.CutPrefix(path, folder+"/")
	return own && (rest == packet.StatusName || rest == packet.DoneName || strings.HasPrefix(rest, packet.ReviewsName+"/"))
}

// overlay reads the packet's own uncommitted records, which go into the merge commit's tree.
func (r *runner) overlay(ctx context.Context, u unit, tree WorktreeStatus) ([]File, error) {
	paths, err := r.uncommittedRecords(ctx, u, tree)
	if err != nil {
		return nil, err
	}
	var files []File
	for _, path := range paths {
		f, err := readFile(u.lane.Worktree, path)
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted in the work tree: the committed version stays
		}
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// uncommittedRecords lists the packet's records that git shows as changed or unknown, those that the repository ignores, and
// .DONE in any case: without it the task would count as unfinished.
func (r *runner) uncommittedRecords(ctx context.Context, u unit, tree WorktreeStatus) ([]string, error) {
	paths := []string{u.task.Path + "/" + packet.DoneName}
	for _, e := range tree.Entries {
		if u.ownRecord(e.Path) && !slices.Contains(paths, e.Path) {
			paths = append(paths, e.Path)
		}
	}
	there, err := u.recordsThere()
	quiet := slices.DeleteFunc(there, func(p string) bool { return slices.Contains(paths, p) })
	if err != nil || len(quiet) == 0 {
		return paths, err
	}
	tracked, err := r.Git.Tree(ctx, tree.Head, u.task.Path)
	if err != nil {
		return nil, fmt.Errorf("list the records of %s: %w", u.task.ID, err)
	}
	for _, p := range quiet {
		if !slices.ContainsFunc(tracked, func(t TreeEntry) bool { return t.Path == p }) {
			paths = append(paths, p)
		}
	}
	return paths, nil
}

// recordsThere lists the files of the packet's records in the worktree.
func (u unit) recordsThere() (paths []string, err error) {
	if _, err := os.Lstat(filepath.Join(u.taskDir(), packet.StatusName)); err == nil {
		paths = append(paths, u.task.Path+"/"+packet.StatusName)
	}
	root := filepath.Join(u.taskDir(), packet.ReviewsName)
	err = filepath.WalkDir(root, func(p string, entry fs.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel(u.taskDir(), p)
		paths = append(paths, path.Join(u.task.Path, filepath.ToSlash(rel)))
		return err
	})
	return paths, err
}

func readFile(root, path string) (File, error) {
	full := filepath.Join(root, filepath.FromSlash(path))
	info, err := os.Lstat(full)
	if err != nil {
		return File{}, err
	}
	f := File{Path: path, Mode: "100644"}
	switch mode := info.Mode(); {
	case mode&os.ModeSymlink != 0:
		target, err := os.Readlink(full)
		return File{Path: path, Mode: "120000", Data: []byte(target)}, err
	case !mode.IsRegular():
		return f, fmt.Errorf("%s is not a file", path)
	case mode&0o111 != 0:
		f.Mode = "100755"
	}
	f.Data, err = os.ReadFile(full)
	return f, err
}
