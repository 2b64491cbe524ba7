package gitcli

import (
	"context"
	"fmt"
	"strings"

	"ferrox/engine"
	"ferrox/lanes"
)

// spool is the folder in a worktree through which a worker without sockets talks to its shim.
const spool = ".ferrox/"

// statusEntry is one entry with the facts that only a rescue needs.
type statusEntry struct {
	engine.StatusEntry
	staged  bool // the index differs from HEAD, or holds a conflict
	inside  bool // a submodule with commits or changes inside it, which no tree of this repository can hold
	ignored bool
}

type worktreeStatus struct {
	branch  string
	head    lanes.Commit
	entries []statusEntry
}

// Status looks at one worktree.
func (r *Repo) Status(ctx context.Context, dir string) (engine.WorktreeStatus, error) {
	gitDir, err := r.locate(dir)
	if err != nil {
		return engine.WorktreeStatus{}, err
	}
	s, err := r.status(ctx, gitDir, dir, "--ignored=no")
	if err != nil {
		return engine.WorktreeStatus{}, fmt.Errorf("look at worktree %s: %w", dir, err)
	}
	return s.public(), nil
}

// public is what the engine is told of it.
func (s worktreeStatus) public() engine.WorktreeStatus {
	ws := engine.WorktreeStatus{Branch: s.branch, Head: s.head}
	for _, e := range s.entries {
		ws.Entries = append(ws.Entries, e.StatusEntry)
	}
	return ws
}

func (r *Repo) status(ctx context.Context, gitDir, dir, ignored string) (worktreeStatus, error) {
	out, err := r.run(ctx, call{
		cwd: dir, gitDir: gitDir, workTree: dir,
		args: []string{
			"status", "--porcelain=v2", "-z", "--branch", "--no-ahead-behind", "--untracked-files=all",
			"--ignore-submodules=none", "--no-renames", ignored,
		},
	})
	if err != nil {
		return worktreeStatus{}, err
	}
	return parseStatus(string(out))
}

func parseStatus(out string) (worktreeStatus, error) {
	var s worktreeStatus
	for line := range strings.SplitSeq(out, "\x00") {
		if line == "" {
			continue
		}
		if header, ok := strings.CutPrefix(line, "# "); ok {
			s.header(header)
			continue
		}
		e, err := parseEntry(line)
		if err != nil {
			return worktreeStatus{}, err
		}
		if e.Code == "??" && strings.HasPrefix(e.Path, spool) {
			continue // ours, never counted
		}
		s.entries = append(s.entries, e)
	}
	return s, nil
}

func (s *worktreeStatus) header(line string) {
	key, value, _ := strings.Cut(line, " ")
	switch {
	case key == "branch.oid" && value != "(initial)":
		s.head = lanes.Commit(value)
	case key == "branch.head" && value != "(detached)":
		s.branch = value
	}
}

// parseEntry reads "1 XY sub mH mI mW hH hI path", "u XY sub m1 m2 m3 mW h1 h2 h3 path", "? path" and "! path". Renames
// are switched off, so there is no "2".
func parseEntry(line string) (statusEntry, error) {
	fields := map[byte]int{'1': 9, 'u': 11, '?': 2, '!': 2}[line[0]]
	f := strings.SplitN(line, " ", max(fields, 1))
	if fields == 0 || len(f) != fields {
		return statusEntry{}, fmt.Errorf("read git's status: %q is not understood; is this git older than 2.38?", line)
	}
	e := statusEntry{StatusEntry: engine.StatusEntry{Path: f[fields-1], Code: line[:1] + line[:1]}}
	e.ignored = line[0] == '!'
	if fields > 2 {
		e.Code = f[1]
		e.Submodule = strings.HasPrefix(f[2], "S")
		e.staged = line[0] == 'u' || f[1][0] != '.'
		e.inside = e.Submodule && strings.ContainsAny(f[2], "CMU")
	}
	return e, nil
}
