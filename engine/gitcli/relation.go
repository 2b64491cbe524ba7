package gitcli

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"ferrox/engine"
	"ferrox/lanes"
)

// relation is how two commits stand to each other. It never changes.
type relation struct {
	into, from lanes.Commit
	bases      []lanes.Commit // at least one
	intoTree   string
	fromTree   string
	ours       []diff // what changed from the bases to into; with several bases a change since any counts
	theirs     []diff // what changed from the bases to from
}

// relations keeps the newest ones: a claim is judged and then merged, by the same two commits.
type relations struct {
	mu   sync.Mutex
	last []*relation
}

// keptRelations is about two a lane.
const keptRelations = 16

func (k *relations) find(into, from lanes.Commit) *relation {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, rel := range k.last {
		if rel.into == into && rel.from == from {
			return rel
		}
	}
	return nil
}

func (k *relations) keep(rel *relation) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.last = append(k.last, rel); len(k.last) > keptRelations {
		k.last = k.last[1:]
	}
}

// relate finds out how two commits stand to each other.
func (r *Repo) relate(ctx context.Context, into, from lanes.Commit) (*relation, error) {
	if rel := r.related.find(into, from); rel != nil {
		return rel, nil
	}
	rel, ok := r.relateByLine(ctx, into, from)
	if !ok {
		rel = &relation{into: into, from: from}
		if err := rel.askBases(ctx, r); err != nil {
			return nil, err
		}
		if err := rel.askChanges(ctx, r); err != nil {
			return nil, err
		}
	}
	r.related.keep(rel)
	return rel, nil
}

// askBases reads the merge bases and both trees in one call: "A...B" prints its two ends, then the bases with a caret.
func (rel *relation) askBases(ctx context.Context, r *Repo) error {
	out, err := r.git(ctx, "rev-parse", "--revs-only", string(rel.into)+"..."+string(rel.from),
		string(rel.into)+"^{tree}", string(rel.from)+"^{tree}")
	if err != nil {
		return err
	}
	lines := strings.Fields(string(out))
	if len(lines) < 4 {
		return fmt.Errorf("%w: git knows only %q of them", engine.ErrNoSuchRevision, lines)
	}
	for _, line := range lines[2 : len(lines)-2] {
		rel.bases = append(rel.bases, lanes.Commit(strings.TrimPrefix(line, "^")))
	}
	rel.intoTree, rel.fromTree = lines[len(lines)-2], lines[len(lines)-1]
	if len(rel.bases) == 0 {
		return errNoBase
	}
	return nil
}

// askChanges lists what either side changed since the bases, in one call.
func (rel *relation) askChanges(ctx context.Context, r *Repo) error {
	var pairs strings.Builder
	for _, base := range rel.bases {
		for _, side := range distinct([]lanes.Commit{rel.into, rel.from}) {
			if side != base {
				fmt.Fprintf(&pairs, "%s %s\n", side, base)
			}
		}
	}
	if pairs.Len() == 0 {
		return nil
	}
	out, err := r.run(ctx, call{args: append(rawDiff(), "--stdin"), stdin: []byte(pairs.String())})
	if err != nil {
		return err
	}
	diffs, err := parseRaw(out)
	for _, d := range diffs {
		if d.of == string(rel.into) {
			rel.ours = append(rel.ours, d)
			continue
		}
		rel.theirs = append(rel.theirs, d)
	}
	return err
}

// longLine is how many commits of a lane are followed back; a longer one is git's to measure.
const longLine = 200

// relateByLine does the same without a process, for the usual case: from is a line of commits on top of something that is
// known to be in into. Nothing of that line is in into then, or this process would have put it there. False says nothing.
func (r *Repo) relateByLine(ctx context.Context, into, from lanes.Commit) (*relation, bool) {
	rel := &relation{into: into, from: from}
	at := from
	for range longLine {
		c, err := r.readCommit(ctx, at)
		if err != nil {
			return nil, false
		}
		if at == from {
			rel.fromTree = c.tree
		}
		if at == into || r.landed.contains(into, at) {
			return rel, rel.compare(ctx, r, at, c.tree) == nil
		}
		if len(c.parents) != 1 {
			return nil, false
		}
		at = c.parents[0]
	}
	return nil, false
}

// compare lists what either side changed since the one base.
func (rel *relation) compare(ctx context.Context, r *Repo, base lanes.Commit, tree string) error {
	rel.bases = []lanes.Commit{base}
	c, err := r.readCommit(ctx, rel.into)
	if err != nil {
		return err
	}
	rel.intoTree = c.tree
	if rel.ours, err = r.diffTrees(ctx, tree, rel.intoTree); err != nil {
		return err
	}
	rel.theirs, err = r.diffTrees(ctx, tree, rel.fromTree)
	return err
}
