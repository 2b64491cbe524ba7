package gitcli

import (
	"context"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"ferrox/engine"
)

// clashes finds paths of the lane that a disk which ignores letter case cannot hold beside another path of the merged
// tree: the same name in other letters, or a file where another spelling is a folder. Clashes that were there before are
// not the lane's.
func (m *merge) clashes(ctx context.Context, tree string) ([]engine.Conflict, error) {
	added := m.added()
	if len(added) == 0 {
		return nil, nil
	}
	f := folder{caser: cases.Fold()}
	wanted := map[string][]string{} // folded path, or folded folder above one → the added paths it stands for
	for _, path := range added {
		key := f.fold(path)
		wanted[key] = append(wanted[key], path)
	}
	paths, err := m.repo.near(ctx, tree, f, added)
	if err != nil {
		return nil, err
	}
	var conflicts []engine.Conflict
	for _, path := range paths {
		conflicts = f.clash(conflicts, path, wanted)
	}
	return f.below(conflicts, added, paths), nil
}

// near lists the files of a tree that paths could clash with: what lies in the folders above them, in whatever letters. Of a
// folder that is called like one of them a single file stands for all.
func (r *Repo) near(ctx context.Context, tree string, f folder, paths []string) ([]string, error) {
	above, called := map[string]bool{}, map[string]bool{}
	for _, path := range paths {
		key := f.fold(path)
		called[key] = true
		for i := range len(key) {
			if key[i] == '/' {
				above[key[:i]] = true
			}
		}
	}
	var found []string
	var walk func(prefix, oid string) error
	walk = func(prefix, oid string) error {
		entries, err := r.readTree(ctx, oid)
		if err != nil {
			return err
		}
		for name, e := range entries {
			path := prefix + name
			if e.mode != folderMode {
				found = append(found, path)
				continue
			}
			key := f.fold(path)
			if called[key] {
				found = append(found, path+"/.")
			}
			if above[key] {
				if err := walk(path+"/", e.oid); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return found, walk("", tree)
}

// added lists what the lane adds and the integration branch has not added itself.
func (m *merge) added() []string {
	known := map[string]bool{}
	for _, d := range m.ours {
		known[d.Path] = d.Status == 'A'
	}
	var added []string
	for _, d := range m.theirs {
		if d.Status == 'A' && !known[d.Path] {
			added = append(added, d.Path)
		}
	}
	return added
}

// folder folds paths as a disk that ignores letter case and Unicode form does.
type folder struct{ caser cases.Caser }

func (f folder) fold(path string) string {
	for i := range len(path) {
		if path[i] >= 0x80 {
			return f.caser.String(norm.NFC.String(path))
		}
	}
	return strings.ToLower(path)
}

// clash looks whether path, or a folder above it, is an added path in other letters.
func (f folder) clash(conflicts []engine.Conflict, path string, wanted map[string][]string) []engine.Conflict {
	key := f.fold(path)
	for _, added := range wanted[key] {
		if added != path {
			conflicts = append(conflicts, engine.Conflict{Path: added, Kind: "letter-case"})
		}
	}
	for i := range len(key) {
		if key[i] != '/' {
			continue
		}
		for _, added := range wanted[key[:i]] {
			conflicts = append(conflicts, engine.Conflict{Path: added, Kind: "letter-case"})
		}
	}
	return conflicts
}

// below looks whether a folder above an added path is a file in other letters.
func (f folder) below(conflicts []engine.Conflict, added, paths []string) []engine.Conflict {
	above := map[string][]string{}
	for _, path := range added {
		key := f.fold(path)
		for i := range len(key) {
			if key[i] == '/' {
				above[key[:i]] = append(above[key[:i]], path)
			}
		}
	}
	for _, path := range paths {
		for _, a := range above[f.fold(path)] {
			conflicts = append(conflicts, engine.Conflict{Path: a, Kind: "letter-case"})
		}
	}
	return unique(conflicts)
}

func unique(conflicts []engine.Conflict) []engine.Conflict {
	var out []engine.Conflict
	seen := map[engine.Conflict]bool{}
	for _, c := range conflicts {
		if !seen[c] {
			out = append(out, c)
		}
		seen[c] = true
	}
	return out
}
