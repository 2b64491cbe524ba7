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
	d := differing{e: e, branches: map[string]lanes.Lane{}, removed: map[string]bool{}, landing: map[lanes.Commit]bool{}}
	if err := d.load(ctx); err != nil {
		return nil, fmt.Errorf("compare the database with git: %w", err)
	}
	for _, step := range []func(context.Context) error{d.compareBranches, d.compareWorktrees, d.compareMerges} {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("compare the database with git: %w", err)
		}
	}
	return d.found, nil
}

// differing is one comparison under way.
type differing struct {
	e        *Engine
	batches  []lanes.Batch
	branches map[string]lanes.Lane // every branch that the database knows; integration branches have lane 0
	removed  map[string]bool       // branches that `clean` took away
	landing  map[lanes.Commit]bool // merges that recovery knows of
	there    map[string]lanes.Commit
	found    []Difference
}

func (d *differing) add(kind, ref, next, format string, args ...any) {
	d.found = append(d.found, Difference{Kind: kind, Ref: ref, Next: next, Text: fmt.Sprintf(format, args...)})
}

func (d *differing) load(ctx context.Context) error {
	return d.e.Store.View(ctx, func(r Reader) (err error) {
		if d.batches, err = r.Batches(ctx); err != nil {
			return err
		}
		for _, b := range d.batches {
			d.branches[b.Integration] = lanes.Lane{Batch: b.ID, Branch: b.Integration}
			rows, err := r.Lanes(ctx, b.ID)
			if err != nil {
				return err
			}
			for _, l := range rows {
				d.branches[l.Branch] = l
			}
			effects, err := r.Effects(ctx, b.ID, false)
			if err != nil {
				return err
			}
			for _, f := range effects {
				if f.Kind == lanes.EffectRemove && f.State == lanes.EffectDone {
					d.removed[d.branchOf(b, rows, f.Lane)] = true
				}
				var i landIntent
				if f.Kind == lanes.EffectLand && f.State == lanes.EffectPending && json.Unmarshal([]byte(f.Payload), &i) == nil {
					d.landing[i.New] = true
				}
			}
		}
		return nil
	})
}

func (d *differing) branchOf(b lanes.Batch, rows []lanes.Lane, n lanes.Number) string {
	for _, l := range rows {
		if l.Number == n {
			return l.Branch
		}
	}
	return b.Integration
}

func (d *differing) compareBranches(ctx context.Context) error {
	var err error
	if d.there, err = d.e.Git.BranchesUnder(ctx, "ferrox"); err != nil {
		return err
	}
	for _, name := range sortedKeys(d.there) {
		if _, known := d.branches[name]; !known {
			d.add("unknown-branch", name, "git log "+name, "the database knows no such lane or batch")
		}
	}
	for _, name := range sortedKeys(d.branches) {
		l := d.branches[name]
		if _, ok := d.there[name]; !ok && !d.removed[name] && (l.Number == 0 || d.worked(l)) {
			d.add("missing-branch", name, "git reflog", "the database knows it, git does not")
		}
	}
	return nil
}

// worked reports whether a lane's worktree was ever made: its record comes first.
func (d *differing) worked(l lanes.Lane) bool {
	_, err := os.Lstat(l.Worktree)
	return err == nil || l.Head != l.Base
}

func (d *differing) compareWorktrees(ctx context.Context) error {
	list, err := d.e.Git.Worktrees(ctx)
	if err != nil {
		return err
	}
	var roots []string
	for _, b := range d.batches {
		roots = append(roots, b.LanesDir)
	}
	for _, w := range list {
		_, named := d.branches[w.Branch]
		known := named || slices.ContainsFunc(sortedKeys(d.branches), func(name string) bool { return d.branches[name].Worktree == w.Dir })
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
