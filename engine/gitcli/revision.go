package gitcli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ferrox/engine"
	"ferrox/lanes"
)

// Resolve returns the commit that rev names.
func (r *Repo) Resolve(ctx context.Context, rev string) (lanes.Commit, error) {
	if rev == "" || strings.ContainsRune(rev, 0) {
		return "", fmt.Errorf("resolve %q: %w", rev, engine.ErrNoSuchRevision)
	}
	out, code, err := r.exit(ctx, call{
		args: []string{"rev-parse", "--verify", "--quiet", "--end-of-options", rev + "^{commit}"}, okExit: 1,
	})
	if err == nil && code == 0 && isOID(strings.TrimSpace(string(out))) {
		return lanes.Commit(strings.TrimSpace(string(out))), nil
	}
	if err == nil || errors.As(err, new(*engine.GitError)) && isExit(err, 128) {
		return "", fmt.Errorf("resolve %q: %w", rev, engine.ErrNoSuchRevision)
	}
	return "", fmt.Errorf("resolve %q: %w", rev, err)
}

func isExit(err error, code int) bool {
	var g *engine.GitError
	return errors.As(err, &g) && g.Exit == code
}

// IsAncestor reports whether a is reachable from b.
func (r *Repo) IsAncestor(ctx context.Context, a, b lanes.Commit) (bool, error) {
	if err := checkCommits(a, b); err != nil {
		return false, fmt.Errorf("compare commits: %w", err)
	}
	if r.landed.contains(b, a) {
		return true, nil
	}
	_, code, err := r.exit(ctx, call{args: []string{"merge-base", "--is-ancestor", string(a), string(b)}, okExit: 1})
	if err != nil {
		return false, fmt.Errorf("compare %s with %s: %w", a.Short(), b.Short(), err)
	}
	return code == 0, nil
}

// Changed lists what the lane changed since it left base's line. With several merge bases git's best one counts.
func (r *Repo) Changed(ctx context.Context, base, head lanes.Commit) ([]engine.Change, error) {
	if err := checkCommits(base, head); err != nil {
		return nil, fmt.Errorf("list changes: %w", err)
	}
	diffs, err := r.changed(ctx, base, head)
	if err != nil {
		return nil, fmt.Errorf("list changes of %s since %s: %w", head.Short(), base.Short(), err)
	}
	changes := make([]engine.Change, 0, len(diffs))
	for _, d := range diffs {
		changes = append(changes, d.Change)
	}
	return changes, nil
}

func (r *Repo) changed(ctx context.Context, base, head lanes.Commit) ([]diff, error) {
	rel, err := r.relate(ctx, base, head)
	if err != nil {
		return nil, err
	}
	if len(rel.bases) == 1 {
		return rel.theirs, nil
	}
	out, err := r.changedSinceBest(ctx, base, head)
	if err != nil {
		return nil, err
	}
	return parseRaw(out)
}

func (r *Repo) changedSinceBest(ctx context.Context, base, head lanes.Commit) ([]byte, error) {
	out, err := r.git(ctx, "merge-base", string(base), string(head))
	if err != nil {
		return nil, err
	}
	return r.diffTree(ctx, strings.TrimSpace(string(out)), string(head))
}

func (r *Repo) diffTree(ctx context.Context, args ...string) ([]byte, error) {
	return r.git(ctx, append(rawDiff(), args...)...)
}

// rawDiff names submodules whatever .gitmodules says, and a rename as two changes.
func rawDiff() []string {
	return []string{"diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--ignore-submodules=none"}
}

// line is Commits for a line of commits on top of base, without a process; false where it is no such line.
func (r *Repo) line(ctx context.Context, base, head lanes.Commit) ([]engine.CommitInfo, bool) {
	var infos []engine.CommitInfo
	for at := head; at != base; {
		c, err := r.readCommit(ctx, at)
		if err != nil || len(c.parents) != 1 || c.encoded || len(infos) == longLine {
			return nil, false
		}
		infos = append(infos, engine.CommitInfo{OID: at, Subject: c.subject, Body: c.body})
		at = c.parents[0]
	}
	slices.Reverse(infos)
	return infos, true
}

// Commits lists base..head, oldest first.
func (r *Repo) Commits(ctx context.Context, base, head lanes.Commit) ([]engine.CommitInfo, error) {
	if err := checkCommits(base, head); err != nil {
		return nil, fmt.Errorf("list commits: %w", err)
	}
	if line, ok := r.line(ctx, base, head); ok {
		return line, nil
	}
	out, err := r.git(ctx, "log", "-z", "--no-color", "--no-decorate", "--no-notes", "--topo-order", "--reverse",
		"--format=%H%n%s%n%b", string(base)+".."+string(head), "--")
	if err != nil {
		return nil, fmt.Errorf("list commits %s..%s: %w", base.Short(), head.Short(), err)
	}
	var infos []engine.CommitInfo
	for rec := range bytes.SplitSeq(out, []byte{0}) {
		if len(rec) == 0 {
			continue
		}
		oid, rest, _ := strings.Cut(string(rec), "\n")
		subject, body, _ := strings.Cut(rest, "\n")
		infos = append(infos, engine.CommitInfo{OID: lanes.Commit(oid), Subject: subject, Body: body})
	}
	return infos, nil
}
