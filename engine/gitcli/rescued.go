package gitcli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"ferrox/engine"
	"ferrox/lanes"
)

// indexOf begins the message of the commit that holds an index.
const indexOf = "index of "

// RescueCommit puts a head that no worktree stands on under a ref, in the form that Rescue has.
func (r *Repo) RescueCommit(ctx context.Context, head lanes.Commit, ref, message string, at time.Time) (engine.Rescue, error) {
	if err := errors.Join(checkRescue(ref), checkCommits(head)); err != nil {
		return engine.Rescue{}, err
	}
	out, err := r.git(ctx, "rev-parse", "--verify", "--end-of-options", string(head)+"^{tree}")
	if err != nil {
		return engine.Rescue{}, fmt.Errorf("rescue %s: %w", head.Short(), err)
	}
	got := engine.Rescue{Ref: ref}
	s := &rescue{repo: r, message: message, at: at}
	got.Commit, err = r.commitTree(ctx, commitSpec{tree: strings.TrimSpace(string(out)), parents: []lanes.Commit{head}, message: s.text(), at: at})
	if err == nil {
		err = s.publish(ctx, ref, "", got.Commit)
	}
	if err != nil {
		return engine.Rescue{}, fmt.Errorf("rescue %s: %w", head.Short(), err)
	}
	return got, nil
}

// Rescues lists all rescues by name.
func (r *Repo) Rescues(ctx context.Context) ([]engine.Rescue, error) {
	out, err := r.git(ctx, "for-each-ref", "--format=%(refname)", rescues)
	if err != nil {
		return nil, fmt.Errorf("list rescues: %w", err)
	}
	list := []engine.Rescue{}
	for ref := range strings.FieldsSeq(string(out)) {
		got, err := r.readRescue(ctx, ref)
		if err != nil {
			return nil, err
		}
		list = append(list, got)
	}
	return list, nil
}

// readRescue reads what a rescue ref holds.
func (r *Repo) readRescue(ctx context.Context, ref string) (engine.Rescue, error) {
	got := engine.Rescue{Ref: ref}
	var parents []lanes.Commit
	var err error
	if got.Commit, parents, got.At, got.Message, err = r.commitFields(ctx, ref); err != nil {
		return got, fmt.Errorf("read rescue %s: %w", ref, err)
	}
	if len(parents) == 0 {
		return got, fmt.Errorf("read rescue %s: %w: it has no head to stand on", ref, engine.ErrNoSuchRevision)
	}
	got.Head = parents[0]
	if len(parents) > 1 {
		index, _, _, message, err := r.commitFields(ctx, string(parents[1]))
		if err != nil {
			return got, fmt.Errorf("read rescue %s: %w", ref, err)
		}
		if strings.HasPrefix(message, indexOf) {
			got.Index = index
		}
	}
	out, err := r.git(ctx, "diff-tree", "-r", "-z", "--no-renames", "--name-only", string(got.Head), string(got.Commit), "--")
	if err != nil {
		return got, fmt.Errorf("read rescue %s: %w", ref, err)
	}
	got.Files = strings.FieldsFunc(string(out), func(c rune) bool { return c == 0 })
	return got, nil
}

func (r *Repo) commitFields(ctx context.Context, rev string) (c lanes.Commit, parents []lanes.Commit, at time.Time, message string, err error) {
	out, err := r.git(ctx, "show", "-s", "--no-patch", "--format=%H%x00%P%x00%cI%x00%B", "--end-of-options", rev+"^{commit}")
	if err != nil {
		return "", nil, at, "", err
	}
	f := strings.SplitN(string(out), "\x00", 4)
	if len(f) != 4 || !isOID(f[0]) {
		return "", nil, at, "", fmt.Errorf("%w: git's answer about %s is not understood", engine.ErrNoSuchRevision, rev)
	}
	for p := range strings.FieldsSeq(f[1]) {
		parents = append(parents, lanes.Commit(p))
	}
	at, err = time.Parse(time.RFC3339, f[2])
	return lanes.Commit(f[0]), parents, at.UTC(), strings.TrimRight(f[3], "\n"), err
}

// RestoreRescue makes a worktree that is as the rescued one was. A failure takes everything back.
func (r *Repo) RestoreRescue(ctx context.Context, ref, dir, branch string) (engine.Rescue, error) {
	if err := errors.Join(checkRescue(ref), checkBranch(branch), checkDir(dir)); err != nil {
		return engine.Rescue{}, err
	}
	got, err := r.readRescue(ctx, ref)
	if err != nil {
		return got, err
	}
	if err := r.restorable(ctx, dir, branch); err != nil {
		return got, fmt.Errorf("restore %s: %w", ref, err)
	}
	if err := r.AddWorktree(ctx, dir, branch, got.Head); err != nil {
		return got, fmt.Errorf("restore %s: %w", ref, err)
	}
	if err := r.fill(ctx, dir, got); err != nil {
		return got, errors.Join(fmt.Errorf("restore %s: %w", ref, err), r.rollBack(context.WithoutCancel(ctx), dir, branch, got.Head))
	}
	return got, nil
}

// restorable refuses to write over anything: a restored worktree is always a new one.
func (r *Repo) restorable(ctx context.Context, dir, branch string) error {
	info, err := r.Branch(ctx, branch)
	if err != nil {
		return err
	}
	if info.Head != "" {
		return fmt.Errorf("%w: %s: rename or delete it first", engine.ErrRefExists, branch)
	}
	if _, err := os.Lstat(dir); err == nil && !emptyDir(dir) {
		return fmt.Errorf("%s is there and not empty: choose another folder", dir)
	}
	if _, found, err := r.registered(ctx, dir); err != nil || found {
		return errors.Join(err, fmt.Errorf("%s is registered as a worktree: choose another folder", dir))
	}
	return nil
}

// fill writes the rescued files, then brings the index alone to where it stood.
func (r *Repo) fill(ctx context.Context, dir string, got engine.Rescue) error {
	gitDir, err := r.locate(dir)
	if err != nil {
		return err
	}
	index := got.Index
	if index == "" {
		index = got.Head
	}
	for _, args := range [][]string{{"read-tree", "-m", "-u", string(got.Commit)}, {"read-tree", string(index)}} {
		if _, err := r.run(ctx, call{cwd: dir, gitDir: gitDir, workTree: dir, args: args}); err != nil {
			return err
		}
	}
	_, err = r.run(ctx, call{cwd: dir, gitDir: gitDir, workTree: dir, args: []string{"update-index", "-q", "--refresh"}, okExit: 1})
	return err // exit 1 only says that something differs, as it should
}
