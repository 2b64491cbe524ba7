package sqlite

import (
	"context"

	"ferrox/engine"
	"ferrox/lanes"
	"ferrox/mailbox"
)

var messages = newTable("message", "messages", 1,
	"id batch task lane type role sender reply_to gate verdict text head signed signature nonce principal reserved created_at",
	func(m *mailbox.Message) []any {
		return []any{
			&m.ID, &m.Batch, &m.Task, &m.Lane, &m.Type, &m.Role, &m.By, &m.ReplyTo, &m.Gate, &m.Verdict, &m.Text, &m.Head,
			&m.Signed, &m.Signature, &m.Nonce, &m.Principal, &m.Reserved,
			instant{&m.CreatedAt},
		}
	})

func (r *reader) Message(ctx context.Context, id lanes.MessageID) (mailbox.Message, error) {
	return get(ctx, r, messages, where("id = ?", id), string(id))
}

func (r *reader) Messages(ctx context.Context, f engine.MessageFilter) ([]mailbox.Message, error) {
	q := &filter{}
	equal(q, "batch", f.Batch)
	equal(q, "task", f.Task)
	among(q, "type", f.Types)
	equal(q, "reply_to", f.ReplyTo)
	q.prefix("id", f.Prefix)
	return find(ctx, r, messages, q, " ORDER BY seq")
}

func (t *tx) AddMessage(ctx context.Context, m mailbox.Message) error {
	return add(ctx, t, messages, &m, string(m.ID))
}
