package enginetest

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"ferrox/lanes"
)

// repo is a model of git: commits and branches in memory, worktrees as folders.
type repo struct {
	mu        sync.Mutex
	commits   map[lanes.Commit]commit
	branches  map[string]lanes.Commit
	worktrees map[string]string // folder: branch
	inUse     string            // a branch that a person has checked out; "" for none
}

type commit struct {
	files   map[string]string
	parents []lanes.Commit
	message string
}

func newRepo() *repo {
	return &repo{commits: map[lanes.Commit]commit{}, branches: map[string]lanes.Commit{}, worktrees: map[string]string{}}
}

// add makes a commit. As in git, the same content made within the same second is the same commit.
func (r *repo) add(c commit, at time.Time) lanes.Commit {
	sum := sha1.New()
	for _, path := range slices.Sorted(maps.Keys(c.files)) {
		fmt.Fprintf(sum, "%q %q\n", path, c.files[path])
	}
	fmt.Fprintf(sum, "%v %q %d", c.parents, c.message, at.Unix())
	id := lanes.Commit(hex.EncodeToString(sum.Sum(nil)))
	r.commits[id] = c
	return id
}

// reach returns a commit and all that it is made of.
func (r *repo) reach(head lanes.Commit) map[lanes.Commit]bool {
	found, todo := map[lanes.Commit]bool{}, []lanes.Commit{head}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if c, ok := r.commits[at]; ok && !found[at] {
			found[at] = true
			todo = append(todo, c.parents...)
		}
	}
	return found
}

// base is the nearest commit that both are made of.
func (r *repo) base(a, b lanes.Commit) lanes.Commit {
	in, seen, todo := r.reach(a), map[lanes.Commit]bool{}, []lanes.Commit{b}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		if in[at] {
			return at
		}
		if !seen[at] {
			seen[at] = true
			todo = append(todo, r.commits[at].parents...)
		}
	}
	return ""
}

// changed lists the paths that differ between two sets of files.
func changed(a, b map[string]string) []string {
	paths := map[string]bool{}
	for path, text := range a {
		if other, ok := b[path]; !ok || other != text {
			paths[path] = true
		}
	}
	for path := range b {
		if _, ok := a[path]; !ok {
			paths[path] = true
		}
	}
	return slices.Sorted(maps.Keys(paths))
}

// merge takes from's changes since the common base into into's files. Paths that both changed differently are conflicts.
func (r *repo) merge(into, from lanes.Commit) (files map[string]string, base map[string]string, conflicts []string) {
	base = r.commits[r.base(into, from)].files
	ours, theirs := r.commits[into].files, r.commits[from].files
	files = maps.Clone(ours)
	for _, path := range changed(base, theirs) {
		text, there := theirs[path]
		mine, has := ours[path]
		was, before := base[path]
		switch {
		case mine == text && has == there:
		case mine != was || has != before:
			conflicts = append(conflicts, path)
		case there:
			files[path] = text
		default:
			delete(files, path)
		}
	}
	return files, base, conflicts
}

// checkOut writes a commit's files into a folder. Files that no commit has stay.
func checkOut(dir string, before, files map[string]string) error {
	for path := range before {
		if _, stays := files[path]; !stays {
			if err := os.Remove(filepath.Join(dir, path)); err != nil {
				return err
			}
		}
	}
	for path, text := range files {
		if before != nil && before[path] == text {
			continue
		}
		full := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// readFiles reads a folder as a commit would have it.
func readFiles(dir string) (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(p)
		files[filepath.ToSlash(strings.TrimPrefix(p, dir+string(filepath.Separator)))] = string(text)
		return err
	})
	return files, err
}
