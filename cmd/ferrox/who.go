package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"ferrox/engine"
	"ferrox/engine/process"
	"ferrox/mailbox"
)

// who decides which role this process has, from where it stands: never from a parameter. What cannot be read makes the
// role unknown, which may do nothing that needs authority.
func (a *app) who(ctx context.Context, e *opened) (mailbox.Role, error) {
	line, err := process.Ancestors(os.Getpid())
	if err != nil {
		return mailbox.RoleUnknown, nil // an ancestry that cannot be read is an answer
	}
	known, err := e.Known(ctx, line, a.getenv("FERROX_TOKEN"))
	if err != nil {
		return mailbox.RoleUnknown, err
	}
	if known.Foreign(line[0]) {
		return mailbox.RoleUnknown, nil
	}
	if known.Token() || known.Worker(line) {
		return mailbox.RoleWorker, nil
	}
	if known.Supervised(line) {
		return mailbox.RoleSupervisor, nil
	}
	return mailbox.RoleOperator, nil
}

// mayCommand refuses commands on a batch to workers, and to whoever cannot be told from one.
func (a *app) mayCommand(ctx context.Context, e *opened) error {
	role, err := a.who(ctx, e)
	if err != nil {
		return err
	}
	if no := mailbox.MayRule(role); no != nil {
		return &engine.Error{Exit: engine.ExitRefused, Code: string(mailbox.InvalidRole), Message: fmt.Sprintf("this process acts as %s, which may not command a batch", role), Next: no.Next}
	}
	return nil
}

// mayRun refuses to be an engine, or to un-pause one, for a worker. Whoever else can reach the store may run a batch: that
// decides nothing.
func (a *app) mayRun(ctx context.Context, e *opened) error {
	role, err := a.who(ctx, e)
	if err != nil || role != mailbox.RoleWorker {
		return err
	}
	return &engine.Error{Exit: engine.ExitRefused, Code: string(mailbox.InvalidRole), Message: "a worker may not run or resume a batch", Next: "end, and let ferrox go on"}
}

// recordSupervisor makes this process one whose descendants act as supervisor.
func (a *app) recordSupervisor(ctx context.Context, e *opened) error {
	self, err := process.Self()
	if err != nil {
		return err
	}
	err = e.Store.Update(ctx, func(tx engine.Tx) error { return tx.AddSupervisor(ctx, self, e.Clock.Now()) })
	return errors.Join(err, process.BecomeSubreaper())
}
