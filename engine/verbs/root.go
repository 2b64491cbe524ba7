package verbs

import (
	"os"
	"path/filepath"
	"strings"
)

// findRoot returns the folder that holds .planning for a working directory. Inside a linked worktree that is the main
// checkout's, so that numbers, logs and counters are one; note says why it could not be found there.
//
// It is found by reading the files that git writes, without starting git: this is paid by every call.
func findRoot(dir string) (root, note string) {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	top, inGit := worktreeTop(dir)
	if !inGit {
		return withPlanning(dir, ""), ""
	}

	main, ok := mainCheckout(top)
	if !ok {
		return withPlanning(dir, top), "the main checkout of " + top + " can't be found; using the state of this worktree"
	}
	inside, err := filepath.Rel(top, dir)
	if err != nil {
		inside = "."
	}
	return withPlanning(filepath.Join(main, inside), main), ""
}

// withPlanning looks for .planning from dir upwards, not above top, and settles for top or, without one, for dir.
func withPlanning(dir, top string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if info, err := os.Stat(filepath.Join(at, ".planning")); err == nil && info.IsDir() {
			return at
		}
		if at == top || at == filepath.Dir(at) {
			break
		}
	}
	if top != "" {
		return top
	}
	return dir
}

// worktreeTop finds the worktree or checkout that dir is in.
func worktreeTop(dir string) (string, bool) {
	for at := dir; ; at = filepath.Dir(at) {
		if isGit(filepath.Join(at, ".git")) {
			return at, true
		}
		if at == filepath.Dir(at) {
			return "", false
		}
	}
}

// isGit tells git's ".git" from any other thing of that name.
func isGit(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	if info.IsDir() {
		_, err := os.Stat(filepath.Join(path, "HEAD"))
		return err == nil
	}
	_, ok := pointer(path, "gitdir:")
	return ok
}

// mainCheckout finds the checkout that a worktree's common git dir belongs to. ok is false for a worktree of a bare
// repository, which has none.
func mainCheckout(top string) (string, bool) {
	link := filepath.Join(top, ".git")
	if info, err := os.Stat(link); err != nil || info.IsDir() {
		return top, err == nil
	}
	gitDir, ok := pointer(link, "gitdir:")
	if !ok {
		return "", false
	}
	common, linked := pointer(filepath.Join(gitDir, "commondir"), "")
	if !linked {
		return top, true // a submodule, or a checkout whose git dir is elsewhere
	}
	if filepath.Base(common) != ".git" {
		return "", false
	}
	return filepath.Dir(common), true
}

// pointer reads a file that holds one path, relative to the file's own folder.
func pointer(file, prefix string) (string, bool) {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<16 {
		return "", false
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", false
	}
	path, ok := strings.CutPrefix(strings.TrimRight(string(data), "\r\n"), prefix)
	path = strings.TrimLeft(path, " ")
	if !ok || path == "" {
		return "", false
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(file), path)
	}
	return filepath.Clean(path), true
}
