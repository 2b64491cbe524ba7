package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"ferrox/engine"
)

// demoFiles is the throw-away repository: settings, a worker in shell and four packets.
//
//go:embed all:demo
var demoFiles embed.FS

// demoPatience bounds the whole demo. It takes a few seconds where nothing is wrong.
const demoPatience = 2 * time.Minute

func (a *app) cmdDemo() *cobra.Command {
	return &cobra.Command{
		Use: "demo", Short: "a throw-away repository, a batch, a hold, a ruling, a merge, explained", Args: none(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), demoPatience)
			defer cancel()
			d, err := a.newDemo()
			if err != nil {
				return err
			}
			if err := d.tell(ctx); err != nil {
				return d.failed(ctx, err)
			}
			return a.show(d.told, d.last)
		},
	}
}

// newDemo writes the demo's files into a new temporary folder.
func (a *app) newDemo() (*demo, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program itself: %w", err)
	}
	dir, err := os.MkdirTemp("", "ferrox-demo-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the demo: %w", err)
	}
	files, err := fs.Sub(demoFiles, "demo")
	if err != nil {
		return nil, err
	}
	repo := filepath.Join(dir, "letter")
	if err := os.CopyFS(repo, files); err != nil {
		return nil, fmt.Errorf("write the demo's files to %s: %w", repo, err)
	}
	return &demo{app: a, exe: exe, env: demoEnv(a.env), told: told{Repository: repo, Steps: []demoStep{}}}, nil
}

// failed says which step did not do what it says. The batch is aborted, so that no engine stays behind; the files stay.
func (d *demo) failed(ctx context.Context, err error) error {
	if d.told.Batch != "" {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), demoPatience/4)
		defer cancel()
		_, code, stop := d.call(ctx, []string{"ferrox", "abort", "--why", "the demo failed"})
		if code != engine.ExitDone && code != engine.ExitRefused { // refused: it has ended already
			err = errors.Join(err, stop, fmt.Errorf("its engine could not be ended: exit %d", code))
		}
	}
	return &engine.Error{
		Exit: engine.ExitFailed, Code: "demo-failed", Message: fmt.Sprintf("the demo went wrong: %v", err),
		Next: "cd " + d.told.Repository + " && ferrox status; report it with what is printed above",
	}
}
