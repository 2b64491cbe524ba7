package gitcli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"ferrox/engine"
)

// nothing is the mode of what is not there.
const nothing = "000000"

// diffTrees lists the files that differ between two trees, as diff-tree does: a rename is two changes, and a submodule is
// a file. Only folders that differ are read.
func (r *Repo) diffTrees(ctx context.Context, before, after string) ([]diff, error) {
	var found []diff
	err := r.diffFolder(ctx, "", before, after, &found)
	slices.SortFunc(found, func(a, b diff) int { return cmp.Compare(a.Path, b.Path) })
	return found, err
}

// diffFolder compares one folder; "" stands for a folder that is not there.
func (r *Repo) diffFolder(ctx context.Context, prefix, before, after string, found *[]diff) error {
	if before == after {
		return nil
	}
	was, err := r.readTree(ctx, before)
	if err != nil {
		return err
	}
	is, err := r.readTree(ctx, after)
	if err != nil {
		return err
	}
	for name, old := range was {
		if err := r.diffEntry(ctx, prefix+name, old, is[name], found); err != nil {
			return err
		}
	}
	for name, entry := range is {
		if _, both := was[name]; both {
			continue
		}
		if err := r.diffEntry(ctx, prefix+name, treeEntry{}, entry, found); err != nil {
			return err
		}
	}
	return nil
}

// diffEntry compares what stands under one name; the zero entry is nothing.
func (r *Repo) diffEntry(ctx context.Context, path string, old, next treeEntry, found *[]diff) error {
	if old.oid == next.oid && plainMode(old.mode) == plainMode(next.mode) {
		return nil
	}
	oldFolder, nextFolder := "", ""
	if old.mode == folderMode {
		oldFolder, old = old.oid, treeEntry{}
	}
	if next.mode == folderMode {
		nextFolder, next = next.oid, treeEntry{}
	}
	if old != next {
		*found = append(*found, changed(path, old, next))
	}
	return r.diffFolder(ctx, path+"/", oldFolder, nextFolder, found)
}

func changed(path string, old, next treeEntry) diff {
	d := diff{Change: engine.Change{Path: path, Status: 'M', OldMode: plainMode(old.mode), NewMode: plainMode(next.mode)}, newOID: next.oid}
	switch {
	case old.mode == "":
		d.Status = 'A'
	case next.mode == "":
		d.Status = 'D'
	case d.OldMode[:3] != d.NewMode[:3]:
		d.Status = 'T'
	}
	return d
}

// plainMode is a mode as diff-tree prints it: old repositories have files with other rights.
func plainMode(mode string) string {
	switch {
	case mode == "":
		return nothing
	case len(mode) == 6 && mode[:3] == "100" && (mode[3]-'0')&1 == 1:
		return "100755"
	case len(mode) == 6 && mode[:3] == "100":
		return "100644"
	}
	return mode
}

// readTree reads one folder; "" is an empty one.
func (r *Repo) readTree(ctx context.Context, oid string) (map[string]treeEntry, error) {
	if oid == "" {
		return nil, nil
	}
	found, err := r.cat(ctx, []string{oid})
	if err != nil {
		return nil, err
	}
	if found[0].kind != "tree" {
		return nil, fmt.Errorf("%w: there is no tree %s", engine.ErrNoSuchRevision, oid)
	}
	return parseTree(found[0].data, len(oid)/2)
}
