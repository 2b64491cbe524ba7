package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ferrox/gates"
	"ferrox/hold"
	"ferrox/lanes"
)

// The events of remarks on commits and rulings.
const (
	citationFlagged = "citation-flagged"
	citationSettled = "citation-settled" // a commit names by now the ruling that one of them missed
)

// remarks is what a citation event carries beside its text.
type remarks struct {
	Flags []remark `json:"flags"`
}

// remark is one flag, with the commit that it was found in; none for a ruling that no commit names.
type remark struct {
	Commit lanes.Commit `json:"commit,omitempty"`
	gates.CitationFlag
}

func (f remark) String() string {
	if f.Commit == "" {
		return f.Kind + ": " + f.Ref
	}
	return fmt.Sprintf("%s %s: %s", f.Commit.Short(), f.Kind, f.Ref)
}

// laneCommits is what a lane committed for its task. It is read for remarks only: what cannot be read is passed over.
type laneCommits struct {
	fresh []CommitInfo // by the run that has ended
	all   []CommitInfo // since the task began; read only where a ruling was given
	read  bool         // all was read
}

// commitsOf reads what a lane has committed up to now. head is its branch's head, "" where that has to be looked up.
func (r *runner) commitsOf(ctx context.Context, u unit, head lanes.Commit) (c laneCommits) {
	if head == "" {
		info, err := r.Git.Branch(ctx, u.lane.Branch)
		if err != nil || info.Head == "" {
			return c
		}
		head = info.Head
	}
	list := func(from lanes.Commit) []CommitInfo {
		if from == head {
			return nil
		}
		commits, err := r.Git.Commits(ctx, from, head)
		if err != nil {
			r.Logger.Warn("read the commits of a lane", "task", u.task.ID, "error", err)
			c.read = false
		}
		return commits
	}
	if c.read = slices.ContainsFunc(u.holds, func(h hold.Record) bool { return h.Ruling != "" }); c.read {
		c.all = list(u.lane.Base)
	}
	if u.run != nil {
		c.fresh = list(u.run.HeadBefore)
	}
	return c
}

// flagCitations remarks, once a run, on commits that speak of a ruling which nobody gave, and on rulings that the worker has
// and no commit names. Of each such ruling it speaks once.
func (r *runner) flagCitations(ctx context.Context, tx Tx, u unit, c laneCommits) error {
	wrong, err := wrongCitations(ctx, tx, u, c.fresh)
	if err != nil {
		return err
	}
	missed, settled, err := missedRulings(ctx, tx, u, c)
	if err != nil {
		return err
	}
	ref := ""
	if u.run != nil {
		ref = string(u.run.ID)
	}
	return errors.Join(
		r.remarkOn(ctx, tx, u, citationSettled, ref, settled),
		r.remarkOn(ctx, tx, u, citationFlagged, ref, append(wrong, missed...)),
	)
}

func (r *runner) remarkOn(ctx context.Context, tx Tx, u unit, name, ref string, flags []remark) error {
	if len(flags) == 0 {
		return nil
	}
	data, err := json.Marshal(remarks{flags})
	if err != nil {
		return err
	}
	texts := make([]string, 0, len(flags))
	for _, f := range flags {
		texts = append(texts, f.String())
	}
	return r.event(ctx, tx, lanes.Event{
		Batch: r.id, Type: "task", Task: u.task.ID, Lane: u.lane.Number, Ref: ref, Name: name, Text: strings.Join(texts, "; "), Data: string(data),
	})
}

func wrongCitations(ctx context.Context, tx Tx, u unit, fresh []CommitInfo) (flags []remark, err error) {
	if len(fresh) == 0 {
		return nil, nil
	}
	holds, err := tx.Holds(ctx, HoldFilter{Ruled: true})
	var own, others []string
	for _, h := range holds {
		switch {
		case h.Ruling == "": // not proven
		case h.Batch == u.task.Batch && h.Task == u.task.ID:
			own = append(own, string(h.Ruling))
		default:
			others = append(others, string(h.Ruling))
		}
	}
	for _, c := range fresh {
		for _, f := range gates.Citations(c.Subject+"\n\n"+c.Body, own, others) {
			flags = append(flags, remark{c.OID, f})
		}
	}
	return flags, err
}

// missedRulings compares the rulings that the worker has with all commits of the lane. A ruling that was remarked on before
// is not remarked on again; when a commit names it by now, that is settled.
func missedRulings(ctx context.Context, tx Tx, u unit, c laneCommits) (missed, settled []remark, err error) {
	given := rulingsKnown(u, len(c.fresh) > 0)
	if !c.read || len(given) == 0 {
		return nil, nil, nil
	}
	events, err := tx.Events(ctx, EventFilter{Batch: u.task.Batch, Task: u.task.ID, Names: []string{citationFlagged, citationSettled}})
	if err != nil {
		return nil, nil, err
	}
	messages := make([]string, 0, len(c.all))
	for _, m := range c.all {
		messages = append(messages, m.Subject+"\n\n"+m.Body)
	}
	before, now := standing(events), gates.Uncited(messages, given)
	for _, f := range now {
		if f := (remark{CitationFlag: f}); !slices.Contains(before, f) {
			missed = append(missed, f)
		}
	}
	for _, f := range before {
		if f.Kind == gates.FlagUncited && slices.Contains(given, f.Ref) && !slices.Contains(now, f.CitationFlag) {
			settled = append(settled, f)
		}
	}
	return missed, settled, nil
}

// rulingsKnown lists the rulings that the worker has: it acknowledged them, or they headed the prompt of the run that has
// ended and that committed something. One that nobody has told it of is not its to cite.
func rulingsKnown(u unit, committed bool) (ids []string) {
	for _, h := range byRuling(u.holds) {
		told := u.run != nil && h.DeliveryRun == u.run.ID && committed
		if h.State == hold.Released && (h.Delivery == hold.DeliveryAcknowledged || told) {
			ids = append(ids, string(h.Ruling))
		}
	}
	return ids
}

// standing lists the remarks that citation events come to: those made and not settled.
func standing(events []lanes.Event) (flags []remark) {
	for _, ev := range events {
		var data remarks
		if json.Unmarshal([]byte(ev.Data), &data) != nil {
			continue
		}
		for _, f := range data.Flags {
			if ev.Name == citationFlagged {
				flags = append(flags, f)
			} else {
				flags = slices.DeleteFunc(flags, func(g remark) bool { return g == f })
			}
		}
	}
	return flags
}

// citationsOf lists the standing remarks of a batch's tasks, or of one, oldest first.
func citationsOf(ctx context.Context, r Reader, b lanes.BatchID, t lanes.TaskID) (map[lanes.TaskID][]remark, error) {
	events, err := r.Events(ctx, EventFilter{Batch: b, Task: t, Names: []string{citationFlagged, citationSettled}})
	byTask := map[lanes.TaskID][]lanes.Event{}
	for _, ev := range events {
		byTask[ev.Task] = append(byTask[ev.Task], ev)
	}
	found := map[lanes.TaskID][]remark{}
	for id, own := range byTask {
		found[id] = standing(own)
	}
	return found, err
}

func textsOf(flags []remark) (texts []string) {
	for _, f := range flags {
		texts = append(texts, f.String())
	}
	return texts
}
