package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ferrox/lanes"
	"ferrox/lanes/packet"
	"ferrox/lanes/settings"
)

// StartOptions says what a batch is made of.
type StartOptions struct {
	Batch       lanes.BatchID // "" for a fresh one
	Paths       []string      // packets; none for the roots of the settings
	Only        []lanes.TaskID
	Lanes       int // 0 for the settings'
	Worker      string
	HoldTimeout time.Duration // 0 for the settings'
	Base        string        // revision; "" for HEAD
	ReviewLevel *int
}

// LoadSettings reads the settings of the main checkout's working tree. The bytes are what a batch freezes.
func (e *Engine) LoadSettings() (settings.Settings, []settings.Warning, []byte, error) {
	data, err := os.ReadFile(filepath.Join(e.Root, SettingsFile))
	if errors.Is(err, os.ErrNotExist) {
		return settings.Default(), nil, nil, nil
	}
	if err != nil {
		return settings.Settings{}, nil, nil, fmt.Errorf("read the settings: %w", err)
	}
	set, warnings, err := settings.Parse(SettingsFile, data)
	if err != nil {
		return set, warnings, data, &Error{Exit: ExitUsage, Code: "bad-settings", Message: err.Error(), Next: "edit " + SettingsFile}
	}
	return set, warnings, data, nil
}

// StartBatch owns the repository, checks everything, makes a batch and drives it. started is told once the batch is
// durable.
func (e *Engine) StartBatch(ctx context.Context, opts StartOptions, run RunOptions, started func(lanes.Batch, []string)) (Outcome, error) {
	o, err := e.own(ctx, opts.Batch)
	if err != nil {
		return Outcome{}, err
	}
	b, notes, err := o.create(ctx, opts)
	if err != nil {
		return Outcome{}, errors.Join(err, o.release(ctx, err.Error()))
	}
	started(b, notes)
	return o.run(ctx, b.ID, run)
}

// relabel names the batch in the lease, now that it has an id.
func (o *owner) relabel(ctx context.Context, b lanes.BatchID) error {
	if o.lease.Batch == b {
		return nil
	}
	return o.Store.Update(ctx, func(tx Tx) (err error) {
		l := o.lease
		l.Batch = b
		o.lease, err = tx.TakeLease(ctx, l)
		return err
	})
}

// create checks everything before anything is made, then makes the batch's records and its integration branch.
func (o *owner) create(ctx context.Context, opts StartOptions) (lanes.Batch, []string, error) {
	set, warnings, raw, err := o.LoadSettings()
	if err != nil {
		return lanes.Batch{}, nil, err
	}
	b, err := o.newBatch(ctx, opts, set, raw)
	if err != nil {
		return b, nil, err
	}
	signers, signerNotes, err := o.loadSigners(set)
	if err != nil {
		return b, nil, err
	}
	freezeSigners(&b, signers)
	if err := o.branchInTheWay(ctx, b); err != nil {
		return b, nil, err
	}
	all, err := o.discover(ctx, b.Base, opts.Paths, set)
	if err != nil {
		return b, nil, err
	}
	tasks, chosen, notes, err := o.choose(ctx, b, all, opts, set)
	if err != nil {
		return b, nil, err
	}
	for _, w := range warnings {
		notes = append(notes, w.String())
	}
	notes = append(notes, signerNotes...)
	imported, note, err := o.importPackets(ctx, &b, chosen, set)
	if err != nil {
		return b, nil, err
	}
	if imported {
		notes = append(notes, note)
	}
	if err := o.relabel(ctx, b.ID); err != nil {
		return b, notes, err
	}
	return b, notes, o.record(ctx, b, tasks)
}

func (o *owner) newBatch(ctx context.Context, opts StartOptions, set settings.Settings, raw []byte) (lanes.Batch, error) {
	b := lanes.Batch{
		ID: opts.Batch, Phase: lanes.PhaseRunning, BaseRef: opts.Base, LaneLimit: opts.Lanes, Worker: opts.Worker,
		HoldTimeout: opts.HoldTimeout, ReviewLevel: opts.ReviewLevel, Settings: string(raw), CreatedAt: o.Clock.Now(),
	}
	info, err := o.Git.Inspect(ctx)
	if err != nil {
		return b, err
	}
	if err := usable(info); err != nil {
		return b, err
	}
	if b.BaseRef == "" {
		b.BaseRef = "HEAD"
	}
	if b.Base, err = o.Git.Resolve(ctx, b.BaseRef); err != nil {
		return b, refuse(ExitUsage, "no-such-revision", "git log", "--base %s: %v", b.BaseRef, err)
	}
	b.Head = b.Base
	if at, err := o.Git.Branch(ctx, info.Branch); b.BaseRef == "HEAD" && info.Branch != "" && err == nil && at.Head == b.Base {
		b.BaseRef = info.Branch // where what lands belongs, whatever is checked out by then
	}
	if err := checkWorker(b.Worker, set); err != nil {
		return b, err
	}
	if b.LaneLimit == 0 {
		b.LaneLimit = set.Runner.Lanes
	}
	if b.HoldTimeout == 0 {
		b.HoldTimeout = set.Runner.HoldTimeout
	}
	if len(raw) > 0 {
		b.SettingsDigest = digest(raw)
	}
	if err := o.nameBatch(ctx, &b); err != nil {
		return b, err
	}
	b.Integration = "ferrox/" + string(b.ID) + "/integration"
	dir := set.Runner.LanesDir
	if dir == "" {
		dir = filepath.Join("..", filepath.Base(o.Root)+".lanes")
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(o.Root, dir)
	}
	b.LanesDir = filepath.Join(dir, string(b.ID))
	return b, nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// usable refuses repositories in which a batch cannot be run.
func usable(info RepoInfo) error {
	switch {
	case info.Bare:
		return refuse(ExitUsage, "bare-repository", "git clone it, and run ferrox in the clone", "%s is a bare repository: lanes need a checkout beside them", info.CommonDir)
	case info.Unborn:
		return refuse(ExitUsage, "no-commit", "git commit --allow-empty -m start", "the repository has no commit yet")
	}
	return nil
}

// checkWorker refuses a worker that ferrox cannot start.
func checkWorker(preset string, set settings.Settings) error {
	if preset == "" {
		preset = set.Runner.Worker.Preset
	}
	if preset != "" && preset != "shell" && len(set.Runner.Worker.Command) == 0 {
		return refuse(ExitUsage, "no-worker", "set runner.worker.command in "+SettingsFile, "the preset %q has no command of its own yet", preset)
	}
	if len(set.Runner.Worker.Command) == 0 {
		return refuse(ExitUsage, "no-worker", "set runner.worker.command in "+SettingsFile, "no worker command is set")
	}
	return nil
}

// nameBatch gives the batch an id that no other has.
func (o *owner) nameBatch(ctx context.Context, b *lanes.Batch) error {
	all, err := o.Batches(ctx)
	if err != nil {
		return err
	}
	taken := func(id lanes.BatchID) bool {
		return slices.ContainsFunc(all, func(v BatchView) bool { return v.Batch == id })
	}
	if b.ID != "" {
		if err := packet.CheckID(lanes.TaskID(b.ID)); err != nil {
			return refuse(ExitUsage, "usage", "ferrox run batch --batch NAME", "--batch: %v", err)
		}
		if strings.ContainsAny(string(b.ID), " ~^:?*[\\/") {
			return refuse(ExitUsage, "usage", "ferrox run batch --batch NAME", "--batch %q cannot be part of a branch name", b.ID)
		}
		if taken(b.ID) {
			return refuse(ExitUsage, "batch-exists", "ferrox resume "+string(b.ID), "there is a batch %s already", b.ID)
		}
		return nil
	}
	stem := b.CreatedAt.Format("20060102T150405")
	b.ID = lanes.BatchID(stem)
	for n := 2; taken(b.ID); n++ {
		b.ID = lanes.BatchID(fmt.Sprintf("%s-%d", stem, n))
	}
	return nil
}

// branchInTheWay refuses when a user's branch stands where ferrox needs one.
func (o *owner) branchInTheWay(ctx context.Context, b lanes.Batch) error {
	found, err := o.Git.BranchesUnder(ctx, "ferrox/"+string(b.ID))
	if err != nil {
		return fmt.Errorf("look for branches in the way: %w", err)
	}
	for name := range found {
		return refuse(ExitUsage, "branch-in-the-way", "git branch -m "+name+" NEW-NAME", "branch %s is where batch %s needs its own", name, b.ID)
	}
	return nil
}

// importPackets commits packets as found, as the integration branch's first commit.
func (o *owner) importPackets(ctx context.Context, b *lanes.Batch, chosen []found, set settings.Settings) (bool, string, error) {
	var files []File
	var dirs []string
	for _, f := range chosen {
		if len(f.changed) > 0 {
			files, dirs = append(files, f.changed...), append(dirs, f.dir)
		}
	}
	if len(files) == 0 {
		return false, "", nil
	}
	message := fmt.Sprintf("Add task packets as found\n\n%s\n\nFerrox-Batch: %s\n", strings.Join(dirs, "\n"), b.ID)
	head, err := o.Git.CommitFiles(ctx, b.Base, files, message, b.CreatedAt, set.Runner.Sign)
	if err != nil {
		return false, "", fmt.Errorf("commit the packets as found: %w", err)
	}
	b.Head = head
	return true, "committed as found: " + strings.Join(dirs, ", "), nil
}

// record makes the batch durable, then its integration branch. A crash in between is settled by recovery.
func (o *owner) record(ctx context.Context, b lanes.Batch, tasks []lanes.Task) error {
	err := o.update(ctx, func(tx Tx) error {
		if _, err := tx.PutBatch(ctx, b); err != nil {
			return err
		}
		for _, t := range tasks {
			if _, err := tx.PutTask(ctx, t); err != nil {
				return err
			}
		}
		return o.event(ctx, tx, lanes.Event{
			Batch: b.ID, Type: "engine", Name: "created", Ref: b.Integration, Text: fmt.Sprintf("%d tasks from %s", len(tasks), b.Base.Short()),
		})
	})
	if err != nil {
		return fmt.Errorf("record batch %s: %w", b.ID, err)
	}
	if err := o.Git.CreateBranch(ctx, b.Integration, b.Head); err != nil {
		return fmt.Errorf("make %s: %w", b.Integration, err)
	}
	return nil
}
