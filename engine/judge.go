package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ferrox/gates"
	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/lanes/packet"
	"ferrox/mailbox"
)

// clearsIntegration marks reasons that pass by themselves: the claim stands and is judged again.
const clearsIntegration = "engine"

// judge decides on a finished run: its claim lands or is refused, its question is waited for, or the task goes on. It
// reports whether the drive goes on at once.
func (r *runner) judge(ctx context.Context, u unit) (bool, error) {
	if err := r.drain(ctx, u); err != nil {
		return false, err
	}
	u, err := r.unit(ctx, u.task.ID)
	if err != nil {
		return false, err
	}
	if why := r.endingWhy(u.task.ID); why == endDescope {
		return false, r.judgeDescoped(ctx, u)
	} else if why != "" {
		return false, r.closeRun(ctx, u, "ended: "+why, nil)
	}
	verdict, err := r.decideClaim(ctx, gates.PathClaim, u)
	switch {
	case err != nil:
		return false, err
	case verdict.landed:
		return false, nil
	case verdict.later:
		return false, r.waitForIntegration(ctx, u, verdict.reasons)
	case len(verdict.conflicts) > 0:
		return false, r.conflict(ctx, u, verdict)
	case reasonOf(verdict.reasons, lanes.CodeMergeRefused) != nil:
		return false, r.unmergeable(ctx, u, verdict)
	}
	fired, err := r.askCap(ctx, u)
	if err != nil {
		return false, err
	}
	if fired.ships() {
		shipped, err := r.ship(ctx, u)
		if err != nil || shipped.landed {
			return false, errors.Join(err, r.fileBacklog(ctx, backlogKey(r.id, u.task.ID)))
		}
		fired.refused = shipped.reasons
	}
	return r.afterRun(ctx, u, verdict, fired)
}

// drain takes over what the worker left in its spool: a question that was asked is never lost.
func (r *runner) drain(ctx context.Context, u unit) error {
	if u.last == nil {
		return nil
	}
	err := r.Workers.DrainSpool(ctx, u.spool(), u.last.Token, func(q WorkerRequest) (WorkerAnswer, error) { return r.Answer(ctx, q) })
	if err != nil {
		return fmt.Errorf("read the spool of lane %d: %w", u.lane.Number, err)
	}
	return nil
}

// verdict is what became of a claim.
type verdict struct {
	present   bool
	landed    bool
	gone      bool // the worktree is not there
	later     bool // it stands, and only the integration branch is in the way
	reasons   []lanes.Reason
	conflicts []gates.Conflict
	tree      WorktreeStatus
	output    string // of a failed verification
}

// decideClaim judges a claim, or its absence, on one of the landing paths, and lands it if it may.
func (r *runner) decideClaim(ctx context.Context, path gates.Path, u unit) (verdict, error) {
	id, err := claimIdentity(u.claimFile())
	if err != nil {
		return verdict{}, err
	}
	if id == "" && path != gates.PathMerge {
		tree, err := r.Git.Status(ctx, u.lane.Worktree)
		if !errors.Is(err, ErrWorktreeGone) {
			return verdict{tree: tree}, err
		}
		info, err := r.Git.Branch(ctx, u.lane.Branch) // what was committed counts; the rest is rebuilt before the next run
		return verdict{tree: WorktreeStatus{Head: info.Head}, gone: true}, err
	}
	v, err := r.land(ctx, path, u)
	v.present = id != ""
	if v.landed || len(v.reasons) == 0 {
		return v, err
	}
	v.later = true
	for _, re := range v.reasons {
		if re.Code != lanes.CodeIntegrationCheckedOut && re.Code != lanes.CodeIntegrationMoved {
			v.later = false
		}
	}
	return v, err
}

// waitForIntegration keeps a claim that only the integration branch stands against. It is judged again soon.
func (r *runner) waitForIntegration(ctx context.Context, u unit, reasons []lanes.Reason) error {
	for i := range reasons {
		reasons[i].Clears = clearsIntegration
	}
	return r.commit(ctx, func(tx Tx) error {
		t, err := tx.Task(ctx, r.id, u.task.ID)
		if err != nil {
			return err
		}
		first := len(t.Reasons) == 0 || t.Reasons[0] != reasons[0]
		t.Reasons, t.RetryAt = reasons, r.Clock.Now().Add(slow)
		if _, err := tx.PutTask(ctx, t); err != nil || !first {
			return err
		}
		return r.event(ctx, tx, lanes.Event{
			Batch: r.id, Type: "merge", Task: t.ID, Lane: t.Lane, Name: "merge-waits", Ref: u.batch.Integration, Text: reasons[0].Text,
		})
	})
}

// conflict opens a hold that names the paths. The ruling sends the task back to its worker, who resolves them in the lane.
func (r *runner) conflict(ctx context.Context, u unit, v verdict) error {
	names := make([]string, 0, len(v.conflicts))
	for _, c := range v.conflicts {
		names = append(names, fmt.Sprintf("%s (%s)", c.Path, c.Kind))
	}
	question := fmt.Sprintf("The work of %s cannot be merged into %s:\n\n- %s\n\nA ruling sends the task back to its worker, who merges %s into the lane and resolves them.",
		u.task.ID, u.batch.Integration, strings.Join(names, "\n- "), u.batch.Integration)
	return r.refuseClaim(ctx, u, v, "conflict", func(tx Tx, t *lanes.Task) error {
		t.Feedback = question
		if _, err := tx.PutTask(ctx, *t); err != nil {
			return err
		}
		m := r.message(r.id, t.ID, t.Lane, mailbox.TypeEscalate, mailbox.RoleEngine)
		m.By, m.Gate, m.Text = "ferrox", "merge-conflict", question
		if _, err := r.openHold(ctx, tx, m, ""); err != nil {
			return err
		}
		held, err := tx.Task(ctx, r.id, t.ID)
		*t = held
		return errors.Join(err, r.moveLane(ctx, tx, held, lanes.Wait))
	})
}

// unmergeable stalls a task whose merge git cannot make: no run of its worker could change that. The claim is not refused,
// so it stays where it is, and lands by a word once the repository is put right.
func (r *runner) unmergeable(ctx context.Context, u unit, v verdict) error {
	v.present = false
	return r.refuseClaim(ctx, u, v, "not merged", func(tx Tx, t *lanes.Task) error {
		return r.endTaskTx(ctx, tx, *t, lanes.Stall, v.reasons)
	})
}

// afterRun books a run that did not land: the task is held, goes on, is stalled or has failed.
func (r *runner) afterRun(ctx context.Context, u unit, v verdict, fired *firedCap) (bool, error) {
	facts := r.runFacts(u, v)
	progress, err := progressOf(u)
	if err != nil && !v.gone {
		return false, u.mendPacket(fmt.Errorf("read the progress of %s: %w", u.task.ID, err))
	}
	facts.BoxesTicked = progress.Boxes > u.task.Boxes
	goOn := false
	err = r.refuseClaim(ctx, u, v, outcomeOf(v), func(tx Tx, t *lanes.Task) error {
		t.StepsDone, t.StepsTotal, t.Boxes = progress.StepsDone, progress.StepsTotal, progress.Boxes
		t.Reasons, t.Feedback = v.reasons, feedback(v)
		next, in := r.budget().Spend(*t, facts, r.Clock.Now())
		*t = next
		if t.State == lanes.TaskHeld {
			return errors.Join(second(tx.PutTask(ctx, *t)), r.restLane(ctx, tx, *t))
		}
		if wrong := reasonOf(v.reasons, lanes.CodeWrongBranch); wrong != nil && v.tree.Head != "" { // and git said where it stands
			in, t.Reasons = lanes.Stall, []lanes.Reason{*wrong}
		}
		if in != lanes.Start {
			return r.endTaskTx(ctx, tx, *t, in, t.Reasons)
		}
		if fired != nil {
			goOn, err = r.applyCap(ctx, tx, t, fired)
			return err
		}
		goOn = true
		return second(tx.PutTask(ctx, *t))
	})
	if err == nil {
		r.logRefusals(ctx, u.task.ID, v.reasons, fired)
	}
	return goOn, err
}

func reasonOf(reasons []lanes.Reason, code lanes.Code) *lanes.Reason {
	for i := range reasons {
		if reasons[i].Code == code {
			return &reasons[i]
		}
	}
	return nil
}

func outcomeOf(v verdict) string {
	if v.present {
		return "refused"
	}
	return "no claim"
}

// runFacts is what a finished run came to.
func (r *runner) runFacts(u unit, v verdict) lanes.RunFacts {
	run := u.run
	f := lanes.RunFacts{
		OpenedHold: run.OpenedHold, Interrupted: interrupted(*run), HeadMoved: v.tree.Head != "" && v.tree.Head != run.HeadBefore,
		Claimed: v.present, Failure: run.Failure, Signal: run.Signal, ExitCode: run.ExitCode, EndedBy: run.EndedBy,
	}
	for _, h := range u.holds {
		live := h.DeliveryRun == "" && !h.AcknowledgedAt.Before(run.StartedAt) // acknowledged before any run had it in its prompt
		if h.Delivery == hold.DeliveryAcknowledged && (h.DeliveryRun == run.ID || live) {
			f.Acknowledged = true
		}
		if h.State == hold.Released && h.Unresolved() && h.DeliveryRun == run.ID && slices.Contains(run.Rulings, h.Ruling) {
			f.Unacknowledged = string(h.ID)
		}
	}
	if exit, ok := r.Workers.Record(run.Dir); ok {
		f.Tail = lastLine(exit.Tail)
	}
	return f
}

func (r *runner) budget() lanes.Budget {
	set := r.set.Runner
	return lanes.Budget{
		MaxIterations: set.Worker.MaxIterations, NoProgressLimit: set.NoProgressLimit,
		BackoffInitial: set.Backoff.Initial, BackoffMax: set.Backoff.Max,
	}
}

// restLane marks the lane of a held task: it keeps its slot, unless a deadline has passed already.
func (r *runner) restLane(ctx context.Context, tx Tx, t lanes.Task) error {
	if err := r.moveLane(ctx, tx, t, lanes.Wait); err != nil {
		return err
	}
	open, err := openHolds(ctx, tx, t.Batch, t.ID)
	if err != nil {
		return err
	}
	for _, h := range open {
		if !h.ExpiredAt.IsZero() {
			return r.moveLane(ctx, tx, t, lanes.Park)
		}
	}
	return nil
}

// feedback is what the worker reads on top of its next prompt.
func feedback(v verdict) string {
	if !v.present || len(v.reasons) == 0 {
		return ""
	}
	var b strings.Builder
	for _, re := range v.reasons {
		fmt.Fprintf(&b, "- %s: %s\n", re.Code, re.Text)
	}
	if v.output != "" {
		fmt.Fprintf(&b, "\nOutput of the verification:\n\n```\n%s\n```\n", v.output)
	}
	return b.String()
}

// setAsideIntent is the payload of a set-aside effect.
type setAsideIntent struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Identity string `json:"identity"`
}

// refuseClaim closes a run without landing it. The claim is set aside with its bytes kept, after the commit that says so.
func (r *runner) refuseClaim(ctx context.Context, u unit, v verdict, outcome string, then func(Tx, *lanes.Task) error) error {
	intent, err := r.setAsideIntent(u, v)
	if err != nil {
		return err
	}
	err = r.commit(ctx, func(tx Tx) error {
		fresh, err := unitOf(ctx, tx, r.id, u.task.ID)
		if err != nil {
			return err
		}
		if fresh.task.Version != u.task.Version || fresh.batch.Phase != lanes.PhaseRunning {
			return ErrConflict // something was decided meanwhile: judge again, or not while taken over
		}
		if err := r.closeRunTx(ctx, tx, fresh, v.tree.Head, outcome); err != nil {
			return err
		}
		if err := r.announceRefusal(ctx, tx, u, v, intent); err != nil {
			return err
		}
		return then(tx, &fresh.task)
	})
	if err != nil || intent == nil {
		return err
	}
	return r.setAside(ctx, u.last.ID, *intent)
}

func (r *runner) setAsideIntent(u unit, v verdict) (*setAsideIntent, error) {
	if !v.present || u.last == nil {
		return nil, nil
	}
	id, err := claimIdentity(u.claimFile())
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("%s-%s.DONE", filepath.Base(u.taskDir()), u.last.ID)
	return &setAsideIntent{From: u.claimFile(), To: filepath.Join(r.refusedDir(r.id), name), Identity: id}, nil
}

func (r *runner) announceRefusal(ctx context.Context, tx Tx, u unit, v verdict, intent *setAsideIntent) error {
	if intent == nil {
		return nil
	}
	payload, err := json.Marshal(intent)
	if err != nil {
		return err
	}
	codes := make([]string, 0, len(v.reasons))
	for _, re := range v.reasons {
		codes = append(codes, string(re.Code))
	}
	return errors.Join(
		tx.AddEffect(ctx, lanes.Effect{
			Key: "set-aside/" + string(u.last.ID), Batch: r.id, Kind: lanes.EffectSetAside, Task: u.task.ID, Lane: u.lane.Number,
			Payload: string(payload), CreatedAt: r.Clock.Now(),
		}),
		r.event(ctx, tx, lanes.Event{
			Batch: r.id, Type: "task", Task: u.task.ID, Lane: u.lane.Number, Ref: intent.To, Name: "claim-refused",
			Text: packet.DoneName + " refused: " + strings.Join(codes, ", "),
		}),
	)
}

// setAside moves the refused claim, if it still is the one that was refused.
func (r *runner) setAside(ctx context.Context, run lanes.RunID, i setAsideIntent) error {
	id, err := claimIdentity(i.From)
	if err != nil {
		return err
	}
	outcome := "gone"
	if id == i.Identity && id != "" {
		outcome = i.To
		if err := setAside(i.From, i.To); err != nil {
			return err
		}
	}
	return r.note(ctx, func(tx Tx) error {
		return tx.SettleEffect(ctx, "set-aside/"+string(run), lanes.EffectDone, outcome, r.Clock.Now())
	})
}

// closeRunTx marks the open run as judged and keeps what the lane came to.
func (r *runner) closeRunTx(ctx context.Context, tx Tx, u unit, head lanes.Commit, outcome string) error {
	if u.run != nil {
		u.run.State, u.run.Outcome = lanes.RunJudged, outcome
		if _, err := tx.PutRun(ctx, *u.run); err != nil {
			return err
		}
	}
	if u.lane.Number == 0 || head == "" || head == u.lane.Head {
		return nil
	}
	u.lane.Head = head
	return second(tx.PutLane(ctx, u.lane))
}

// closeRun marks a run as judged without deciding anything on its claim.
func (r *runner) closeRun(ctx context.Context, u unit, outcome string, then func(Tx) error) error {
	return r.commit(ctx, func(tx Tx) error {
		fresh, err := unitOf(ctx, tx, r.id, u.task.ID)
		if err != nil {
			return err
		}
		if err := r.closeRunTx(ctx, tx, fresh, "", outcome); err != nil || then == nil {
			return err
		}
		return then(tx)
	})
}
