package gitcli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ferrox/engine"
	"ferrox/lanes"
)

// worktreeRecord is one record of `worktree list`.
type worktreeRecord struct {
	engine.Worktree
	bare bool
}

// Worktrees lists all worktrees, the main checkout first.
func (r *Repo) Worktrees(ctx context.Context) ([]engine.Worktree, error) {
	records, err := r.worktreeRecords(ctx)
	if err != nil {
		return nil, fmt.Errorf("list worktrees: %w", err)
	}
	list := make([]engine.Worktree, 0, len(records))
	for _, rec := range records {
		list = append(list, rec.Worktree)
	}
	return list, nil
}

func (r *Repo) worktreeRecords(ctx context.Context) ([]worktreeRecord, error) {
	out, err := r.git(ctx, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return nil, err
	}
	var records []worktreeRecord
	var rec worktreeRecord
	for line := range strings.SplitSeq(string(out), "\x00") {
		if line == "" {
			if rec.Dir != "" {
				records = append(records, rec)
			}
			rec = worktreeRecord{}
			continue
		}
		rec.read(line)
	}
	return records, nil
}

func (w *worktreeRecord) read(line string) {
	key, value, _ := strings.Cut(line, " ")
	switch key {
	case "worktree":
		w.Dir = value
	case "HEAD":
		if strings.Trim(value, "0") != "" {
			w.Head = lanes.Commit(value)
		}
	case "branch":
		w.Branch = strings.TrimPrefix(value, branches)
	case "bare":
		w.bare = true
	case "locked":
		w.Locked = true
	case "prunable":
		w.Prunable = true
	}
}

// admin is the registration of a worktree as it lies on disk.
type admin struct {
	gitDir string
	dir    string // the worktree's folder
	locked bool
}

// gone reports whether the folder is not there and nobody said that it will be back.
func (a admin) gone() bool {
	_, err := os.Lstat(a.dir)
	return os.IsNotExist(err) && !a.locked
}

// admins reads the registrations, the main checkout first. It costs no process.
func (r *Repo) admins() ([]admin, error) {
	var list []admin
	if r.root != "" {
		list = append(list, admin{gitDir: r.common, dir: r.root})
	}
	dir := filepath.Join(r.common, "worktrees")
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("read registered worktrees: %w", err)
	}
	for _, e := range entries {
		gitDir := filepath.Join(dir, e.Name())
		link, err := os.ReadFile(filepath.Join(gitDir, "gitdir"))
		if err != nil {
			continue // half-made or half-removed: nobody works in it
		}
		_, lockErr := os.Lstat(filepath.Join(gitDir, "locked"))
		list = append(list, admin{gitDir: gitDir, dir: filepath.Dir(strings.TrimSuffix(string(link), "\n")), locked: lockErr == nil})
	}
	return list, nil
}

// busyWith are the files that name a branch while HEAD is detached for its sake. Neither the worktree list nor
// %(worktreepath) knows of them.
var busyWith = [...]string{"rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START"}

// holder returns the folder of a worktree that is in the middle of a rebase or bisection of branch.
func (r *Repo) holder(branch string) (string, error) {
	list, err := r.admins()
	if err != nil {
		return "", err
	}
	for _, a := range list {
		if a.gone() {
			continue
		}
		for _, name := range busyWith {
			data, err := os.ReadFile(filepath.Join(a.gitDir, name))
			if err == nil && strings.TrimPrefix(strings.TrimSpace(string(data)), branches) == branch {
				return a.dir, nil
			}
		}
	}
	return "", nil
}

// locate returns the git directory of the worktree at dir. Git itself would walk up to whatever repository is there,
// so the link is followed both ways instead.
func (r *Repo) locate(dir string) (string, error) {
	gone := func(why, next string) error {
		return &engine.MendError{Err: fmt.Errorf("worktree %s: %w: %s", dir, engine.ErrWorktreeGone, why), Next: next}
	}
	dot := filepath.Join(dir, ".git")
	fi, err := os.Lstat(dot)
	if err != nil {
		return "", gone("it has no .git", r.relink(dir))
	}
	if fi.IsDir() || fi.Mode()&os.ModeSymlink != 0 {
		if sameFile(dot, r.common) {
			return r.common, nil
		}
		return "", gone("it is another repository", moveAway(dir))
	}
	gitDir, err := readLink(dir, dot)
	if err != nil {
		return "", gone("its .git cannot be read", r.relink(dir))
	}
	if sameFile(gitDir, r.common) {
		return r.common, nil
	}
	if !sameFile(filepath.Dir(gitDir), filepath.Join(r.common, "worktrees")) {
		return "", gone("it does not belong to this repository", moveAway(dir))
	}
	back, err := os.ReadFile(filepath.Join(gitDir, "gitdir"))
	if err != nil {
		return "", gone("its registration is missing", moveAway(dir))
	}
	if canonical(filepath.Dir(strings.TrimSuffix(string(back), "\n"))) != canonical(dir) {
		return "", gone("it is registered for another folder", "git worktree repair "+dir)
	}
	return gitDir, nil
}

// moveAway is the command that makes room where a worktree belongs.
func moveAway(dir string) string { return "mv " + dir + " " + dir + ".old" }

// relink is the command for a folder whose link to its registration is broken: with a registration it is written anew.
func (r *Repo) relink(dir string) string {
	list, err := r.admins()
	if fi, statErr := os.Stat(dir); err != nil || statErr != nil || !fi.IsDir() {
		return moveAway(dir)
	}
	for _, a := range list {
		if canonical(a.dir) == canonical(dir) {
			return "git worktree repair"
		}
	}
	return moveAway(dir)
}

// readLink reads a .git file.
func readLink(dir, dot string) (string, error) {
	data, err := os.ReadFile(dot)
	if err != nil {
		return "", err
	}
	path, ok := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), "gitdir: ")
	if !ok {
		return "", fmt.Errorf("read %s: no gitdir line", dot)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return path, nil
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
