package gitcli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ferrox/engine"
)

const folderMode = "40000"

// treeEntry is one entry of a tree object.
type treeEntry struct {
	mode string // as stored: "40000" for a folder
	oid  string
}

// edit is what is to change in one folder.
type edit struct {
	path    string
	files   map[string]placed
	folders map[string]*edit
}

// placed is a file to put into a tree.
type placed struct {
	engine.File
	oid string // of its content, where that is stored already; Data counts otherwise
}

// put returns the tree with files put in or taken out.
func (r *Repo) put(ctx context.Context, tree string, files []engine.File) (string, error) {
	if err := checkFiles(files); err != nil {
		return "", err
	}
	return r.place(ctx, tree, unstored(files))
}

// unstored are files whose content comes with them.
func unstored(files []engine.File) []placed {
	list := make([]placed, 0, len(files))
	for _, f := range files {
		list = append(list, placed{File: f})
	}
	return list
}

// place is put for files whose content may be stored. Only the folders on the way are read and written, so the size of the
// repository does not matter.
func (r *Repo) place(ctx context.Context, tree string, files []placed) (string, error) {
	root, err := plan(files)
	if err != nil {
		return "", err
	}
	e := &treeEditor{digits: digits(tree), folders: map[string]map[string]treeEntry{}}
	if err := e.read(ctx, r, tree, root); err != nil {
		return "", err
	}
	oid, _ := e.apply(root)
	if err := r.write(ctx, e.made, e.digits); err != nil {
		return "", err
	}
	return oid, nil
}

// digits is the length of an object id where tree comes from: "<oid>" or "<oid>^{tree}".
func digits(tree string) int {
	oid, _, _ := strings.Cut(tree, "^")
	return len(oid)
}

// plan sorts files into folders. A later file of the same path wins.
func plan(files []placed) (*edit, error) {
	root := &edit{}
	for _, f := range files {
		at := root
		parts := strings.Split(f.Path, "/")
		for _, name := range parts[:len(parts)-1] {
			if other, both := at.files[name]; both && !other.Remove {
				return nil, fmt.Errorf("put %q into a tree: %q is a file there", f.Path, other.Path)
			}
			at = at.folder(name)
		}
		name := parts[len(parts)-1]
		if _, both := at.folders[name]; both && !f.Remove {
			return nil, fmt.Errorf("put %q into a tree: it is a folder there", f.Path)
		}
		if at.files == nil {
			at.files = map[string]placed{}
		}
		at.files[name] = f
	}
	return root, nil
}

func (e *edit) folder(name string) *edit {
	if e.folders == nil {
		e.folders = map[string]*edit{}
	}
	if e.folders[name] == nil {
		e.folders[name] = &edit{path: strings.TrimPrefix(e.path+"/"+name, "/")}
	}
	return e.folders[name]
}

// all lists the edit and those below it.
func (e *edit) all() []*edit {
	list := []*edit{e}
	for _, name := range slices.Sorted(maps.Keys(e.folders)) {
		list = append(list, e.folders[name].all()...)
	}
	return list
}

// treeEditor makes new trees out of old ones.
type treeEditor struct {
	digits  int
	folders map[string]map[string]treeEntry // entries by folder, as they were
	made    []object
}

// read reads every folder that is to change, in one call. One that is not there, or is a file, is empty.
func (e *treeEditor) read(ctx context.Context, r *Repo, tree string, root *edit) error {
	edits := root.all()
	names := make([]string, len(edits))
	for i, ed := range edits {
		names[i] = tree
		if ed.path != "" {
			names[i] = tree + ":" + ed.path
		}
	}
	found, err := r.cat(ctx, names)
	if err != nil {
		return err
	}
	if found[0].kind != "tree" {
		return fmt.Errorf("%w: there is no tree %s", engine.ErrNoSuchRevision, tree)
	}
	for i, ed := range edits {
		if found[i].kind != "tree" {
			continue
		}
		if e.folders[ed.path], err = parseTree(found[i].data, e.digits/2); err != nil {
			return fmt.Errorf("read folder %q: %w", ed.path, err)
		}
	}
	return nil
}

// parseTree reads "mode name\0oid" entries; the id is binary, width bytes long.
func parseTree(data []byte, width int) (map[string]treeEntry, error) {
	entries := map[string]treeEntry{}
	for len(data) > 0 {
		head, rest, ok := bytes.Cut(data, []byte{0})
		mode, name, spaced := strings.Cut(string(head), " ")
		if !ok || !spaced || len(rest) < width {
			return nil, fmt.Errorf("tree object is cut short: run git fsck")
		}
		entries[name] = treeEntry{mode: mode, oid: hex.EncodeToString(rest[:width])}
		data = rest[width:]
	}
	return entries, nil
}

// apply makes the new object of a folder and of all below it. An empty folder is none, except at the top.
func (e *treeEditor) apply(ed *edit) (oid string, empty bool) {
	entries := maps.Clone(e.folders[ed.path])
	if entries == nil {
		entries = map[string]treeEntry{}
	}
	for name, f := range ed.files {
		if f.Remove {
			if entries[name].mode != folderMode {
				delete(entries, name)
			}
			continue
		}
		entries[name] = treeEntry{mode: f.Mode, oid: e.content(f)}
	}
	for name, below := range ed.folders {
		e.applyBelow(entries, name, below)
	}
	return e.make(object{kind: "tree", data: formatTree(entries)}), len(entries) == 0
}

// applyBelow puts a changed folder into its parent's entries. Taking files out of what is no folder changes nothing.
func (e *treeEditor) applyBelow(entries map[string]treeEntry, name string, below *edit) {
	oid, empty := e.apply(below)
	old, there := entries[name]
	switch {
	case !empty:
		entries[name] = treeEntry{mode: folderMode, oid: oid}
	case there && old.mode == folderMode:
		delete(entries, name)
	}
}

func (e *treeEditor) content(f placed) string {
	if f.oid != "" {
		return f.oid
	}
	return e.make(object{kind: "blob", data: f.Data})
}

func (e *treeEditor) make(o object) string {
	e.made = append(e.made, o)
	return o.oid(e.digits)
}

// formatTree writes entries in git's order: a folder sorts as if its name ended with a slash.
func formatTree(entries map[string]treeEntry) []byte {
	key := func(name string) string {
		if entries[name].mode == folderMode {
			return name + "/"
		}
		return name
	}
	names := slices.SortedFunc(maps.Keys(entries), func(a, b string) int { return cmp.Compare(key(a), key(b)) })
	var b bytes.Buffer
	for _, name := range names {
		fmt.Fprintf(&b, "%s %s\x00", entries[name].mode, name)
		oid, _ := hex.DecodeString(entries[name].oid)
		b.Write(oid)
	}
	return b.Bytes()
}
