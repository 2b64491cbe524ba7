package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"ferrox/engine"
	"ferrox/engine/process"
	"ferrox/engine/sqlite"
)

// backedUp is where a backup is.
type backedUp struct {
	File string `json:"file"`
}

func (a *app) cmdBackup() *cobra.Command {
	return &cobra.Command{
		Use: "backup FILE", Short: "a consistent copy of the store, under a live engine too", Args: exactly(1),
		RunE: a.with(func(cmd *cobra.Command, args []string, e *opened) error {
			file, err := filepath.Abs(args[0])
			if err != nil {
				return usageError{err}
			}
			if err := a.mayCommand(cmd.Context(), e); err != nil {
				return err
			}
			err = e.store.Backup(cmd.Context(), file)
			if errors.Is(err, fs.ErrExist) {
				return &engine.Error{Exit: engine.ExitRefused, Code: "file-in-the-way", Message: file + " is there already: nothing is written over", Next: "ferrox backup OTHER-FILE"}
			}
			if err != nil {
				return err
			}
			return a.show(backedUp{File: file}, func(w io.Writer) { fmt.Fprintf(w, "the store is in %s\n", clean(file)) })
		}),
	}
}

// restored is what came of a restore.
type restored struct {
	File        string              `json:"file"`
	Kept        string              `json:"kept,omitempty"` // the database that was there before
	Differences []engine.Difference `json:"differences"`    // between the restored database and git
}

func (a *app) cmdRestore() *cobra.Command {
	return &cobra.Command{
		Use: "restore FILE", Short: "put a backup in the place of the store; the present one is kept beside it", Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := filepath.Abs(args[0])
			if err != nil {
				return usageError{err}
			}
			v, err := a.restore(cmd.Context(), file)
			if err != nil {
				return err
			}
			return a.show(v, func(w io.Writer) {
				fmt.Fprintf(w, "the store is as in %s\n", clean(v.File))
				if v.Kept != "" {
					fmt.Fprintf(w, "the one before is kept as %s\n", clean(v.Kept))
				}
				for _, d := range v.Differences {
					fmt.Fprintln(w, clean(d.String()))
				}
				fmt.Fprintln(w, "next: ferrox status, ferrox holds")
			})
		},
	}
}

// restore swaps the database while nobody owns the repository, then compares it with git. It holds the engine lock itself:
// the lease is a row of the very database that is swapped.
func (a *app) restore(ctx context.Context, file string) (v restored, err error) {
	git, info, err := a.openRepo(ctx)
	if err != nil {
		return v, err
	}
	home := filepath.Join(info.CommonDir, "ferrox")
	lock := process.NewLock(filepath.Join(home, "engine.lock"))
	ok, err := lock.TryLock()
	if err != nil {
		return v, err
	}
	if !ok {
		return v, &engine.Error{Exit: engine.ExitBusy, Code: "busy", Message: "an engine owns this repository", Next: "ferrox pause, then ferrox restore " + file}
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	if err := a.quietStore(ctx, home, info.Root); err != nil {
		return v, err
	}
	v.File, v.Differences = file, []engine.Difference{}
	v.Kept, err = sqlite.Restore(ctx, file, filepath.Join(home, "ferrox.db"), engine.SystemClock().Now())
	if err != nil {
		return v, explainRestore(err)
	}
	e, err := a.wire(ctx, home, info.Root)
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	e.Git = git
	found, err := e.Differences(ctx)
	v.Differences = append(v.Differences, found...)
	return v, err
}

// quietStore refuses while workers are alive: their shims have the database open and would write into the old one. A
// database that cannot be read has nothing to say.
func (a *app) quietStore(ctx context.Context, home, root string) error {
	store, err := sqlite.Open(ctx, filepath.Join(home, "ferrox.db"), sqlite.Options{})
	if err != nil {
		return nil
	}
	if err := store.Close(); err != nil {
		return err
	}
	e, err := a.wire(ctx, home, root)
	if err != nil {
		return err
	}
	alive, err := e.LiveShims(ctx)
	if err == nil {
		err = a.mayCommand(ctx, e)
	}
	if err := errors.Join(err, e.close()); err != nil {
		return err
	}
	if len(alive) > 0 {
		return &engine.Error{
			Exit: engine.ExitRefused, Code: "worker-running", Next: "ferrox resume, or ferrox abort --why TEXT",
			Message: fmt.Sprintf("%d workers are alive without an engine, the first is process %d: they would write into the old database", len(alive), alive[0].PID),
		}
	}
	return nil
}

func explainRestore(err error) error {
	switch {
	case errors.Is(err, sqlite.ErrNotStore):
		return &engine.Error{Exit: engine.ExitUsage, Code: "not-a-backup", Message: err.Error(), Next: "ferrox backup FILE"}
	case errors.Is(err, engine.ErrNewerSchema):
		return &engine.Error{Exit: engine.ExitRefused, Code: "newer-database", Message: err.Error(), Next: "install the newer ferrox"}
	case errors.Is(err, fs.ErrNotExist):
		return &engine.Error{Exit: engine.ExitNotFound, Code: "not-found", Message: err.Error(), Next: "ferrox restore FILE"}
	case errors.Is(err, engine.ErrBusy):
		return &engine.Error{Exit: engine.ExitBusy, Code: "busy", Message: err.Error(), Next: "end other ferrox commands, then try again"}
	}
	return err
}
