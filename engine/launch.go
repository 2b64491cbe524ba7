package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ferrox/engine/crash"
	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/mailbox"
)

// killGrace is the time between TERM and KILL to a worker's tree.
const killGrace = 5 * time.Second

// launch carries out the spawn that a run owes. It is safe to repeat: a shim that has recorded itself is found again, and
// the lane's lock keeps a second one out.
func (r *runner) launch(ctx context.Context, u unit) error {
	_, over := r.Workers.Record(u.run.Dir) // read first: a shim writes itself down before its end
	id, found := r.Workers.Find(u.run.Dir)
	if over && !found {
		return r.closeUnstarted(ctx, u) // barred by an engine that was killed before it could close it
	}
	var mail []mailbox.Message // of a shim that is found nobody knows which mail is in its prompt: the next one has it again
	if !found {
		var err error
		if mail, err = r.mail(ctx, u); err != nil {
			return err
		}
		if id, err = r.spawn(ctx, u, mail); err != nil {
			return err
		}
	}
	return r.note(ctx, func(tx Tx) error {
		run, err := tx.Run(ctx, u.run.ID)
		if err != nil {
			return err
		}
		run.State, run.Shim = lanes.RunRunning, id
		for _, m := range mail {
			if err := r.settleMail(ctx, tx, m.ID, inPrompt(run.ID)); err != nil {
				return err
			}
		}
		return errors.Join(
			second(tx.PutRun(ctx, run)),
			tx.SettleEffect(ctx, "spawn/"+string(run.ID), lanes.EffectDone, fmt.Sprintf("shim %d", id.PID), r.Clock.Now()),
		)
	})
}

// mail lists the mail that a unit's next prompt has.
func (r *runner) mail(ctx context.Context, u unit) (mail []mailbox.Message, err error) {
	err = r.Store.View(ctx, func(rd Reader) error {
		mail, err = waitingMail(ctx, rd, r.id, u.task.ID)
		return err
	})
	return mail, err
}

func (r *runner) spawn(ctx context.Context, u unit, mail []mailbox.Message) (lanes.Identity, error) {
	prompt := filepath.Join(u.run.Dir, "prompt.md")
	text, err := r.prompt(u, mail)
	if err != nil {
		return lanes.Identity{}, err
	}
	if err := os.MkdirAll(u.run.Dir, 0o700); err != nil {
		return lanes.Identity{}, fmt.Errorf("make the folder of run %s: %w", u.run.ID, err)
	}
	after := crash.Around("write prompt")
	err = os.WriteFile(prompt, text, 0o600)
	after()
	if err != nil {
		return lanes.Identity{}, fmt.Errorf("write the prompt of run %s: %w", u.run.ID, err)
	}
	inbox, err := letterFile(letters(u.holds, mail))
	if err == nil {
		err = replaceFile(inboxFile(u.run), inbox)
	}
	if err != nil {
		return lanes.Identity{}, fmt.Errorf("write the inbox of run %s: %w", u.run.ID, err)
	}
	return r.startShim(ctx, u, WorkerSpec{
		Run: u.run.ID, Dir: u.run.Dir, LaneLock: r.laneLock(r.id, u.lane.Number), Argv: r.set.Runner.Worker.Command,
		Cwd: u.lane.Worktree, Env: r.workerEnv(u, u.run), Prompt: prompt, Socket: socket(u.run), Spool: u.spool(),
		Token: u.run.Token, FinishGrace: r.set.Runner.FinishGrace, KillGrace: killGrace, Store: r.Home,
	})
}

// spawnTries is how often a shim that died before it wrote itself down is started anew.
const spawnTries = 3

// startShim starts a shim, or finds the one that an earlier try of this very run started. One that wrote itself down and
// died is found too, as a lost one; one that died before is started anew: it never had a worker.
func (r *runner) startShim(ctx context.Context, u unit, spec WorkerSpec) (lanes.Identity, error) {
	for try := 1; ; try++ {
		id, err := r.Workers.Start(ctx, spec)
		if err == nil {
			return id, nil
		}
		if found, ok := r.Workers.Find(spec.Dir); ok {
			return found, nil
		}
		if try == spawnTries || ctx.Err() != nil {
			return id, fmt.Errorf("start the worker of %s: %w", u.task.ID, err)
		}
		r.Logger.Warn("start a shim", "task", u.task.ID, "try", try, "error", err)
	}
}

// socket is the path of a run's socket.
func socket(run *lanes.Run) string { return filepath.Join(run.Dir, "sock") }

// await stays with a live worker until its tree has ended, and ends it when it has to go. It reports true once the exit is
// recorded, false when the engine leaves first.
func (r *runner) await(ctx context.Context, d *drive, u unit) (bool, error) {
	type gone struct {
		exit WorkerExit
		err  error
	}
	exited := make(chan gone, 1)
	waitCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		exit, err := r.Workers.Wait(waitCtx, u.run.Shim, u.run.Dir)
		exited <- gone{exit, err}
	}()
	w := r.watchOver(ctx, u)
	defer w.close()
	for {
		fire, stop := r.Clock.After(w.look(ctx))
		select {
		case g := <-exited:
			stop()
			if g.err != nil {
				return false, g.err
			}
			return true, r.recordExit(ctx, u, g.exit, w.endedBy)
		case <-d.wake:
		case <-fire:
		case <-ctx.Done():
			stop()
			return false, nil
		}
		stop()
	}
}

// recordExit keeps how a run ended. A shim that died without a record leaves processes behind: they are ended first.
func (r *runner) recordExit(ctx context.Context, u unit, exit WorkerExit, by string) error {
	text := fmt.Sprintf("exit %d", exit.Code)
	if exit.Signal != "" {
		text = "killed by " + exit.Signal
	}
	if exit.Failure != "" {
		text = "could not be started: " + exit.Failure
	}
	if exit.Lost {
		left, err := r.Workers.Sweep(ctx, u.run.Token)
		if err != nil {
			return fmt.Errorf("end what the lost shim of %s left behind: %w", u.task.ID, err)
		}
		by, text = endLost, fmt.Sprintf("its shim was lost; %d processes were ended", len(left))
		if u.run.Shim.Boot != r.Self.Boot && r.Self.Known() {
			by, text = endOutage, "the machine went down under it"
		}
	}
	if by == "" && exit.Terminated {
		by = endPark // an engine that is gone by now told it to end
	}
	if len(exit.Ended) > 0 {
		text += "; had to be ended: " + strings.Join(exit.Ended, ", ")
	}
	if fresh, err := r.unit(ctx, u.task.ID); err == nil && fresh.run != nil {
		u = fresh // what was ruled and acknowledged while the run lasted
	}
	commits := r.commitsOf(ctx, u, "")
	return r.note(ctx, func(tx Tx) error {
		run, err := tx.Run(ctx, u.run.ID)
		if err != nil {
			return err
		}
		run.State, run.EndedAt, run.EndedBy = lanes.RunExited, endOf(run, exit, r.Clock.Now()), by
		run.ExitCode, run.Signal, run.Failure = exit.Code, exit.Signal, exit.Failure
		return errors.Join(second(tx.PutRun(ctx, run)), r.event(ctx, tx, lanes.Event{
			Batch: r.id, Type: "task", Task: run.Task, Lane: run.Lane, Ref: string(run.ID), Name: "worker-exited", Text: text,
		}), r.flagCitations(ctx, tx, u, commits))
	})
}

// Ends that are not the worker's doing.
const (
	endPark   = "park"   // ferrox sent it home and goes on with the task later
	endLost   = "lost"   // its shim was killed; whoever did it, the run counts
	endOutage = "outage" // the machine went down with it
)

// interrupted reports whether a run was cut short by ferrox or by the machine: it moves no budget.
func interrupted(run lanes.Run) bool { return run.EndedBy == endPark || run.EndedBy == endOutage }

// endOf is when a run ended: its shim wrote that down, maybe long before anybody came to read it. An instant that cannot be,
// because the clock was set in between, gives way to the nearest one that can.
func endOf(run lanes.Run, exit WorkerExit, now time.Time) time.Time {
	at := exit.EndedAt
	if at.IsZero() || at.After(now) {
		at = now
	}
	if at.Before(run.StartedAt) {
		at = run.StartedAt
	}
	return at
}

// heldOpen reports whether one of the unit's holds is open, and when the first of them was opened and is due.
func heldOpen(holds []hold.Record) (open bool, since, due time.Time) {
	for _, h := range holds {
		if h.State != hold.Open {
			continue
		}
		if !open || h.OpenedAt.Before(since) {
			since = h.OpenedAt
		}
		if !open || h.Deadline.Before(due) {
			due = h.Deadline
		}
		open = true
	}
	return open, since, due
}
