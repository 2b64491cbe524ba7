package engine

import (
	"context"
	"slices"

	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/mailbox"
)

// InboxItem is something that waits for a supervisor or the operator: a question nobody has ruled on, or what a worker said and
// nobody has answered.
type InboxItem struct {
	TS          string        `json:"ts"`
	Seq         int64         `json:"seq"`  // of the event that recorded it
	Type        string        `json:"type"` // hold or task, as in the log
	Kind        string        `json:"kind"` // escalation or reply
	ID          string        `json:"id"`
	Batch       lanes.BatchID `json:"batch"`
	Task        lanes.TaskID  `json:"task"`
	Lane        lanes.Number  `json:"lane,omitempty"`
	Gate        string        `json:"gate,omitempty"`
	Text        string        `json:"text"`
	ReplyTo     string        `json:"reply_to,omitempty"`     // replies: the ruling or message that it answers
	Deadline    string        `json:"deadline,omitempty"`     // escalations
	Expired     bool          `json:"expired,omitempty"`      // escalations
	ReservedFor mailbox.Role  `json:"reserved_for,omitempty"` // escalations: only this role may rule
	Yours       bool          `json:"yours"`                  // this role may answer it
	Next        string        `json:"next,omitempty"`         // the command that answers it
}

// Inbox lists what waits for a role, oldest first. It is a state and no queue: what was ruled on, or answered, or whose task has
// ended, is not in it any more, whoever looked at it before.
func (e *Engine) Inbox(ctx context.Context, role mailbox.Role) ([]InboxItem, error) {
	if no := mailbox.MayRule(role); no != nil {
		return nil, refuse(ExitRefused, string(mailbox.InvalidRole), "ferrox holds", "this process acts as %s, which has no inbox here", role)
	}
	items := []InboxItem{}
	err := e.Store.View(ctx, func(r Reader) error {
		holds, err := r.Holds(ctx, HoldFilter{Unresolved: true})
		if err != nil {
			return err
		}
		for _, h := range holds {
			if h.State == hold.Open {
				items = append(items, e.questionItem(h, role))
			}
		}
		replies, err := openReplies(ctx, r)
		if err != nil {
			return err
		}
		for _, m := range replies {
			items = append(items, replyItem(m))
		}
		return number(ctx, r, items)
	})
	slices.SortStableFunc(items, func(a, b InboxItem) int { return int(a.Seq - b.Seq) })
	return items, err
}

func (e *Engine) questionItem(h hold.Record, role mailbox.Role) InboxItem {
	v := viewHold(h, e.Clock.Now())
	return InboxItem{
		TS: v.OpenedAt, Type: "hold", Kind: "escalation", ID: string(h.ID), Batch: h.Batch, Task: h.Task, Lane: h.Lane, Gate: h.Gate,
		Text: h.Question, Deadline: v.Deadline, Expired: v.Expired, ReservedFor: h.ReservedFor,
		Yours: h.ReservedFor == "" || h.ReservedFor == role, Next: "ferrox rule --reply-to " + string(h.ID) + " -m TEXT",
	}
}

func replyItem(m mailbox.Message) InboxItem {
	return InboxItem{
		TS: stamp(m.CreatedAt), Type: "task", Kind: "reply", ID: string(m.ID), Batch: m.Batch, Task: m.Task, Lane: m.Lane,
		Text: m.Text, ReplyTo: m.ReplyTo, Yours: true, Next: "ferrox send --to " + string(m.Task) + " --type steer -m TEXT",
	}
}

// openReplies lists what workers said and nobody with authority has answered: since then nothing was sent to the unit, and the
// unit has not ended.
func openReplies(ctx context.Context, r Reader) ([]mailbox.Message, error) {
	batches, err := r.Batches(ctx)
	if err != nil {
		return nil, err
	}
	var open []mailbox.Message
	for _, b := range batches {
		if b.Phase == lanes.PhaseCompleted || b.Phase == lanes.PhaseAborted {
			continue // every unit of it has ended
		}
		tasks, err := r.Tasks(ctx, b.ID)
		if err != nil {
			return nil, err
		}
		for _, t := range tasks {
			if mailbox.CheckAddressee(t) != nil {
				continue
			}
			said, err := unanswered(ctx, r, t)
			if err != nil {
				return nil, err
			}
			open = append(open, said...)
		}
	}
	return open, nil
}

// unanswered lists the replies of a unit after the last message to it. A bare acknowledgement says nothing that waits.
func unanswered(ctx context.Context, r Reader, t lanes.Task) ([]mailbox.Message, error) {
	all, err := r.Messages(ctx, MessageFilter{Batch: t.Batch, Task: t.ID})
	var said []mailbox.Message
	for _, m := range all {
		switch {
		case m.Type == mailbox.TypeReply && m.Text != "":
			said = append(said, m)
		case m.Role == mailbox.RoleSupervisor || m.Role == mailbox.RoleOperator:
			said = nil
		}
	}
	return said, err
}

// number gives each item the sequence number of the event that recorded it.
func number(ctx context.Context, r Reader, items []InboxItem) error {
	type unit struct {
		batch lanes.BatchID
		task  lanes.TaskID
	}
	logs := map[unit][]lanes.Event{}
	for i, item := range items {
		u := unit{item.Batch, item.Task}
		events, read := logs[u]
		if !read {
			var err error
			if events, err = r.Events(ctx, EventFilter{Batch: u.batch, Task: u.task}); err != nil {
				return err
			}
			logs[u] = events
		}
		at := slices.IndexFunc(events, func(ev lanes.Event) bool {
			return ev.Ref == item.ID || ev.Name == rulingAcknowledged && ev.Ref == item.ReplyTo
		})
		if at >= 0 {
			items[i].Seq = events[at].Seq
		}
	}
	return nil
}
