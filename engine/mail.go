package engine

import (
	"context"
	"errors"
	"slices"
	"strings"

	"ferrox/lanes"
	"ferrox/mailbox"
)

// Steer and info are mail: each message is owed one prompt of its unit, the next one, as an effect that is settled when the
// worker with that prompt was started. Until then, and while that worker lives, it also lies in the unit's live inbox. Mail that a
// worker answered waits no more.

// mailTypes are the types that are kept for a unit's worker.
func mailTypes() (types []mailbox.Type) {
	for _, rule := range mailbox.Rules() {
		if rule.Mail {
			types = append(types, rule.Type)
		}
	}
	return types
}

func mailKey(id lanes.MessageID) string { return "mail/" + string(id) }

// inPrompt is the outcome of mail that stood in the prompt of a run.
func inPrompt(run lanes.RunID) string { return "in the prompt of run " + string(run) }

// waitingMail lists the mail of a unit that no prompt had yet, oldest first.
func waitingMail(ctx context.Context, r Reader, b lanes.BatchID, t lanes.TaskID) ([]mailbox.Message, error) {
	return mailFor(ctx, r, b, t, "")
}

// mailFor lists the mail of a unit that is for one run of it: what stood in its prompt, and what no prompt had yet.
func mailFor(ctx context.Context, r Reader, b lanes.BatchID, t lanes.TaskID, run lanes.RunID) ([]mailbox.Message, error) {
	all, err := r.Messages(ctx, MessageFilter{Batch: b, Task: t, Types: mailTypes()})
	var mail []mailbox.Message
	for _, m := range all {
		owed, missing := r.Effect(ctx, mailKey(m.ID))
		if missing != nil {
			return nil, missing
		}
		if owed.State != lanes.EffectPending && (run == "" || owed.Outcome != inPrompt(run)) {
			continue
		}
		answers, unread := answersTo(ctx, r, m)
		if unread != nil {
			return nil, unread
		}
		if len(answers) == 0 {
			mail = append(mail, m)
		}
	}
	return mail, err
}

// answersTo lists what workers answered to mail.
func answersTo(ctx context.Context, r Reader, m mailbox.Message) ([]mailbox.Message, error) {
	return r.Messages(ctx, MessageFilter{Batch: m.Batch, Task: m.Task, Types: []mailbox.Type{mailbox.TypeReply}, ReplyTo: string(m.ID)})
}

// settleMail books that mail was in a prompt, or was answered. What was settled before stays as it is.
func (e *Engine) settleMail(ctx context.Context, tx Tx, id lanes.MessageID, outcome string) error {
	owed, err := tx.Effect(ctx, mailKey(id))
	if errors.Is(err, ErrNotFound) || err == nil && owed.State != lanes.EffectPending {
		return nil
	}
	if err != nil {
		return err
	}
	return tx.SettleEffect(ctx, mailKey(id), lanes.EffectDone, outcome, e.Clock.Now())
}

// answerMail books a worker's answer to mail of its own unit, named by its id or an unambiguous start of it. It reports false
// when there is none.
func (e *Engine) answerMail(ctx context.Context, tx Tx, run lanes.Run, id, text string) (any, string, bool, error) {
	all, err := tx.Messages(ctx, MessageFilter{Batch: run.Batch, Task: run.Task, Types: mailTypes(), Prefix: strings.ToUpper(id)})
	if err != nil || id == "" || len(all) == 0 {
		return nil, "", false, err
	}
	if len(all) > 1 {
		return nil, "", false, refuse(ExitRefused, string(mailbox.AmbiguousReplyTo), "ferrox inbox", "%q fits %d messages", id, len(all))
	}
	to := all[0]
	answer := map[string]string{"message": string(to.ID)}
	before, err := answersTo(ctx, tx, to)
	if err != nil || slices.ContainsFunc(before, func(m mailbox.Message) bool { return text == "" || m.Text == text }) {
		return answer, "answered before", true, err
	}
	m := e.message(run.Batch, run.Task, run.Lane, mailbox.TypeReply, mailbox.RoleWorker)
	m.By, m.ReplyTo, m.Text = string(run.Task), string(to.ID), text
	err = errors.Join(tx.AddMessage(ctx, m), e.settleMail(ctx, tx, to.ID, "answered"), e.event(ctx, tx, lanes.Event{
		Batch: run.Batch, Task: run.Task, Lane: run.Lane, Type: "task", Name: "mail-answered", Ref: string(m.ID),
		Text: "the worker has " + string(to.Type) + " " + string(to.ID) + ": " + firstLine(text),
	}))
	return answer, "answered", true, err
}
