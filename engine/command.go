package engine

import (
	"context"
	"fmt"
	"time"
)

// CommandLimit is how long one command of the settings (setup, verify) may take. One that takes longer has failed: lanes
// wait for each other at a landing and at a worktree, and one command that hangs must not stop them all for ever.
const CommandLimit = 30 * time.Minute

// command runs one command of the settings to its end, or ends it with all that it started.
func (r *runner) command(ctx context.Context, dir string, argv, env []string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, r.Limit)
	defer cancel()
	out, err := r.Workers.Command(limited, dir, argv, env)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("it took longer than %s and was ended; make it quicker, or split it", r.Limit)
	}
	return out, err
}
