package gitcli

import (
	"fmt"
	"path/filepath"
	"strings"

	"ferrox/engine"
	"ferrox/lanes"
)

const branches = "refs/heads/"

// checkBranch refuses names that git would refuse, or take for an option or a pattern.
func checkBranch(name string) error {
	if name == "" || name == "HEAD" || name == "@" || strings.HasPrefix(name, "-") {
		return fmt.Errorf("branch name %q is not usable: choose another", name)
	}
	return checkRef(name)
}

func checkRef(name string) error {
	bad := strings.ContainsAny(name, " ~^:?*[\\\x7f") || strings.ContainsFunc(name, func(c rune) bool { return c < ' ' }) ||
		strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.HasSuffix(name, ".")
	for part := range strings.SplitSeq(name, "/") {
		bad = bad || part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock")
	}
	if bad {
		return fmt.Errorf("ref name %q is not usable: choose another", name)
	}
	return nil
}

// checkCommits refuses anything but whole object ids, so that no commit can be an option, a range or a moving name.
func checkCommits(commits ...lanes.Commit) error {
	for _, c := range commits {
		if !isOID(string(c)) {
			return fmt.Errorf("%w: %q is not a full object id", engine.ErrNoSuchRevision, string(c))
		}
	}
	return nil
}

func isOID(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	return strings.Trim(s, "0123456789abcdef") == ""
}

// checkFiles refuses what git would leave out of an index with no more than a warning.
func checkFiles(files []engine.File) error {
	for _, f := range files {
		inside := !strings.ContainsRune(f.Path, 0)
		for part := range strings.SplitSeq(f.Path, "/") {
			inside = inside && part != "" && part != "." && part != ".." && !strings.EqualFold(part, ".git")
		}
		if !inside {
			return fmt.Errorf("put %q into a tree: it is not a path inside the repository", f.Path)
		}
		if !f.Remove && f.Mode != "100644" && f.Mode != "100755" && f.Mode != "120000" {
			return fmt.Errorf("put %q into a tree: mode %q is not one of a file", f.Path, f.Mode)
		}
	}
	return nil
}

// noOID is the id that stands for "must not be there", as long as c.
func noOID(c lanes.Commit) string { return strings.Repeat("0", len(c)) }

// within reports whether path is dir or below it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && (rel == "." || filepath.IsLocal(rel))
}

// canonical resolves symbolic links as far as the path exists, so that two spellings of a folder compare equal.
func canonical(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(canonical(parent), filepath.Base(path))
}
