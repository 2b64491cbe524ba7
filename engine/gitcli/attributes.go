package gitcli

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"ferrox/engine"
)

const attributesFile = ".gitattributes"

// attributes gives merge-tree the integration head's attributes for the paths that both sides changed, and refuses when
// one of those asks for a program. Where no path was changed on both sides nothing is merged by content, so attributes
// do not matter and nothing is looked up.
func (m *merge) attributes(ctx context.Context, scratch string) error {
	contested := m.contested()
	if len(contested) == 0 {
		return nil
	}
	settings, err := m.repo.programs(ctx)
	if err != nil {
		return err
	}
	if err := m.writeAttributes(ctx, scratch, contested); err != nil {
		return err
	}
	c := m.repo.standing(scratch)
	c.args = []string{"check-attr", "-z", "--stdin", "merge", "filter"}
	c.stdin = []byte(strings.Join(contested, "\x00") + "\x00")
	out, err := m.repo.run(ctx, c)
	if err != nil {
		return err
	}
	f := strings.Split(string(out), "\x00")
	for i := 0; i+2 < len(f); i += 3 {
		if err := settings.check(f[i], f[i+1], f[i+2]); err != nil {
			return err
		}
	}
	return nil
}

// contested lists paths that both sides changed differently. Where one of them is a deletion it may be half a rename,
// and then the new paths of that side can be merged by content too.
func (m *merge) contested() []string {
	ours := map[string]diff{}
	for _, d := range m.ours {
		ours[d.Path] = d
	}
	set := map[string]bool{}
	renamed := false
	for _, d := range m.theirs {
		o, both := ours[d.Path]
		if !both {
			continue
		}
		deleted := d.Status == 'D' || o.Status == 'D'
		renamed = renamed || deleted
		if deleted || o.newOID != d.newOID || o.NewMode != d.NewMode {
			set[d.Path] = true
		}
	}
	if renamed {
		for _, d := range slices.Concat(m.ours, m.theirs) {
			if d.Status == 'A' {
				set[d.Path] = true
			}
		}
	}
	return sortedKeys(set)
}

func sortedKeys(set map[string]bool) []string {
	keys := make([]string, 0, len(set))
	for k := range set {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// writeAttributes copies the .gitattributes of all folders above the paths.
func (m *merge) writeAttributes(ctx context.Context, scratch string, paths []string) error {
	folders := map[string]bool{}
	for _, p := range paths {
		for dir := path.Dir(p); ; dir = path.Dir(dir) {
			folders[dir] = true
			if dir == "." {
				break
			}
		}
	}
	var names, objects []string
	for _, dir := range sortedKeys(folders) {
		name := path.Join(dir, attributesFile)
		names = append(names, name)
		objects = append(objects, string(m.into)+":"+name)
	}
	found, err := m.repo.cat(ctx, objects)
	if err != nil {
		return err
	}
	return writeFiles(scratch, names, found)
}

// writeFiles writes what there is below dir, and nothing outside it.
func writeFiles(dir string, names []string, found []object) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open scratch folder: %w", err)
	}
	defer root.Close()
	for i, name := range names {
		if found[i].kind != "blob" {
			continue
		}
		if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
			return fmt.Errorf("write %s to a scratch folder: %w", name, err)
		}
		if err := root.WriteFile(name, found[i].data, 0o600); err != nil {
			return fmt.Errorf("write %s to a scratch folder: %w", name, err)
		}
	}
	return nil
}

// programs are the merge drivers and filters that the configuration has commands for.
type programs struct {
	fallback string // merge.default
	drivers  map[string]bool
	filters  map[string]bool
}

func (r *Repo) programs(ctx context.Context) (programs, error) {
	p := programs{drivers: map[string]bool{}, filters: map[string]bool{}}
	out, err := r.run(ctx, call{
		args: []string{"config", "-z", "--get-regexp", `^(merge\.default|merge\..*\.driver|filter\..*\.(clean|smudge|process))$`}, okExit: 1,
	})
	if err != nil {
		return p, err
	}
	for line := range strings.SplitSeq(string(out), "\x00") {
		key, value, _ := strings.Cut(line, "\n")
		section, rest, _ := strings.Cut(key, ".")
		name := rest[:max(strings.LastIndex(rest, "."), 0)]
		switch {
		case key == "merge.default":
			p.fallback = value
		case section == "merge":
			p.drivers[name] = true
		case section == "filter" && value != "":
			p.filters[name] = true
		}
	}
	return p, nil
}

// check refuses a path whose merge would run a program, or would have to and git does not know which.
func (p programs) check(path, attribute, value string) error {
	switch attribute {
	case "filter":
		if p.filters[value] {
			return fmt.Errorf("%w: filter %q applies to %q: merge that path by hand", engine.ErrMergeDriver, value, path)
		}
	case "merge":
		driver := p.driver(value)
		if driver != "text" && driver != "binary" && driver != "union" || p.drivers[driver] {
			return fmt.Errorf("%w: merge driver %q applies to %q: merge that path by hand", engine.ErrMergeDriver, driver, path)
		}
	}
	return nil
}

// driver is the driver that a value of the merge attribute stands for.
func (p programs) driver(value string) string {
	switch {
	case value == "unset":
		return "binary"
	case value == "unspecified" && p.fallback != "":
		return p.fallback
	case value == "set" || value == "unspecified":
		return "text"
	}
	return value
}
