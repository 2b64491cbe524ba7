package engine

import (
	"context"
	"fmt"
	"path"
	"slices"
	"sort"

	"ferrox/lanes"
	"ferrox/lanes/packet"
	"ferrox/lanes/settings"
)

// choose picks the packets that a batch is made of and refuses whatever is not clear, all of it at once.
func (o *owner) choose(ctx context.Context, b lanes.Batch, all []found, opts StartOptions, set settings.Settings) ([]lanes.Task, []found, []string, error) {
	chosen, err := only(all, opts.Only)
	if err != nil {
		return nil, nil, nil, err
	}
	finished, err := o.finishedElsewhere(ctx, b.Base, chosen, set)
	if err != nil {
		return nil, nil, nil, err
	}
	chosen = append(chosen, finished...)
	problems := problemsOf(chosen, all)
	if len(opts.Only) > 0 {
		if err := outsideOnly(chosen, all); err != nil {
			return nil, nil, nil, err
		}
	}
	if err := refuseProblems(problems); err != nil {
		return nil, nil, nil, err
	}
	if err := refuseReviews(chosen, b.ReviewLevel); err != nil {
		return nil, nil, nil, err
	}
	if err := o.refuseTaken(ctx, b, chosen); err != nil {
		return nil, nil, nil, err
	}
	var notes []string
	for _, p := range problems {
		notes = append(notes, "warning: "+p.String())
	}
	return taskRows(b.ID, chosen), chosen, notes, nil
}

func only(all []found, ids []lanes.TaskID) ([]found, error) {
	if len(ids) == 0 {
		return slices.Clone(all), nil
	}
	var chosen []found
	for _, id := range ids {
		i := slices.IndexFunc(all, func(f found) bool { return f.packet.ID == id })
		if i < 0 {
			return nil, refuse(ExitUsage, "usage", "ferrox plan", "--only: no packet has the id %q", id)
		}
		chosen = append(chosen, all[i])
	}
	sort.Slice(chosen, func(i, j int) bool { return chosen[i].dir < chosen[j].dir })
	return slices.CompactFunc(chosen, func(a, b found) bool { return a.dir == b.dir }), nil
}

// outsideOnly refuses --only when something it leaves out is still needed. Finished packets are taken in.
func outsideOnly(chosen, all []found) error {
	for _, f := range chosen {
		for _, need := range f.packet.Needs() {
			in := func(set []found) bool {
				return slices.ContainsFunc(set, func(o found) bool { return o.packet.ID == need })
			}
			if !f.packet.Done && !in(chosen) && in(all) {
				return refuse(ExitUsage, string(lanes.CodeDependencyUnmet), "add "+string(need)+" to --only",
					"--only leaves out %s, which %s depends on", need, f.packet.ID)
			}
		}
	}
	return nil
}

// finishedElsewhere finds packets that the chosen ones depend on, that are not among them, and that were finished by the
// base commit, wherever they lie (archives too).
func (o *owner) finishedElsewhere(ctx context.Context, base lanes.Commit, chosen []found, set settings.Settings) ([]found, error) {
	missing := map[lanes.TaskID]bool{}
	for _, f := range chosen {
		for _, need := range f.packet.Needs() {
			missing[need] = !f.packet.Done
		}
	}
	for _, f := range chosen {
		delete(missing, f.packet.ID)
	}
	if len(missing) == 0 {
		return nil, nil
	}
	entries, err := o.Git.Tree(ctx, base, "")
	if err != nil {
		return nil, fmt.Errorf("look for finished packets: %w", err)
	}
	d := discovery{e: o.Engine, base: base, tree: map[string]TreeEntry{}, set: set}
	for _, t := range entries {
		d.tree[t.Path] = t
	}
	var extra []found
	for _, t := range entries {
		dir := path.Dir(t.Path)
		if path.Base(t.Path) != packet.DoneName || !d.isPacket(dir) {
			continue
		}
		f, err := d.read(ctx, dir)
		if err != nil {
			return nil, err
		}
		if missing[f.packet.ID] {
			f.changed = nil
			extra = append(extra, f)
		}
	}
	return extra, nil
}

// problemsOf collects what is wrong with the chosen packets, alone and together. A finished packet is not run, so only its
// id matters. Ids are compared with every packet found, chosen or not.
func problemsOf(chosen, all []found) []packet.Problem {
	var problems []packet.Problem
	var set []packet.Packet
	for _, f := range chosen {
		set = append(set, f.packet)
		if f.packet.Done {
			continue
		}
		problems = append(problems, f.issues...)
	}
	problems = append(problems, packet.CheckSet(set, packet.SetOptions{})...)
	for _, f := range all {
		if slices.ContainsFunc(chosen, func(c found) bool { return c.dir == f.dir }) {
			continue
		}
		if i := slices.IndexFunc(chosen, func(c found) bool { return c.packet.ID == f.packet.ID }); i >= 0 && f.packet.ID != "" {
			problems = append(problems, packet.CheckSet([]packet.Packet{chosen[i].packet, f.packet}, packet.SetOptions{Finished: f.packet.Needs()})...)
		}
	}
	return problems
}

// refuseProblems turns errors into one refusal that names each with file and line.
func refuseProblems(problems []packet.Problem) error {
	var reasons []lanes.Reason
	for _, p := range problems {
		if p.Severity != packet.SeverityError {
			continue
		}
		reasons = append(reasons, lanes.Reason{Code: lanes.Code(p.Code), Ref: place(p), Text: p.Message, Clears: "operator", Next: "edit " + p.File})
	}
	if len(reasons) == 0 {
		return nil
	}
	return &Error{
		Exit: ExitUsage, Code: string(reasons[0].Code), Next: "ferrox plan", Reasons: reasons,
		Message: fmt.Sprintf("the packets cannot be run; errors in them: %d", len(reasons)),
	}
}

// place is where a problem is.
func place(p packet.Problem) string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// refuseReviews refuses review levels that nothing could satisfy.
func refuseReviews(chosen []found, override *int) error {
	var reasons []lanes.Reason
	for _, f := range chosen {
		level := f.packet.ReviewLevel
		if override != nil {
			level = *override
		}
		if level > 0 && !f.packet.Done {
			reasons = append(reasons, lanes.Reason{
				Code: lanes.CodeReviewMissing, Ref: string(f.packet.ID), Clears: "operator", Next: "ferrox run batch --review-level 0",
				Text: fmt.Sprintf("%s asks for review level %d, and no reviewer is there", f.packet.ID, level),
			})
		}
	}
	if len(reasons) == 0 {
		return nil
	}
	return &Error{Exit: ExitUsage, Code: string(lanes.CodeReviewMissing), Message: reasons[0].Text, Next: reasons[0].Next, Reasons: reasons}
}

// refuseTaken refuses tasks that belong to another batch: one that goes on, or one whose landings are not in the base yet.
func (o *owner) refuseTaken(ctx context.Context, b lanes.Batch, chosen []found) error {
	var reasons []lanes.Reason
	batches, err := o.Batches(ctx)
	if err != nil {
		return err
	}
	for _, other := range batches {
		var tasks []lanes.Task
		err := o.Store.View(ctx, func(r Reader) (err error) {
			tasks, err = r.Tasks(ctx, other.Batch)
			return err
		})
		if err != nil {
			return err
		}
		for _, t := range tasks {
			if !slices.ContainsFunc(chosen, func(f found) bool { return f.packet.ID == t.ID && !f.packet.Done }) {
				continue
			}
			re, err := o.taken(ctx, b, other, t)
			if err != nil {
				return err
			}
			if re != nil {
				reasons = append(reasons, *re)
			}
		}
	}
	if len(reasons) == 0 {
		return nil
	}
	return refusal("the batch is refused", reasons)
}

func (o *owner) taken(ctx context.Context, b lanes.Batch, other BatchView, t lanes.Task) (*lanes.Reason, error) {
	if !other.Phase.Ended() {
		return &lanes.Reason{
			Code: lanes.CodeStateForbids, Ref: string(t.ID), Clears: "operator", Next: "ferrox resume " + string(other.Batch),
			Text: fmt.Sprintf("%s belongs to batch %s, which is %s", t.ID, other.Batch, other.Phase),
		}, nil
	}
	if t.Merge == "" {
		return nil, nil
	}
	info, err := o.Git.Branch(ctx, other.Branch)
	if err != nil || info.Head == "" {
		return nil, err
	}
	in, err := o.Git.IsAncestor(ctx, t.Merge, b.Base)
	if err != nil || in {
		return nil, err
	}
	return &lanes.Reason{
		Code: lanes.CodeStateForbids, Ref: string(t.ID), Clears: "operator", Next: "ferrox integrate " + string(other.Batch) + " --into BRANCH",
		Text: fmt.Sprintf("%s landed in batch %s, which is not integrated into %s", t.ID, other.Batch, b.BaseRef),
	}, nil
}

// taskRows makes the records of a batch's tasks.
func taskRows(b lanes.BatchID, chosen []found) []lanes.Task {
	tasks := make([]lanes.Task, 0, len(chosen))
	for i, f := range chosen {
		p := f.packet
		progress := packet.ProgressOf(p, f.files.Status)
		t := lanes.Task{
			Batch: b, ID: p.ID, Seq: i, Title: p.Title, Size: string(p.Size), Path: f.dir, DependsOn: p.Needs(),
			Scoped: p.Scope.Declared, Scope: p.Scope.Entries, ReviewLevel: p.ReviewLevel, Gates: p.Facts(),
			State: lanes.TaskPending, StepsDone: progress.StepsDone, StepsTotal: progress.StepsTotal, Boxes: progress.Boxes,
		}
		if p.Done {
			t.Finished, t.State = true, lanes.TaskSucceeded
		}
		tasks = append(tasks, t)
	}
	return tasks
}
