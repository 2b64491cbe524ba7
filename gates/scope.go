package gates

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// InScope reports whether a path falls under one of a File Scope's entries: the path itself, a folder above it, or a
// glob (`*` stays inside a name, `**` crosses folders).
func InScope(entries []string, path string) bool {
	for _, e := range entries {
		e = strings.TrimSuffix(strings.TrimPrefix(e, "./"), "/")
		if e == path || strings.HasPrefix(path, e+"/") {
			return true
		}
		if ok, err := doublestar.Match(e, path); err == nil && ok {
			return true
		}
	}
	return false
}
