package engine

import (
	"context"
	"errors"
	"time"

	"ferrox/lanes"
	"ferrox/mailbox"
)

// ExtendRequest moves a deadline.
type ExtendRequest struct {
	Role      mailbox.Role
	ReplyTo   string
	By        time.Duration
	Why       string
	RequestID string
}

// Extend moves the deadline of an open hold and says so in the log. A parked lane stays parked until it is ruled on.
func (e *Engine) Extend(ctx context.Context, q ExtendRequest) (v HoldView, err error) {
	if no := mailbox.MayRule(q.Role); no != nil {
		return v, fromRefusal(no)
	}
	err = e.update(ctx, func(tx Tx) error {
		done, err := once(ctx, tx, q.RequestID, &v)
		if done || err != nil {
			return err
		}
		h, err := findHold(ctx, tx, q.ReplyTo)
		if err != nil {
			return err
		}
		if h.ID == "" {
			return refuse(ExitNotFound, string(mailbox.UnknownEscalation), "ferrox holds --all", "no escalation has the id %s", q.ReplyTo)
		}
		if h.ReservedFor != "" && h.ReservedFor != q.Role {
			return refuse(ExitRefused, string(mailbox.InvalidRole), "ask the "+string(h.ReservedFor), "this hold is reserved for the %s", h.ReservedFor)
		}
		if h, err = h.Extend(q.By, e.Clock.Now()); err != nil {
			return refuse(ExitRefused, string(mailbox.NotOpen), "ferrox show "+string(h.ID), "%v", err)
		}
		v = viewHold(h, e.Clock.Now())
		return errors.Join(second(tx.PutHold(ctx, h)), e.remember(ctx, tx, q.RequestID, "extend", v), e.event(ctx, tx, lanes.Event{
			Batch: h.Batch, Type: "hold", Task: h.Task, Lane: h.Lane, Ref: string(h.ID), Name: "hold-extended",
			Text: string(q.Role) + " moved the deadline to " + stamp(h.Deadline) + ": " + firstLine(q.Why),
		}))
	})
	return v, err
}
