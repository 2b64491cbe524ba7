package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/mailbox"
)

// RuleRequest is a ruling as its author gave it.
type RuleRequest struct {
	Role      mailbox.Role // from where the process stands
	ReplyTo   string
	Verdict   mailbox.Verdict
	Text      string
	Head      string // revision; "" when bound to none
	DryRun    bool
	RequestID string
	// Sign makes an armored signature over a ruling's statement; nil when the ruling is not signed. It is called outside of
	// any transaction: an agent may ask its owner first.
	Sign func(ctx context.Context, statement []byte) (string, error)

	nonce, signature string
}

// Ruled is the answer to a ruling.
type Ruled struct {
	Result string          `json:"result"` // released, queued or repeated
	Hold   lanes.HoldID    `json:"hold"`
	Ruling lanes.MessageID `json:"ruling"`

	Delivery Way `json:"delivery,omitempty"` // how it gets to the work
}

// Rule validates a ruling and releases its hold, in one transaction. It works the same with and without an engine.
func (e *Engine) Rule(ctx context.Context, q RuleRequest) (Ruled, error) {
	if no := mailbox.MayRule(q.Role); no != nil {
		return Ruled{}, fromRefusal(no)
	}
	if len(q.Text) > MaxText {
		return Ruled{}, refuse(ExitUsage, "too-long", "", "the text has %d bytes, and %d are the most", len(q.Text), MaxText)
	}
	head, err := e.rulingHead(ctx, q)
	if err != nil {
		return Ruled{}, err
	}
	if q, err = e.signRuling(ctx, q, head); err != nil {
		return Ruled{}, err
	}
	owned, err := e.Lock.Held()
	if err != nil {
		return Ruled{}, fmt.Errorf("look at the engine lock: %w", err)
	}
	var out Ruled
	dry := errors.New("dry run")
	err = e.update(ctx, func(tx Tx) error {
		done, err := once(ctx, tx, q.RequestID, &out)
		if done || err != nil {
			return err
		}
		if out, err = e.ruleTx(ctx, tx, q, head, owned); err != nil {
			return err
		}
		if q.DryRun {
			return dry
		}
		return e.remember(ctx, tx, q.RequestID, "rule", out)
	})
	if errors.Is(err, dry) {
		err = nil
	}
	return out, err
}

// rulingHead resolves the commit that a ruling is bound to.
func (e *Engine) rulingHead(ctx context.Context, q RuleRequest) (lanes.Commit, error) {
	if q.Head == "" {
		return "", nil
	}
	head, err := e.Git.Resolve(ctx, q.Head)
	if err != nil {
		return "", refuse(ExitUsage, "no-such-revision", "git log", "--head %s: %v", q.Head, err)
	}
	return head, nil
}

// ruleTx decides and records. Everything is read inside the transaction that releases.
func (e *Engine) ruleTx(ctx context.Context, tx Tx, q RuleRequest, head lanes.Commit, owned bool) (Ruled, error) {
	facts := mailbox.Ruling{Role: q.Role, ReplyTo: q.ReplyTo, Verdict: q.Verdict, Text: q.Text, Head: head}
	h, err := findHold(ctx, tx, q.ReplyTo)
	if err != nil {
		return Ruled{}, err
	}
	var b lanes.Batch
	var t lanes.Task
	m := e.message(h.Batch, h.Task, h.Lane, mailbox.TypeRuling, q.Role)
	m.ReplyTo, m.Gate, m.Verdict, m.Text, m.Head, m.Nonce, m.Signature = string(h.ID), h.Gate, q.Verdict, q.Text, head, q.nonce, q.signature
	if h.ID != "" {
		if b, t, err = e.ruledUnit(ctx, tx, h, &facts); err != nil {
			return Ruled{}, err
		}
		if err = e.verifyRuling(ctx, tx, b, &m, &facts); err != nil {
			return Ruled{}, err
		}
	}
	repeated, no := mailbox.Validate(facts)
	if no != nil && no.Code == mailbox.MissingReplyTo {
		return Ruled{}, e.withCandidates(ctx, tx, fromRefusal(no))
	}
	if no != nil {
		return Ruled{}, fromRefusal(no)
	}
	if repeated {
		out := Ruled{Result: "repeated", Hold: h.ID, Ruling: h.Ruling}
		out.Delivery, err = e.rulingWay(ctx, tx, b, h, t, owned)
		return out, err
	}
	alive, err := e.releaseTx(ctx, tx, h, t, m)
	if err != nil {
		return Ruled{}, err
	}
	out := Ruled{Result: "queued", Hold: h.ID, Ruling: m.ID}
	if owned && (b.Phase == lanes.PhaseRunning && !b.Pausing || alive) {
		out.Result, err = answerOf(ctx, tx)
	}
	if err != nil {
		return out, err
	}
	if t, err = tx.Task(ctx, t.Batch, t.ID); err == nil {
		out.Delivery, err = e.way(ctx, tx, b, t, owned)
	}
	return out, err
}

// rulingWay says how a ruling that was given before gets to the work; "" once its hold was cancelled or its task has ended.
func (e *Engine) rulingWay(ctx context.Context, r Reader, b lanes.Batch, h hold.Record, t lanes.Task, owned bool) (Way, error) {
	switch {
	case h.Delivery == hold.DeliveryAcknowledged:
		return WayAcknowledged, nil
	case !h.Unresolved() || mailbox.CheckAddressee(t) != nil:
		return "", nil
	}
	return e.way(ctx, r, b, t, owned)
}

// ruledUnit fills what stands in the store for the hold that a ruling names.
func (e *Engine) ruledUnit(ctx context.Context, tx Tx, h hold.Record, f *mailbox.Ruling) (b lanes.Batch, t lanes.Task, err error) {
	if b, err = tx.Batch(ctx, h.Batch); err != nil {
		return b, t, err
	}
	if t, err = tx.Task(ctx, h.Batch, h.Task); err != nil {
		return b, t, err
	}
	set, err := settingsOf(b)
	if err != nil {
		return b, t, err
	}
	f.ReplyTo, f.Found, f.Open, f.State, f.Reserved = string(h.ID), true, h.State == hold.Open, string(h.State), h.ReservedFor
	f.NeedSigned = set.Authority.RequireSigned
	f.UnitEnded = t.State.Ended()
	if h.Ruling != "" {
		f.Prior = &mailbox.Prior{ID: h.Ruling, Verdict: h.RulingVerdict, Text: h.RulingText, Head: h.RulingHead}
	}
	if f.Head != "" && f.Open {
		f.LaneHead, err = e.laneHead(ctx, tx, h.Batch, t.Lane)
	}
	return b, t, err
}

// laneHead reads where a lane's branch stands now.
func (e *Engine) laneHead(ctx context.Context, r Reader, b lanes.BatchID, n lanes.Number) (lanes.Commit, error) {
	l, err := r.Lane(ctx, b, n)
	if err != nil {
		return "", err
	}
	info, err := e.Git.Branch(ctx, l.Branch)
	return info.Head, err
}

// releaseTx records a ruling, the released hold and the task that may go on. It reports whether a worker is alive.
func (e *Engine) releaseTx(ctx context.Context, tx Tx, h hold.Record, t lanes.Task, m mailbox.Message) (bool, error) {
	next, err := h.Rule(m)
	if err != nil {
		return false, err
	}
	if err := errors.Join(tx.AddMessage(ctx, m), second(tx.PutHold(ctx, next))); err != nil {
		return false, err
	}
	alive, err := activeRuns(ctx, tx, h.Batch, h.Task)
	if err != nil {
		return false, err
	}
	open, err := openHolds(ctx, tx, h.Batch, h.Task)
	if err != nil {
		return false, err
	}
	if len(open) == 0 && t.State == lanes.TaskHeld {
		in := lanes.Release
		if len(alive) > 0 {
			in = lanes.GoOn
		}
		if t.State, err = t.State.Fire(in); err != nil {
			return false, err
		}
		t.RetryAt = time.Time{} // no back-off after a ruling
		if _, err := tx.PutTask(ctx, t); err != nil {
			return false, err
		}
	}
	return len(alive) > 0, e.event(ctx, tx, lanes.Event{
		Batch: h.Batch, Task: h.Task, Lane: h.Lane, Type: "ruling", Name: "hold-released", Ref: string(h.ID),
		Text: strings.TrimSpace(string(m.Role) + " ruled on " + aboutHold(h) + ": " + string(m.Verdict) + " " + firstLine(m.Text)),
	})
}

func openHolds(ctx context.Context, r Reader, b lanes.BatchID, t lanes.TaskID) ([]hold.Record, error) {
	all, err := r.Holds(ctx, HoldFilter{Batch: b, Task: t, Unresolved: true})
	var open []hold.Record
	for _, h := range all {
		if h.State == hold.Open {
			open = append(open, h)
		}
	}
	return open, err
}

// activeRuns lists runs of a task whose process tree may be alive.
func activeRuns(ctx context.Context, r Reader, b lanes.BatchID, t lanes.TaskID) ([]lanes.Run, error) {
	return r.Runs(ctx, RunFilter{Batch: b, Task: t, States: []lanes.RunState{lanes.RunStarting, lanes.RunRunning}})
}

// findHold looks a hold up by id or by an unambiguous start of one. The zero record means that there is none.
func findHold(ctx context.Context, r Reader, id string) (hold.Record, error) {
	if id == "" {
		return hold.Record{}, nil
	}
	found, err := r.Holds(ctx, HoldFilter{Prefix: strings.ToUpper(id)})
	if err != nil || len(found) == 0 {
		return hold.Record{}, err
	}
	if len(found) > 1 {
		names := make([]string, 0, len(found))
		for _, h := range found {
			names = append(names, string(h.ID)+" ("+string(h.Task)+")")
		}
		return hold.Record{}, refuse(ExitRefused, string(mailbox.AmbiguousReplyTo), "ferrox holds",
			"%s fits %d holds: %s", id, len(found), strings.Join(names, ", "))
	}
	return found[0], nil
}

// withCandidates names the open holds to somebody who named none.
func (e *Engine) withCandidates(ctx context.Context, r Reader, no *Error) error {
	holds, err := r.Holds(ctx, HoldFilter{Unresolved: true})
	if err != nil {
		return err
	}
	var open []string
	for _, h := range holds {
		if h.State == hold.Open {
			open = append(open, string(h.ID)+" ("+string(h.Task)+")")
		}
	}
	if len(open) > 0 {
		no.Message += "; open: " + strings.Join(open, ", ")
	}
	return no
}

// fromRefusal gives a refusal its exit code.
func fromRefusal(r *mailbox.Refusal) *Error {
	exit := ExitRefused
	switch r.Code {
	case mailbox.UnknownEscalation, mailbox.UnknownRuling, mailbox.UnknownAddressee:
		exit = ExitNotFound
	case mailbox.WrongCommand, mailbox.NotForAll, mailbox.EmptyText, mailbox.TooLong:
		exit = ExitUsage
	case mailbox.MissingReplyTo, mailbox.EmptyInstructions, mailbox.AmbiguousReplyTo, mailbox.WorkerMayNotRule, mailbox.InvalidRole, mailbox.WrongUnit, mailbox.ConflictingRuling, mailbox.NotOpen,
		mailbox.StaleHead, mailbox.Unsigned, mailbox.BadSignature, mailbox.NotAWorker, mailbox.UnitEnded:
	}
	return &Error{Exit: exit, Code: string(r.Code), Message: r.Text, Next: r.Next}
}

// answerOf says what a ruling comes to while the repository is owned: an engine whose lease has ended only tidies up.
func answerOf(ctx context.Context, r Reader) (string, error) {
	l, err := r.Lease(ctx)
	if errors.Is(err, ErrNotFound) || err == nil && !l.EndedAt.IsZero() {
		return "queued", nil
	}
	return "released", err
}
