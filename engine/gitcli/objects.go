package gitcli

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

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
	objects, err := r.cat(ctx, oids)
	if err != nil {
		return nil, fmt.Errorf("read objects: %w", err)
	}
	blobs := make([][]byte, len(objects))
	for i, o := range objects {
		if o.kind == "" {
			return nil, fmt.Errorf("read objects: %w: %s", engine.ErrNoSuchRevision, oids[i])
		}
		blobs[i] = o.data
	}
	return blobs, nil
}

// object is one object as git stores it.
type object struct {
	kind string // blob, tree, commit or tag; "" when there is no such object
	data []byte
}

// cat reads the named objects. Names begin with an object id, so that what is read of them never changes.
func (r *Repo) cat(ctx context.Context, names []string) ([]object, error) {
	if len(names) == 0 {
		return nil, nil
	}
	return r.objects.read(ctx, r, names)
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

// commitSpec is a commit to make.
type commitSpec struct {
	tree    string
	parents []lanes.Commit
	message string
	at      time.Time
	sign    bool
}

// commitTree makes a commit. Signing is git's, and so is a message that is no UTF-8.
func (r *Repo) commitTree(ctx context.Context, s commitSpec) (lanes.Commit, error) {
	if s.sign || !utf8.ValidString(s.message) || strings.ContainsRune(s.message, 0) {
		return r.gitCommitTree(ctx, s)
	}
	who, err := r.whoCommits(ctx)
	if err != nil {
		return "", err
	}
	c := object{kind: "commit", data: s.bytes(who)}
	return lanes.Commit(c.oid(len(s.tree))), r.write(ctx, []object{c}, len(s.tree))
}

// bytes is the commit as git stores it.
func (s commitSpec) bytes(who persons) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "tree %s\n", s.tree)
	for _, p := range s.parents {
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	at := fmt.Sprintf("%d +0000", s.at.Unix())
	fmt.Fprintf(&b, "author %s %s\ncommitter %s %s\n\n%s\n", who.author, at, who.committer, at, strings.TrimRight(s.message, "\n"))
	return b.Bytes()
}

func (r *Repo) gitCommitTree(ctx context.Context, s commitSpec) (lanes.Commit, error) {
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
	if err != nil && s.sign && ctx.Err() == nil {
		return "", fmt.Errorf("%w: check git's signing settings, or switch runner.sign off: %w", engine.ErrSigning, err)
	}
	return lanes.Commit(strings.TrimSpace(string(out))), err
}
