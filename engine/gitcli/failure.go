package gitcli

import (
	"errors"
	"strings"

	"ferrox/engine"
)

// phrases tells git's messages apart (LC_ALL=C, 2.39). The first that fits wins, so a lock in the way goes before the
// ref that could not be locked because of it.
var phrases = [...]struct {
	all []string
	err error
}{
	{[]string{"Unable to create '", ".lock': File exists"}, engine.ErrGitLocked},
	{[]string{"could not lock config file"}, engine.ErrGitLocked},
	{[]string{"failed to read ", "/commondir"}, errHalfMade},
	{[]string{"cannot lock ref", "already exists"}, engine.ErrRefExists},
	{[]string{"cannot lock ref", "exists; cannot create"}, engine.ErrRefExists},
	{[]string{"a branch named", "already exists"}, engine.ErrRefExists},
	{[]string{"cannot lock ref", "but expected"}, engine.ErrRefMoved},
	{[]string{"cannot lock ref", "unable to resolve reference"}, engine.ErrRefMoved},
	{[]string{"cannot lock ref", "reference is missing"}, engine.ErrRefMoved},
	{[]string{"locked working tree"}, engine.ErrWorktreeLocked},
	{[]string{"missing but locked worktree"}, engine.ErrWorktreeLocked},
	{[]string{"is already checked out at"}, engine.ErrRefCheckedOut},
	{[]string{"failed to sign"}, engine.ErrSigning},
	{[]string{"detected dubious ownership"}, engine.ErrUntrusted},
	{[]string{"not a git repository"}, engine.ErrNotRepository},
	{[]string{"bad revision"}, engine.ErrNoSuchRevision},
	{[]string{"unknown revision"}, engine.ErrNoSuchRevision},
	{[]string{"bad object"}, engine.ErrNoSuchRevision},
	{[]string{"ot a valid object name"}, engine.ErrNoSuchRevision},
	{[]string{"ot a valid commit name"}, engine.ErrNoSuchRevision},
	{[]string{"not something we can merge"}, engine.ErrNoSuchRevision},
	{[]string{"Needed a single revision"}, engine.ErrNoSuchRevision},
	{[]string{"trying to write ref", "nonexistent object"}, engine.ErrNoSuchRevision},
}

// classify returns the typed error that git's message stands for, nil when it is none of them.
func classify(stderr string) error {
	for _, p := range phrases {
		if containsAll(stderr, p.all) {
			return p.err
		}
	}
	return nil
}

func containsAll(s string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(s, part) {
			return false
		}
	}
	return true
}

// notRepository marks a failure to look at a folder as "no repository here", unless the call itself was cut short.
func notRepository(err error) error {
	var g *engine.GitError
	if !errors.As(err, &g) || errors.Is(err, engine.ErrGitTimeout) || errors.Is(err, engine.ErrNotRepository) || errors.Is(err, engine.ErrUntrusted) {
		return err
	}
	if g.Exit == 128 || g.Exit == -1 && strings.Contains(g.Error(), "no such file") {
		return errors.Join(engine.ErrNotRepository, err)
	}
	return err
}
