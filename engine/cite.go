package engine

import (
	"context"
	"fmt"
	"strings"

	"ferrox/gates"
	"ferrox/lanes"
)

// newCommits lists what a finished run committed in its lane. It is for a remark only: what cannot be read is passed over.
func (r *runner) newCommits(ctx context.Context, u unit) []CommitInfo {
	info, err := r.Git.Branch(ctx, u.lane.Branch)
	if err != nil || info.Head == "" || info.Head == u.run.HeadBefore {
		return nil
	}
	commits, err := r.Git.Commits(ctx, u.run.HeadBefore, info.Head)
	if err != nil {
		r.Logger.Warn("read the commits of a run", "task", u.task.ID, "error", err)
	}
	return commits
}

// flagCitations remarks, once a run, on commits that speak of a ruling which nobody gave.
func (r *runner) flagCitations(ctx context.Context, tx Tx, u unit, commits []CommitInfo) error {
	if len(commits) == 0 {
		return nil
	}
	holds, err := tx.Holds(ctx, HoldFilter{})
	if err != nil {
		return err
	}
	var own, others, flags []string
	for _, h := range holds {
		switch {
		case h.Ruling == "":
		case h.Batch == u.task.Batch && h.Task == u.task.ID:
			own = append(own, string(h.Ruling))
		default:
			others = append(others, string(h.Ruling))
		}
	}
	for _, c := range commits {
		for _, f := range gates.Citations(c.Subject+"\n\n"+c.Body, own, others) {
			flags = append(flags, fmt.Sprintf("%s %s: %s", c.OID.Short(), f.Kind, f.Ref))
		}
	}
	if len(flags) == 0 {
		return nil
	}
	return r.event(ctx, tx, lanes.Event{
		Batch: r.id, Type: "task", Task: u.task.ID, Lane: u.lane.Number, Ref: string(u.run.ID), Name: citationFlagged, Text: strings.Join(flags, "; "),
	})
}

// citationFlagged is the event of a remark on commits that speak of a ruling which nobody gave.
const citationFlagged = "citation-flagged"

// citationsOf lists such remarks on one task, oldest first.
func citationsOf(ctx context.Context, r Reader, b lanes.BatchID, t lanes.TaskID) (flags []string, err error) {
	events, err := r.Events(ctx, EventFilter{Batch: b, Task: t})
	for _, ev := range events {
		if ev.Name == citationFlagged {
			flags = append(flags, ev.Text)
		}
	}
	return flags, err
}
