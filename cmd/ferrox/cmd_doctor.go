package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"ferrox/engine"
	"ferrox/engine/process"
	"ferrox/engine/sqlite"
)

func (a *app) cmdDoctor() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "what of this machine and this repository could get in the way of a batch; changes nothing", Args: none(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			checks, err := a.examine(cmd.Context())
			if err != nil {
				return err
			}
			err = a.show(checks, func(w io.Writer) {
				rows := [][]string{}
				for _, c := range checks {
					rows = append(rows, []string{string(c.State), c.Check, c.Found, c.Fix})
				}
				table(w, []string{"STATE", "CHECK", "FOUND", "FIX"}, rows)
			})
			for _, c := range checks {
				if c.State == engine.CheckFail {
					return errors.Join(err, exitCode(engine.ExitFailed))
				}
			}
			return err
		},
	}
}

// examine makes every check that can be made, whatever else is broken.
func (a *app) examine(ctx context.Context) ([]engine.Check, error) {
	git, info, err := a.openRepo(ctx)
	if err != nil {
		return nil, err
	}
	home := filepath.Join(info.CommonDir, "ferrox")
	e := &engine.Engine{Root: info.Root, Home: home, Env: a.env, Clock: engine.SystemClock(), Git: git}
	checks := append([]engine.Check{platform(), checkGit(ctx, info), checkTemp(home)}, e.CheckSettings()...)
	checks = append(checks, checkDisk("disk of the state", home), checkDisk("disk of the lanes", e.LanesRoot()))
	checks = append(checks, checkInotify()...)
	return append(checks, a.examineStore(ctx, e)...), nil
}

// examineStore opens the database as it is: it neither makes nor migrates one.
func (a *app) examineStore(ctx context.Context, e *engine.Engine) []engine.Check {
	file := filepath.Join(e.Home, "ferrox.db")
	store, err := sqlite.Open(ctx, file, sqlite.Options{})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []engine.Check{engine.CheckOf("database", engine.CheckOK, "", "there is none yet; the first batch makes it")}
	case errors.Is(err, engine.ErrOlderSchema):
		return []engine.Check{engine.CheckOf("database", engine.CheckWarn, "ferrox resume", "%v", err)}
	case err != nil:
		no := explain(err)
		return []engine.Check{engine.CheckOf("database", engine.CheckFail, no.Next, "%v", err)}
	}
	defer func() { _ = store.Close() }()
	set, err := store.Settings(ctx)
	if err != nil {
		return []engine.Check{engine.CheckOf("database", engine.CheckFail, explain(err).Next, "%v", err)}
	}
	checks := checkDatabase(set)
	e.Store, e.Lock, e.Workers = store, process.NewLock(filepath.Join(e.Home, "engine.lock")), &process.Runner{}
	return append(checks, e.CheckState(ctx)...)
}

// checkDatabase says what the connections really have, and whether the side file is cut as it should be.
func checkDatabase(set sqlite.Settings) []engine.Check {
	found := fmt.Sprintf("schema %d, SQLite %s, %d connections", set.Schema, set.SQLite, len(set.Connections))
	if len(set.Connections) > 0 {
		c := set.Connections[0]
		found += fmt.Sprintf(": journal %s, synchronous %d, foreign keys %v, busy timeout %s", c.Journal, c.Synchronous, c.ForeignKeys, c.BusyTimeout)
	}
	return []engine.Check{engine.CheckOf("database", engine.CheckOK, "", "%s", found), checkLog(set.LogBytes, set.LogLimit)}
}

// checkLog warns of a write-ahead file well above the size to which it is cut: some process keeps a snapshot open.
func checkLog(size, limit int64) engine.Check {
	if size > 2*limit {
		return engine.CheckOf("write-ahead file", engine.CheckWarn, "end the ferrox command that has it open, then run any command that writes",
			"%s, it is cut to %s as soon as nobody reads an old state", bytesOf(uint64(size)), bytesOf(uint64(limit)))
	}
	return engine.CheckOf("write-ahead file", engine.CheckOK, "", "%s", bytesOf(uint64(max(size, 0))))
}

// socketRoom is the longest path of a socket that the kernel takes as it is.
const socketRoom = 107

func checkTemp(home string) engine.Check {
	longest := filepath.Join(home, "runs", "20060102T150405", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "sock")
	if len(longest) > socketRoom {
		return engine.CheckOf("sockets", engine.CheckOK, "", "their paths are longer than %d bytes and named through /proc; scratch files in %s", socketRoom, os.TempDir())
	}
	return engine.CheckOf("sockets", engine.CheckOK, "", "%s; scratch files in %s", filepath.Join(home, "runs"), os.TempDir())
}
