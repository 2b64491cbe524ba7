package engine

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"ferrox/lanes"
	"ferrox/lanes/packet"
	"ferrox/lanes/settings"
)

// found is one packet as discovered: its files at the base, and what the working tree has instead.
type found struct {
	dir     string
	files   packet.Files // what counts
	changed []File       // what has to be committed first, because it is untracked or differs
	packet  packet.Packet
	issues  []packet.Problem
}

// discovery reads packets at a commit, with the working tree's changes noticed.
type discovery struct {
	e    *Engine
	base lanes.Commit
	tree map[string]TreeEntry // files at the base, by path
	set  settings.Settings
}

// discover finds the packets that the arguments name: a packet folder, a folder of packets, or a list file; without any,
// the roots of the settings.
func (e *Engine) discover(ctx context.Context, base lanes.Commit, paths []string, set settings.Settings) ([]found, error) {
	entries, err := e.Git.Tree(ctx, base, "")
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", base.Short(), err)
	}
	d := discovery{e: e, base: base, tree: map[string]TreeEntry{}, set: set}
	for _, t := range entries {
		d.tree[t.Path] = t
	}
	dirs, err := d.folders(paths)
	if err != nil {
		return nil, err
	}
	all := make([]found, 0, len(dirs))
	for _, dir := range dirs {
		f, err := d.read(ctx, dir)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// folders resolves the arguments to packet folders, sorted, each once.
func (d discovery) folders(paths []string) ([]string, error) {
	if len(paths) == 0 {
		return d.rootFolders()
	}
	var dirs []string
	for _, p := range paths {
		rel, err := d.relative(p)
		if err != nil {
			return nil, err
		}
		more, err := d.expand(rel, p)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, more...)
	}
	sort.Strings(dirs)
	return slices.Compact(dirs), nil
}

// rootFolders looks in the first root that has packets.
func (d discovery) rootFolders() ([]string, error) {
	roots := d.set.Tasks.Roots
	for _, root := range roots {
		if !filepath.IsLocal(root) {
			return nil, refuse(ExitUsage, "bad-settings", "edit "+SettingsFile, "tasks.roots: %q leads out of the repository", root)
		}
		if dirs := d.below(path.Clean(root)); len(dirs) > 0 {
			return dirs, nil
		}
	}
	return nil, refuse(ExitNotFound, "no-packets", "ferrox init", "no task packet is in %s", strings.Join(roots, " or "))
}

// relative turns an argument into a slash path below the repository's root.
func (d discovery) relative(arg string) (string, error) {
	abs := arg
	if !filepath.IsAbs(abs) {
		cwd, err := os.Getwd()
		if err != nil {
			return "", err
		}
		abs = filepath.Join(cwd, arg)
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	root, err := filepath.EvalSymlinks(d.e.Root)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(root, abs)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		if clean := path.Clean(filepath.ToSlash(arg)); d.listed(clean) != nil {
			return clean, nil // called from elsewhere with a path from the root
		}
		return "", refuse(ExitUsage, "usage", "ferrox plan", "%s is not in the repository %s", arg, d.e.Root)
	}
	rel = filepath.ToSlash(rel)
	if _, err := os.Stat(filepath.Join(root, rel)); err != nil && !d.isPacket(rel) && d.below(rel) == nil {
		if clean := path.Clean(filepath.ToSlash(arg)); d.listed(clean) != nil {
			return clean, nil
		}
	}
	return rel, nil
}

// expand reads one argument: a packet, a folder of packets, or a list file.
func (d discovery) expand(rel, arg string) ([]string, error) {
	if path.Base(rel) == packet.PromptName {
		rel = path.Dir(rel)
	}
	if dirs := d.listed(rel); len(dirs) > 0 {
		return dirs, nil
	}
	data, err := os.ReadFile(filepath.Join(d.e.Root, filepath.FromSlash(rel)))
	if err != nil {
		return nil, refuse(ExitNotFound, "no-packets", "ferrox plan", "%s is no packet, no folder of packets and no list file", arg)
	}
	return d.list(rel, data)
}

// list reads a list file: one packet folder or folder of packets a line, # for remarks. Lines are relative to the root, or
// to the list's own folder.
func (d discovery) list(file string, data []byte) ([]string, error) {
	var dirs []string
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff"))
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		more := d.listed(path.Clean(line))
		if more == nil {
			more = d.listed(path.Join(path.Dir(file), line))
		}
		if more == nil {
			return nil, refuse(ExitUsage, "usage", "ferrox plan", "%s:%d: %q is no packet and no folder of packets", file, n, line)
		}
		dirs = append(dirs, more...)
	}
	if err := lines.Err(); err != nil {
		return nil, refuse(ExitUsage, "usage", "ferrox plan", "%s: %v", file, err)
	}
	if len(dirs) == 0 {
		return nil, refuse(ExitNotFound, "no-packets", "ferrox plan", "the list file %s names no packet", file)
	}
	return dirs, nil
}

// listed returns the packet, or the packets right below the folder, that a path from the root names. Nothing above the
// root is looked at.
func (d discovery) listed(rel string) []string {
	if !filepath.IsLocal(rel) {
		return nil
	}
	if d.isPacket(rel) {
		return []string{rel}
	}
	return d.below(rel)
}

// isPacket reports whether a folder has a PROMPT.md, at the base or in the working tree.
func (d discovery) isPacket(rel string) bool {
	file := path.Join(rel, packet.PromptName)
	if _, ok := d.tree[file]; ok {
		return true
	}
	info, err := os.Lstat(filepath.Join(d.e.Root, filepath.FromSlash(file)))
	return err == nil && info.Mode().IsRegular()
}

// below lists the packets right below a folder. A folder named archive, or hidden, is passed over.
func (d discovery) below(root string) []string {
	names := map[string]bool{}
	prefix := root + "/"
	if root == "." {
		prefix = ""
	}
	for p := range d.tree {
		if rest, ok := strings.CutPrefix(p, prefix); ok && path.Base(p) == packet.PromptName && strings.Count(rest, "/") == 1 {
			names[path.Dir(rest)] = true
		}
	}
	if here, err := os.ReadDir(filepath.Join(d.e.Root, filepath.FromSlash(root))); err == nil {
		for _, entry := range here {
			if d.isPacket(path.Join(root, entry.Name())) {
				names[entry.Name()] = true
			}
		}
	}
	var dirs []string
	for name := range names {
		if name != "archive" && !strings.HasPrefix(name, ".") {
			dirs = append(dirs, path.Join(root, name))
		}
	}
	sort.Strings(dirs)
	return dirs
}

// read reads one packet: the version at the base, or the working tree's where that differs.
func (d discovery) read(ctx context.Context, dir string) (found, error) {
	f := found{dir: dir}
	if link := d.symlink(dir); link != "" {
		f.issues = []packet.Problem{{
			Code: codePacketSymlink, Severity: packet.SeverityError, File: dir,
			Message: "reading the packet: " + link + " is a symlink to another folder; name that folder, or move it here",
		}}
		return f, nil
	}
	var paths []string
	for p := range d.tree {
		if strings.HasPrefix(p, dir+"/") {
			paths = append(paths, p)
		}
	}
	sort.Strings(paths)
	oids := make([]string, 0, len(paths))
	for _, p := range paths {
		oids = append(oids, d.tree[p].OID)
	}
	blobs, err := d.e.Git.Blobs(ctx, oids)
	if err != nil {
		return f, fmt.Errorf("read the packet %s: %w", dir, err)
	}
	content := map[string]File{}
	for i, p := range paths {
		content[p] = File{Path: p, Mode: d.tree[p].Mode, Data: blobs[i]}
	}
	if f.changed, err = d.workingTree(dir, content); err != nil {
		return f, err
	}
	for _, c := range f.changed {
		content[c.Path] = c
	}
	f.files = packetFiles(dir, content)
	f.packet, f.issues = packet.Parse(f.files)
	if !f.packet.LevelDeclared {
		f.packet.ReviewLevel = d.set.Tasks.DefaultReviewLevel
	}
	return f, nil
}

// codePacketSymlink is a packet that is read through a symlink. What it leads to may be another packet, or no part of the
// repository.
const codePacketSymlink packet.ProblemCode = "packet-symlink"

// symlink returns the first part of a folder's path that is a symlink in the working tree.
func (d discovery) symlink(dir string) string {
	at := ""
	for part := range strings.SplitSeq(dir, "/") {
		at = path.Join(at, part)
		if info, err := os.Lstat(filepath.Join(d.e.Root, filepath.FromSlash(at))); err == nil && info.Mode()&os.ModeSymlink != 0 {
			return at
		}
	}
	return ""
}

// workingTree returns files of a packet that are untracked or differ, without .DONE and .reviews.
func (d discovery) workingTree(dir string, base map[string]File) ([]File, error) {
	var changed []File
	root := filepath.Join(d.e.Root, filepath.FromSlash(dir))
	err := filepath.WalkDir(root, func(p string, entry fs.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(d.e.Root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		rest := strings.TrimPrefix(rel, dir+"/")
		if entry.IsDir() {
			if rest == packet.ReviewsName || entry.Name() == ".git" {
				return fs.SkipDir
			}
			return nil
		}
		if rest == packet.DoneName {
			return nil
		}
		file, err := readFile(d.e.Root, rel)
		if err != nil {
			return err
		}
		if was, ok := base[rel]; !ok || !bytes.Equal(was.Data, file.Data) || was.Mode != file.Mode {
			changed = append(changed, file)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the packet %s in the working tree: %w", dir, err)
	}
	return changed, nil
}

// packetFiles sorts a packet's files into what the parser wants.
func packetFiles(dir string, content map[string]File) packet.Files {
	f := packet.Files{Dir: dir, Reviews: map[string][]byte{}}
	for p, file := range content {
		rest := strings.TrimPrefix(p, dir+"/")
		switch {
		case rest == packet.PromptName:
			f.Prompt, f.HasPrompt = file.Data, true
		case rest == packet.StatusName:
			f.Status, f.HasStatus = file.Data, true
		case rest == packet.DoneName:
			f.Done, f.HasDone = file.Data, true
		case strings.HasPrefix(rest, packet.ReviewsName+"/"):
			f.Reviews[strings.TrimPrefix(rest, packet.ReviewsName+"/")] = file.Data
		default:
			f.Others = append(f.Others, rest)
		}
	}
	sort.Strings(f.Others)
	return f
}
