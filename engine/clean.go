package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"ferrox/engine/crash"
	"ferrox/lanes"
)

// CleanOptions says what to clean.
type CleanOptions struct {
	Batch     lanes.BatchID
	RequestID string
}

// Cleaned says what `ferrox clean` did with a batch. Nothing that it removed was held by nothing else.
type Cleaned struct {
	Batch   lanes.BatchID `json:"batch"`
	Removed []Removed     `json:"removed"`
	Kept    []Kept        `json:"kept"`
	Rescued []Rescued     `json:"rescued"`
	Runs    string        `json:"runs"` // folder of the runs' output, which is kept as evidence
}

// Removed is a lane, or the integration branch, that is gone.
type Removed struct {
	Lane     lanes.Number `json:"lane,omitempty"`
	Worktree string       `json:"worktree,omitempty"`
	Branch   string       `json:"branch"`
	Head     lanes.Commit `json:"head,omitempty"`
}

// Kept is a lane, or the integration branch, that stays.
type Kept struct {
	Lane     lanes.Number   `json:"lane,omitempty"`
	Worktree string         `json:"worktree,omitempty"`
	Branch   string         `json:"branch"`
	Reasons  []lanes.Reason `json:"reasons"`
}

// Rescued is what was put under a ref before a lane was removed.
type Rescued struct {
	Lane    lanes.Number `json:"lane"`
	Ref     string       `json:"ref"`
	Commit  lanes.Commit `json:"commit"`
	Files   []string     `json:"files"`   // untracked files taken in
	Ignored []string     `json:"ignored"` // ignored files, listed and not taken
}

// cleaning is one clean under way.
type cleaning struct {
	*owner
	batch  lanes.Batch
	target lanes.Commit // what landed work is reachable from: the integration head, else the base branch's
	out    Cleaned
}

// Clean removes the worktrees and branches of an ended batch, and nothing of any other. Work that is not in the
// integration branch is put under a rescue ref first. Whatever the predicate refuses stays, with its reasons. What a crash
// cut short is repeated by the next call.
func (e *Engine) Clean(ctx context.Context, opts CleanOptions) (out Cleaned, err error) {
	repeated := false
	err = e.Store.View(ctx, func(r Reader) (err error) {
		if repeated, err = once(ctx, r, opts.RequestID, &out); repeated || err != nil {
			return err
		}
		_, err = batchOf(ctx, r, opts.Batch)
		return err
	})
	if repeated || err != nil {
		return out, err
	}
	o, err := e.own(ctx, opts.Batch)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, o.release(ctx, "cleaned "+string(opts.Batch))) }()
	b, err := o.BatchOf(ctx, opts.Batch)
	if err != nil {
		return out, err
	}
	if !b.Phase.Ended() {
		return out, refuse(ExitRefused, string(lanes.CodeStateForbids), "ferrox resume "+string(b.ID)+", or ferrox abort "+string(b.ID)+" --why TEXT",
			"batch %s is %s: only a batch that has ended is cleaned", b.ID, b.Phase)
	}
	c := &cleaning{owner: o, batch: b, out: Cleaned{
		Batch: b.ID, Removed: []Removed{}, Kept: []Kept{}, Rescued: []Rescued{}, Runs: filepath.Join(o.Home, "runs", string(b.ID)),
	}}
	if err := c.all(ctx); err != nil {
		return c.out, fmt.Errorf("clean batch %s: %w", b.ID, err)
	}
	return c.out, o.update(ctx, func(tx Tx) error { return o.remember(ctx, tx, opts.RequestID, "clean", c.out) })
}

// all cleans lanes first: the integration branch is what they are compared with.
func (c *cleaning) all(ctx context.Context) (err error) {
	if c.target, err = c.compareWith(ctx); err != nil {
		return err
	}
	var numbers []lanes.Number
	err = c.Store.View(ctx, func(r Reader) error {
		rows, err := r.Lanes(ctx, c.batch.ID)
		for _, l := range rows {
			numbers = append(numbers, l.Number)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, n := range numbers {
		if err := c.lane(ctx, n); err != nil {
			return fmt.Errorf("lane %d: %w", n, err)
		}
	}
	if err := c.Git.RemoveScratch(ctx, filepath.Join(c.batch.LanesDir, "verify")); err != nil {
		c.Logger.Warn("remove the scratch worktree", "error", err)
	}
	if err := c.integration(ctx); err != nil {
		return err
	}
	defer crash.Around("remove lanes folder")()
	_ = os.Remove(c.batch.LanesDir) // only when it is empty
	return nil
}

// compareWith is the commit that a lane's work must be reachable from to have landed. A clean worktree says nothing about
// that.
func (c *cleaning) compareWith(ctx context.Context) (lanes.Commit, error) {
	info, err := c.Git.Branch(ctx, c.batch.Integration)
	if err != nil || info.Head != "" {
		return info.Head, err
	}
	homes, err := c.homes(ctx, c.batch)
	if err != nil || len(homes) == 0 {
		return "", err
	}
	return homes[0].head, nil
}

func (c *cleaning) keep(l lanes.Lane, reasons ...lanes.Reason) {
	c.out.Kept = append(c.out.Kept, Kept{Lane: l.Number, Worktree: l.Worktree, Branch: l.Branch, Reasons: reasons})
}
