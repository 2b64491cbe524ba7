package gitcli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"ferrox/engine"
	"ferrox/lanes"
)

// Tree lists the files of a commit at or below prefix ("" for all), submodules included.
func (r *Repo) Tree(ctx context.Context, at lanes.Commit, prefix string) ([]engine.TreeEntry, error) {
	if err := checkCommits(at); err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	args := []string{"ls-tree", "-r", "-z", "--full-tree", string(at), "--"}
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		args = append(args, prefix)
	}
	out, err := r.git(ctx, args...)
	if err != nil {
		return nil, fmt.Errorf("list files of %s: %w", at.Short(), err)
	}
	var entries []engine.TreeEntry
	for line := range strings.SplitSeq(string(out), "\x00") {
		meta, path, ok := strings.Cut(line, "\t")
		f := strings.Fields(meta)
		if !ok || len(f) != 3 {
			continue
		}
		entries = append(entries, engine.TreeEntry{Path: path, Mode: f[0], OID: f[2]})
	}
	return entries, nil
}

// Blobs reads objects by id, in order.
func (r *Repo) Blobs(ctx context.Context, oids []string) ([][]byte, error) {
	for _, oid := range oids {
		if !isOID(oid) {
			return nil, fmt.Errorf("read objects: %w: %q is not a full object id", engine.ErrNoSuchRevision, oid)
		}
	}
	blobs, err := r.cat(ctx, oids)
	if err != nil {
		return nil, fmt.Errorf("read objects: %w", err)
	}
	for i, b := range blobs {
		if b == nil {
			return nil, fmt.Errorf("read objects: %w: %s", engine.ErrNoSuchRevision, oids[i])
		}
	}
	return blobs, nil
}

// cat reads the named objects, nil for one that is not there.
func (r *Repo) cat(ctx context.Context, names []string) ([][]byte, error) {
	if len(names) == 0 {
		return nil, nil
	}
	out, err := r.run(ctx, call{args: []string{"cat-file", "--batch", "-z"}, stdin: []byte(strings.Join(names, "\x00") + "\x00")})
	if err != nil {
		return nil, err
	}
	blobs := make([][]byte, len(names))
	for i, name := range names {
		if blobs[i], out, err = nextObject(out, name); err != nil {
			return nil, err
		}
	}
	return blobs, nil
}

// nextObject takes one answer of cat-file off the front: "<name> missing", or "<oid> <type> <size>" and the content.
func nextObject(out []byte, name string) (data, rest []byte, err error) {
	if rest, ok := bytes.CutPrefix(out, []byte(name+" missing\n")); ok {
		return nil, rest, nil
	}
	header, rest, _ := bytes.Cut(out, []byte("\n"))
	f := strings.Fields(string(header))
	if len(f) == 3 {
		if size, err := strconv.Atoi(f[2]); err == nil && size < len(rest) {
			return rest[:size:size], rest[size+1:], nil
		}
	}
	return nil, nil, fmt.Errorf("read object %q: git's answer %q is not understood", name, header)
}

// CommitFiles makes a commit on top of parent with files put in.
func (r *Repo) CommitFiles(ctx context.Context, parent lanes.Commit, files []engine.File, message string, at time.Time, sign bool) (lanes.Commit, error) {
	if err := checkCommits(parent); err != nil {
		return "", fmt.Errorf("commit files: %w", err)
	}
	tree, err := r.put(ctx, string(parent)+"^{tree}", files)
	if err != nil {
		return "", fmt.Errorf("commit files on %s: %w", parent.Short(), err)
	}
	commit, err := r.commitTree(ctx, commitSpec{tree: tree, parents: []lanes.Commit{parent}, message: message, at: at, sign: sign})
	if err != nil {
		return "", fmt.Errorf("commit files on %s: %w", parent.Short(), err)
	}
	return commit, nil
}

// put returns the tree with files put in, through an index of its own.
func (r *Repo) put(ctx context.Context, tree string, files []engine.File) (string, error) {
	if err := checkFiles(files); err != nil {
		return "", err
	}
	scratch, err := os.MkdirTemp("", "ferrox-index-")
	if err != nil {
		return "", fmt.Errorf("make a scratch folder: %w", err)
	}
	defer os.RemoveAll(scratch)

	oids, err := r.hash(ctx, scratch, files)
	if err != nil {
		return "", err
	}
	index := filepath.Join(scratch, "index")
	if _, err := r.run(ctx, call{args: []string{"read-tree", tree}, index: index}); err != nil {
		return "", err
	}
	_, err = r.run(ctx, call{args: []string{"update-index", "-z", "--index-info"}, index: index, stdin: indexInfo(files, oids, width(tree))})
	if err != nil {
		return "", err
	}
	return r.writeTree(ctx, index)
}

func (r *Repo) writeTree(ctx context.Context, index string) (string, error) {
	out, err := r.run(ctx, call{args: []string{"write-tree"}, index: index})
	return strings.TrimSpace(string(out)), err
}

// hash writes the contents as blobs, all in one call, and returns their ids; "" for a file to remove.
func (r *Repo) hash(ctx context.Context, scratch string, files []engine.File) ([]string, error) {
	var names []string
	for i, f := range files {
		if f.Remove {
			continue
		}
		name := filepath.Join(scratch, strconv.Itoa(i))
		if err := os.WriteFile(name, f.Data, 0o600); err != nil {
			return nil, fmt.Errorf("write %s to a scratch folder: %w", f.Path, err)
		}
		names = append(names, name)
	}
	oids := make([]string, len(files))
	if len(names) == 0 {
		return oids, nil
	}
	out, err := r.run(ctx, call{
		args: []string{"hash-object", "-w", "--no-filters", "--stdin-paths"}, stdin: []byte(strings.Join(names, "\n") + "\n"),
	})
	if err != nil {
		return nil, err
	}
	written := strings.Fields(string(out))
	if len(written) != len(names) {
		return nil, fmt.Errorf("write objects: git wrote %d of %d", len(written), len(names))
	}
	for i, f := range files {
		if !f.Remove {
			oids[i], written = written[0], written[1:]
		}
	}
	return oids, nil
}

// width is the length of an object id where tree comes from: "<oid>" or "<oid>^{tree}".
func width(tree string) int {
	oid, _, _ := strings.Cut(tree, "^")
	return len(oid)
}

func indexInfo(files []engine.File, oids []string, width int) []byte {
	var b bytes.Buffer
	for i, f := range files {
		if f.Remove {
			fmt.Fprintf(&b, "0 %s\t%s\x00", strings.Repeat("0", width), f.Path)
			continue
		}
		fmt.Fprintf(&b, "%s %s\t%s\x00", f.Mode, oids[i], f.Path)
	}
	return b.Bytes()
}

// commitSpec is a commit to make.
type commitSpec struct {
	tree    string
	parents []lanes.Commit
	message string
	at      time.Time
	sign    bool
}

func (r *Repo) commitTree(ctx context.Context, s commitSpec) (lanes.Commit, error) {
	env, err := r.identity(ctx, s.at)
	if err != nil {
		return "", err
	}
	args := []string{"commit-tree"}
	c := call{env: env, stdin: []byte(strings.TrimRight(s.message, "\n") + "\n")}
	if s.sign {
		args, c.limit = append(args, "-S"), r.signLimit
	}
	for _, p := range s.parents {
		args = append(args, "-p", string(p))
	}
	c.args = append(args, "-F", "-", s.tree)
	out, err := r.run(ctx, c)
	if err != nil && s.sign {
		return "", fmt.Errorf("%w: check git's signing settings, or switch runner.sign off: %w", engine.ErrSigning, err)
	}
	return lanes.Commit(strings.TrimSpace(string(out))), err
}
