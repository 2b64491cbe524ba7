package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ferrox/lanes"
)

// Difference is something that git has and the database does not, or the other way round: a sign of a database that was
// copied without its side file, restored, or lost.
type Difference struct {
	Kind string `json:"kind"` // unknown-branch, unknown-worktree, missing-branch, missing-worktree, unrecorded-merge, missing-merge
	Ref  string `json:"ref"`  // branch, folder or commit
	Text string `json:"text"`
	Next string `json:"next"`
}

func (d Difference) String() string {
	return fmt.Sprintf("%s %s: %s (%s)", d.Kind, d.Ref, d.Text, d.Next)
}

// Differences compares the lanes, branches and merges that the database knows with git's. It changes nothing.
func (e *Engine) Differences(ctx context.Context) ([]Difference, error) {
	d := differing{e: e, known: map[string]bool{}, at: map[string]bool{}, landing: map[lanes.Commit]bool{}}
	for _, step := range []func(context.Context) error{d.askGit, d.compareLanes, d.compareBranches, d.compareWorktrees, d.compareMerges} {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("compare the database with git: %w", err)
		}
	}
	return d.found, nil
}

// differing is one comparison under way. What git has is in memory; the lanes of the database pass by.
type differing struct {
	e         *Engine
	there     map[string]lanes.Commit
	worktrees []Worktree
	batches   []lanes.Batch
	known     map[string]bool       // branches that are there, and that the database knows
	at        map[string]bool       // folders of worktrees that are there, and that the database knows
	missing   []string              // branches that the database knows, and that ought to be there
	landing   map[lanes.Commit]bool // merges that recovery knows of
	found     []Difference
}

func (d *differing) add(kind, ref, next, format string, args ...any) {
	d.found = append(d.found, Difference{Kind: kind, Ref: ref, Next: next, Text: fmt.Sprintf(format, args...)})
}

func (d *differing) askGit(ctx context.Context) (err error) {
	if d.there, err = d.e.Git.BranchesUnder(ctx, "ferrox"); err != nil {
		return err
	}
	d.worktrees, err = d.e.Git.Worktrees(ctx)
	for _, w := range d.worktrees {
		d.at[w.Dir] = false
	}
	return err
}

func (d *differing) compareLanes(ctx context.Context) error {
	return d.e.Store.View(ctx, func(r Reader) (err error) {
		if d.batches, err = r.Batches(ctx); err != nil {
			return err
		}
		for _, b := range d.batches {
			if err := d.compareBatch(ctx, r, b.ID, b.Integration); err != nil {
				return err
			}
		}
		return nil
	})
}

// lanesAtOnce is how many lanes are in memory at once.
const lanesAtOnce = 500

func (d *differing) compareBatch(ctx context.Context, r Reader, batch lanes.BatchID, integration string) error {
	pending, err := r.Effects(ctx, batch, true)
	if err != nil {
		return err
	}
	for _, f := range pending {
		var i landIntent
		if f.Kind == lanes.EffectLand && json.Unmarshal([]byte(f.Payload), &i) == nil {
			d.landing[i.New] = true
		}
	}
	removals, err := r.EffectsOf(ctx, batch, lanes.EffectRemove)
	if err != nil {
		return err
	}
	removed := map[lanes.Number]bool{} // by `clean`; lane 0 is the integration branch
	for _, f := range removals {
		removed[f.Lane] = removed[f.Lane] || f.State == lanes.EffectDone
	}
	d.compare(lanes.Lane{Branch: integration}, removed)
	for last := lanes.Number(0); ; {
		rows, err := r.LanesAfter(ctx, batch, last, lanesAtOnce)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, l := range rows {
			d.compare(l, removed)
			last = l.Number
		}
	}
}

// compare looks for a lane's branch and worktree among those that are there.
func (d *differing) compare(l lanes.Lane, removed map[lanes.Number]bool) {
	if _, there := d.at[l.Worktree]; there {
		d.at[l.Worktree] = true
	}
	if _, there := d.there[l.Branch]; there {
		d.known[l.Branch] = true
	} else if !removed[l.Number] && (l.Number == 0 || d.worked(l)) {
		d.missing = append(d.missing, l.Branch)
	}
}

// worked reports whether a lane's worktree was ever made: its record comes first.
func (d *differing) worked(l lanes.Lane) bool {
	_, err := os.Lstat(l.Worktree)
	return err == nil || l.Head != l.Base
}

func (d *differing) compareBranches(context.Context) error {
	for _, name := range sortedKeys(d.there) {
		if !d.known[name] {
			d.add("unknown-branch", name, "git log "+name, "the database knows no such lane or batch")
		}
	}
	slices.Sort(d.missing)
	for _, name := range d.missing {
		d.add("missing-branch", name, "git reflog", "the database knows it, git does not")
	}
	return nil
}

func (d *differing) compareWorktrees(context.Context) error {
	var roots []string
	for _, b := range d.batches {
		roots = append(roots, b.LanesDir)
	}
	for _, w := range d.worktrees {
		known := d.known[w.Branch] || d.at[w.Dir]
		scratch := slices.Contains(roots, filepath.Dir(w.Dir)) && filepath.Base(w.Dir) == "verify"
		ours := strings.HasPrefix(w.Branch, "ferrox/") || slices.Contains(roots, filepath.Dir(w.Dir))
		switch {
		case ours && w.Prunable:
			d.add("missing-worktree", w.Dir, "ferrox resume, or git worktree prune", "it is registered, its folder is gone")
		case ours && !known && !scratch:
			d.add("unknown-worktree", w.Dir, "git -C "+w.Dir+" status", "the database knows no lane there")
		}
	}
	return nil
}

// compareMerges looks at what each integration branch has beyond what the database recorded last.
func (d *differing) compareMerges(ctx context.Context) error {
	for _, b := range d.batches {
		head := d.there[b.Integration]
		if head == "" || head == b.Head {
			continue
		}
		if in, err := d.e.Git.IsAncestor(ctx, b.Head, head); err != nil || !in {
			d.add("missing-merge", string(b.Head), "git log "+b.Integration, "the database says that %s is at it, git has it at %s", b.Integration, head.Short())
			continue
		}
		commits, err := d.e.Git.Commits(ctx, b.Head, head)
		if err != nil {
			return err
		}
		for _, c := range commits {
			if _, task, ok := strings.Cut(c.Body, "Ferrox-Task: "); ok && !d.landing[c.OID] {
				d.add("unrecorded-merge", string(c.OID), "git show "+c.OID.Short(), "%s landed in %s, the database does not know of it", firstLine(strings.SplitN(task, "\n", 2)[0]), b.Integration)
			}
		}
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// differenceNotes tells whoever resumes what the database does not know of. It stands in nobody's way.
func (e *Engine) differenceNotes(ctx context.Context) (notes []string) {
	found, err := e.Differences(ctx)
	if err != nil {
		return []string{"warning: " + err.Error()}
	}
	for _, d := range found {
		notes = append(notes, "warning: "+d.String())
	}
	return notes
}
