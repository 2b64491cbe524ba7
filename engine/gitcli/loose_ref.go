package gitcli

import (
	"os"
	"path/filepath"
	"strings"

	"ferrox/lanes"
)

// looseBranch reads a branch and the worktree that has it checked out from git's files, without a process. It answers only
// where nothing is left to interpret; false means that git has to be asked: the branch is packed, is no plain file or is
// not there, or a worktree is half-made.
func (r *Repo) looseBranch(name string) (refRecord, bool) {
	head, ok := readHead(filepath.Join(r.common, filepath.FromSlash(branches+name)))
	if !ok || head.branch != "" {
		return refRecord{}, false
	}
	dirs, ok := r.checkedOut(name)
	if !ok {
		return refRecord{}, false
	}
	rec := refRecord{name: name, head: head.commit}
	if len(dirs) > 0 {
		rec.dir = dirs[0]
	}
	return rec, true
}

// checkedOut lists the folders of worktrees that are on a branch, the main checkout first; false where only git can tell.
func (r *Repo) checkedOut(branch string) (dirs []string, ok bool) {
	on := func(gitDir, dir string) bool {
		head, read := readHead(filepath.Join(gitDir, "HEAD"))
		if read && head.branch == branch {
			dirs = append(dirs, dir)
		}
		return read
	}
	if r.root != "" && !on(r.common, r.root) {
		return nil, false
	}
	top := filepath.Join(r.common, "worktrees")
	entries, err := os.ReadDir(top)
	if err != nil && !os.IsNotExist(err) {
		return nil, false
	}
	for _, e := range entries {
		gitDir := filepath.Join(top, e.Name())
		link, err := os.ReadFile(filepath.Join(gitDir, "gitdir"))
		if err != nil || !on(gitDir, filepath.Dir(strings.TrimSuffix(string(link), "\n"))) {
			return nil, false
		}
	}
	return dirs, true
}

// headFile is what a file of git's says that stands for a commit.
type headFile struct {
	branch string       // that it names, without refs/heads/; "" when it holds a commit itself
	commit lanes.Commit // "" when it names a branch
}

// readHead reads such a file; false when it holds neither a branch nor a commit, as with other ways of storing refs.
func readHead(file string) (headFile, bool) {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() {
		return headFile{}, false // an old git made HEAD a link
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return headFile{}, false
	}
	text := strings.TrimSuffix(string(data), "\n")
	if isOID(text) {
		return headFile{commit: lanes.Commit(text)}, true
	}
	branch, ok := strings.CutPrefix(text, "ref: "+branches)
	return headFile{branch: branch}, ok && checkBranch(branch) == nil
}
