package hook

import (
	"context"
	"fmt"
	"slices"

	"ferrox/gates/guard"
)

// maxRounds bounds how often a line is read again because it acts in folders not looked at yet.
const maxRounds = 4

// maxFolders bounds the folders that one line may make the hook look at. Those beyond it count as unreadable.
const maxFolders = 12

// lookup reads command lines with the facts that they turn out to need.
type lookup struct {
	ctx       context.Context
	deps      Deps
	cwd       string
	env       []string
	protected []string
	facts     map[string]guard.Facts
}

// line returns what a command line would merge or ship. The first reading is without facts: most lines need none, and then
// no git runs.
func (l *lookup) line(command string) ([]guard.Finding, error) {
	r, err := guard.Check(command, l.cwd, nil)
	if err != nil {
		return nil, err
	}
	for range maxRounds {
		if len(r.Missing) == 0 {
			break
		}
		if err := l.load(r.Missing); err != nil {
			return nil, err
		}
		if r, err = guard.Check(command, l.cwd, l.facts); err != nil {
			return nil, err
		}
	}
	return r.Findings, nil
}

// load reads the facts of folders. One that cannot be read has none, and the guard fails closed on it.
func (l *lookup) load(dirs []string) error {
	if l.facts == nil {
		p, err := l.deps.Protected(l.cwd)
		if err != nil {
			return fmt.Errorf("read the protected branches: %w", err)
		}
		l.protected = append(slices.Clone(p), alwaysProtected[:]...)
		l.facts = map[string]guard.Facts{}
	}
	for _, d := range dirs {
		if len(l.facts) >= maxFolders {
			return nil
		}
		f, err := l.deps.Repository.Facts(l.ctx, d, l.env)
		if err != nil {
			f = guard.Facts{}
		}
		f.Protected = l.protected
		l.facts[d] = f
	}
	return nil
}
