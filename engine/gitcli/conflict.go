package gitcli

import (
	"slices"
	"strconv"
	"strings"

	"ferrox/engine"
)

// kinds are git's names of conflicts (merge-ort, 2.39) in ferrox's words. Others go by git's own.
var kinds = [...]struct{ git, ours string }{
	{"contents", "content"},
	{"file/directory", "file/folder"},
	{"directory/file", "file/folder"},
	{"distinct modes", "mode"},
	{"distinct types", "mode"},
}

// parseConflicts reads what follows the tree in merge-tree's -z output: "mode oid stage\tpath" for each conflicted
// path, an empty field, then messages as count, paths, type, text.
func parseConflicts(out string) []engine.Conflict {
	list, messages, _ := strings.Cut(out, "\x00\x00")
	kindOf := conflictKinds(strings.Split(messages, "\x00"))
	var conflicts []engine.Conflict
	seen := map[string]bool{}
	for line := range strings.SplitSeq(list, "\x00") {
		_, path, ok := strings.Cut(line, "\t")
		if !ok || seen[path] {
			continue
		}
		seen[path] = true
		k, found := kindOf[path]
		if !found {
			k = kindAt{kind: "content", path: path}
		}
		conflicts = append(conflicts, engine.Conflict{Path: k.path, Kind: k.kind})
	}
	return conflicts
}

// kindAt is a kind of conflict, and the path that both sides know it by.
type kindAt struct{ kind, path string }

func conflictKinds(f []string) map[string]kindAt {
	kindOf := map[string]kindAt{}
	for len(f) > 0 {
		n, err := strconv.Atoi(f[0])
		if err != nil || n < 0 || len(f) < n+3 {
			return kindOf
		}
		paths, name := f[1:n+1], f[n+1]
		f = f[n+3:]
		kind, ok := conflictKind(name)
		if !ok {
			continue
		}
		for _, p := range paths {
			if _, taken := kindOf[p]; !taken {
				kindOf[p] = kindAt{kind: kind, path: commonName(kind, p, paths)}
			}
		}
	}
	return kindOf
}

// conflictKind takes the kind out of "CONFLICT (kind)"; other messages are no conflicts.
func conflictKind(name string) (string, bool) {
	kind, ok := strings.CutPrefix(name, "CONFLICT (")
	if !ok {
		return "", false
	}
	kind = strings.TrimSuffix(kind, ")")
	for _, k := range kinds {
		if k.git == kind {
			return k.ours, true
		}
	}
	return kind, true
}

// commonName undoes git's renaming of a file that a folder took the place of ("x~1234abc" for "x").
func commonName(kind, path string, paths []string) string {
	if kind != "file/folder" {
		return path
	}
	return slices.MinFunc(paths, func(a, b string) int { return len(a) - len(b) })
}
