package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"ferrox/gates"
	"ferrox/lanes"
)

// ResumeOptions says how a batch goes on.
type ResumeOptions struct {
	Batch  lanes.BatchID // "" for the newest
	Lanes  int           // 0 for what the batch had
	Reload bool          // take the settings of today
	Force  bool          // retry failed and stalled tasks
}

// codeEngineGone answers a command that only a live engine can carry out.
const codeEngineGone = "engine-gone"

// Resume drives a batch that was parked, or whose engine died. A live engine that pauses or was taken over is told to go
// on instead; one that runs is never overridden.
func (e *Engine) Resume(ctx context.Context, opts ResumeOptions, run RunOptions, started func(lanes.Batch, []string)) (Outcome, error) {
	b, err := e.BatchOf(ctx, opts.Batch)
	if err != nil {
		return Outcome{}, e.orLost(ctx, opts.Batch, err)
	}
	o, err := e.own(ctx, b.ID)
	var busy *Error
	if errors.As(err, &busy) && busy.Exit == ExitBusy {
		out, err := e.unpause(ctx, b, busy)
		if errors.As(err, &busy) && busy.Code == codeEngineGone {
			return e.Resume(ctx, opts, run, started) // it parked before it heard us
		}
		return out, err
	}
	if err != nil {
		return Outcome{}, err
	}
	b, notes, err := o.prepareResume(ctx, b.ID, opts)
	if err != nil {
		return Outcome{}, errors.Join(err, o.release(ctx, err.Error()))
	}
	notes = append(notes, o.owedNotes(ctx, b.ID)...)
	started(b, append(notes, o.differenceNotes(ctx)...))
	return o.run(ctx, b.ID, run)
}

// owedNotes names the commands that were stored for an engine and not carried out, because it or whoever asked was killed.
// They are carried out before anything else.
func (o *owner) owedNotes(ctx context.Context, id lanes.BatchID) (notes []string) {
	err := o.Store.View(ctx, func(r Reader) error {
		owed, err := r.PendingRequests(ctx)
		for _, q := range owed {
			if q.Batch == id {
				notes = append(notes, fmt.Sprintf("%s, asked for at %s, was not carried out yet: it is now", q.Verb, stamp(q.CreatedAt)))
			}
		}
		return err
	})
	if err != nil {
		o.Logger.Warn("look for commands that are owed", "error", err)
	}
	return notes
}

// orLost says more of a batch that the database does not have, when git has branches of it: the database was lost, or copied
// without its side file, and whoever reads "there is no batch" must not believe that there never was one.
func (e *Engine) orLost(ctx context.Context, id lanes.BatchID, err error) error {
	var refused *Error
	if !errors.As(err, &refused) || refused.Code != "not-found" {
		return err
	}
	there, gitErr := e.Git.BranchesUnder(ctx, "ferrox")
	if gitErr != nil {
		return err
	}
	prefix := "ferrox/"
	if id != "" {
		prefix += string(id) + "/"
	}
	for _, name := range sortedKeys(there) {
		if strings.HasPrefix(name, prefix) {
			return refuse(ExitNotFound, "not-found", "ferrox doctor", "%s, but git has %s: the database was lost, or is an older copy", refused.Message, name)
		}
	}
	return err
}

// unpause tells the live engine to go on, if it is this batch's.
func (e *Engine) unpause(ctx context.Context, b lanes.Batch, busy *Error) (Outcome, error) {
	state, err := e.EngineState(ctx, b.ID)
	if err != nil {
		return Outcome{}, err
	}
	if state.State != "alive" || b.Phase != lanes.PhasePaused && !b.Pausing {
		return Outcome{}, busy
	}
	done, err := e.Do(ctx, Command{Verb: "unpause", Batch: b.ID})
	return Outcome{Batch: b.ID, Phase: lanes.PhaseRunning, Text: done.Result}, err
}

// prepareResume checks that the batch can go on, and reports how today's settings differ from the frozen ones.
func (o *owner) prepareResume(ctx context.Context, id lanes.BatchID, opts ResumeOptions) (b lanes.Batch, notes []string, err error) {
	set, _, raw, settingsErr := o.LoadSettings()
	signers, signerNotes, signersErr := o.loadSigners(set)
	if err := errors.Join(settingsErr, signersErr); opts.Reload && err != nil {
		return b, nil, err
	}
	err = o.update(ctx, func(tx Tx) error {
		if b, err = tx.Batch(ctx, id); err != nil {
			return err
		}
		if err := o.mayResume(ctx, tx, b, opts); err != nil {
			return err
		}
		before := b
		if opts.Lanes > 0 {
			b.LaneLimit = opts.Lanes
		}
		switch changed := b.Settings != string(raw); {
		case changed && opts.Reload:
			b.Settings, b.SettingsDigest = string(raw), digest(raw)
			if err := o.event(ctx, tx, lanes.Event{
				Batch: id, Type: "engine", Name: "settings-reloaded", Ref: b.SettingsDigest, Text: "the settings were " + before.SettingsDigest,
			}); err != nil {
				return err
			}
		case changed:
			notes = append(notes, SettingsFile+" differs from what is frozen with the batch; the frozen settings count (--reload takes the new ones)")
		}
		more, err := o.reloadSigners(ctx, tx, &b, signers, opts.Reload)
		if err != nil {
			return err
		}
		notes = append(notes, more...)
		if b != before {
			b.Version, err = tx.PutBatch(ctx, b)
		}
		return err
	})
	if opts.Reload {
		notes = append(notes, signerNotes...)
	}
	return b, notes, err
}

// mayResume refuses batches that have ended, unless a failed one has something to do again.
func (o *owner) mayResume(ctx context.Context, tx Tx, b lanes.Batch, opts ResumeOptions) error {
	if b.Phase == lanes.PhaseCompleted || b.Phase == lanes.PhaseAborted {
		return refuse(ExitRefused, string(lanes.CodeStateForbids), "ferrox run batch", "batch %s is %s", b.ID, b.Phase)
	}
	again, err := o.reviveAll(ctx, tx, b, opts.Force)
	if err != nil {
		return err
	}
	if b.Phase == lanes.PhaseFailed && !again {
		return refuse(ExitRefused, string(lanes.CodeStateForbids), "ferrox retry TASK, or ferrox resume --force", "batch %s has failed, and no task was retried", b.ID)
	}
	return nil
}

// reviveAll retries what failed, by force, and reports whether any task has something to do.
func (o *owner) reviveAll(ctx context.Context, tx Tx, b lanes.Batch, force bool) (again bool, err error) {
	counts, err := tx.CountTasks(ctx, b.ID)
	if err != nil {
		return false, err
	}
	for state, n := range counts {
		again = again || n > 0 && !state.Ended()
	}
	if !force {
		return again, nil
	}
	ended, err := tx.TasksIn(ctx, b.ID, lanes.TaskFailed, lanes.TaskStalled)
	if err != nil {
		return false, err
	}
	for _, t := range ended {
		u, err := unitOf(ctx, tx, b.ID, t.ID)
		if err != nil {
			return false, err
		}
		if _, reasons := gates.Complete(gates.Facts{Path: gates.PathRetry, Now: o.Clock.Now(), Batch: b, Task: t, Lane: u.lane, Holds: u.holds}); len(reasons) > 0 {
			continue
		}
		if err := o.retryTx(ctx, tx, t, "resume --force"); err != nil {
			return false, err
		}
		again = true
	}
	return again, nil
}

// retryTx revives one task.
func (o *owner) retryTx(ctx context.Context, tx Tx, t lanes.Task, why string) (err error) {
	if t.State, err = t.State.Fire(lanes.Retry); err != nil {
		return refuse(ExitRefused, string(lanes.CodeStateForbids), "ferrox show "+string(t.ID), "%v", err)
	}
	t.Spent, t.NoProgress, t.RetryAt, t.EndedAt, t.Reasons = 0, 0, time.Time{}, time.Time{}, nil
	if _, err := tx.PutTask(ctx, t); err != nil {
		return fmt.Errorf("retry %s: %w", t.ID, err)
	}
	return o.event(ctx, tx, lanes.Event{Batch: t.Batch, Type: "task", Task: t.ID, Lane: t.Lane, Name: "task-retried", Text: firstLine(why)})
}
