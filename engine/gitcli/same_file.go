package gitcli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ferrox/engine"
	"ferrox/lanes"
)

// checkout is one worktree whose branch is brought along.
type checkout struct {
	repo   *Repo
	dir    string
	gitDir string
}

func (c checkout) git(ctx context.Context, paths []string, args ...string) error {
	_, err := c.repo.run(ctx, call{
		cwd: c.dir, gitDir: c.gitDir, workTree: c.dir, config: []string{"core.fsmonitor=false"},
		args: append(args, "--pathspec-from-file=-", "--pathspec-file-nul"), stdin: []byte(strings.Join(paths, "\x00") + "\x00"),
	})
	return err
}

// takeSame lets a checkout be brought along in which untracked files lie that the new commit brings, byte for byte: a packet
// that was committed as it was found, for one. Git refuses to write over untracked files, the same or not; once they are in
// the index it sees that nothing is lost. A file that differs is a change like any other.
func (c checkout) takeSame(ctx context.Context, next, old lanes.Commit) ([]string, error) {
	changes, err := c.repo.Changed(ctx, old, next)
	if err != nil {
		return nil, err
	}
	var there []string
	for _, ch := range changes {
		if ch.Status != 'A' || ch.Gitlink() {
			continue
		}
		if _, err := os.Lstat(filepath.Join(c.dir, filepath.FromSlash(ch.Path))); err == nil {
			there = append(there, ch.Path)
		}
	}
	if len(there) == 0 {
		return nil, nil
	}
	if err := c.git(ctx, there, "add", "--force"); err != nil {
		return nil, errors.Join(err, c.giveBack(ctx, there))
	}
	out, err := c.repo.run(ctx, call{
		cwd: c.dir, gitDir: c.gitDir, workTree: c.dir,
		args: append([]string{"diff", "--cached", "--name-only", "-z", "--no-renames", string(next), "--"}, there...),
	})
	if err == nil && len(out) > 0 {
		differs, _, _ := strings.Cut(string(out), "\x00")
		err = fmt.Errorf("%s in %s is not committed, and is not what would be written there: %w", differs, c.dir, engine.ErrRefCheckedOut)
	}
	if err != nil {
		return nil, errors.Join(err, c.giveBack(ctx, there))
	}
	return there, nil
}

// giveBack makes files untracked again.
func (c checkout) giveBack(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	return c.git(context.WithoutCancel(ctx), paths, "reset", "--quiet")
}
