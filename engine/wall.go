package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/mailbox"
)

// Wall is a store through which a row put in by hand releases nothing. In a batch that asks for signatures, every reading
// of a hold verifies the ruling that released it; a hold whose release is not proven reads as open, with the reason in
// Unproven, for everything that asks: delivery, acknowledgement, the predicate, the views. What is stored stays as it is.
type Wall struct {
	Store
	signatures Signatures
	clock      Clock

	mu     sync.Mutex
	pinned map[lanes.BatchID]demand // what this process has frozen
}

// NewWall builds a wall around a store.
func NewWall(s Store, signatures Signatures, clock Clock) *Wall {
	return &Wall{Store: s, signatures: signatures, clock: clock, pinned: map[lanes.BatchID]demand{}}
}

// View implements Store.
func (w *Wall) View(ctx context.Context, fn func(Reader) error) error {
	return w.Store.View(ctx, func(r Reader) error { return fn(walledReader{r, w}) })
}

// Update implements Store.
func (w *Wall) Update(ctx context.Context, fn func(Tx) error) error {
	return w.Store.Update(ctx, func(tx Tx) error { return fn(walledTx{tx, w}) })
}

type walledReader struct {
	Reader
	wall *Wall
}

func (r walledReader) Hold(ctx context.Context, id lanes.HoldID) (hold.Record, error) {
	return r.wall.hold(ctx, r.Reader, id)
}

func (r walledReader) Holds(ctx context.Context, f HoldFilter) ([]hold.Record, error) {
	return r.wall.holds(ctx, r.Reader, f)
}

type walledTx struct {
	Tx
	wall *Wall
}

func (t walledTx) Hold(ctx context.Context, id lanes.HoldID) (hold.Record, error) {
	return t.wall.hold(ctx, t.Tx, id)
}

func (t walledTx) Holds(ctx context.Context, f HoldFilter) ([]hold.Record, error) {
	return t.wall.holds(ctx, t.Tx, f)
}

// demand is what a batch asks of its rulings.
type demand struct {
	batch   lanes.Batch
	signed  bool
	signers string
	fault   string // why no signature can be good; "" when one can
}

// demandOf reads what was frozen with a batch. Settings that cannot be read ask for everything.
func demandOf(b lanes.Batch) demand {
	d := demand{batch: b, signed: true, signers: b.Signers}
	set, err := settingsOf(b)
	switch {
	case err != nil:
		d.fault = err.Error()
	case b.Signers != "" && digest([]byte(b.Signers)) != b.SignersDigest:
		d.fault = "the allowed signers frozen with the batch do not have the digest that was frozen with them"
	}
	if err == nil {
		d.signed = set.Authority.RequireSigned
	}
	return d
}

// pin freezes what a batch asks of its rulings for as long as this process lives: what is written into the batch's row
// behind an engine's back changes nothing for it.
func (w *Wall) pin(b lanes.Batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pinned[b.ID] = demandOf(b)
}

// pinDemand freezes what a batch asks of its rulings, where the store is a wall.
func (e *Engine) pinDemand(b lanes.Batch) {
	if w, ok := e.Store.(*Wall); ok {
		w.pin(b)
	}
}

func (w *Wall) demand(ctx context.Context, r Reader, id lanes.BatchID) (demand, error) {
	w.mu.Lock()
	d, ok := w.pinned[id]
	w.mu.Unlock()
	b, err := r.Batch(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return demand{}, nil
	}
	if !ok {
		d = demandOf(b)
	}
	d.batch.Phase = b.Phase
	return d, err
}

func (w *Wall) hold(ctx context.Context, r Reader, id lanes.HoldID) (hold.Record, error) {
	h, err := r.Hold(ctx, id)
	if err != nil {
		return h, err
	}
	d, err := w.demand(ctx, r, h.Batch)
	if err != nil {
		return h, err
	}
	return w.counted(ctx, r, d, h)
}

// holds filters after the proof: a release that is not proven is found as an open hold.
func (w *Wall) holds(ctx context.Context, r Reader, f HoldFilter) ([]hold.Record, error) {
	demands := map[lanes.BatchID]demand{}
	if f.Batch != "" {
		d, err := w.demand(ctx, r, f.Batch)
		if err != nil || !d.signed {
			return orRows(ctx, r, f, err)
		}
		demands[f.Batch] = d
	}
	stored := f
	stored.Unresolved, stored.Ruling = false, ""
	rows, err := r.Holds(ctx, stored)
	if err != nil {
		return nil, err
	}
	for i, h := range rows {
		d, known := demands[h.Batch]
		if !known {
			if d, err = w.demand(ctx, r, h.Batch); err != nil {
				return nil, err
			}
			demands[h.Batch] = d
		}
		if rows[i], err = w.counted(ctx, r, d, h); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(rows, func(h hold.Record) bool {
		return f.Unresolved && !h.Unresolved() || f.Ruling != "" && h.Ruling != f.Ruling
	}), nil
}

func orRows(ctx context.Context, r Reader, f HoldFilter, err error) ([]hold.Record, error) {
	if err != nil {
		return nil, err
	}
	return r.Holds(ctx, f)
}

// counted returns a hold as it counts: open, when the batch asks for signatures and its end is not proven.
func (w *Wall) counted(ctx context.Context, r Reader, d demand, h hold.Record) (hold.Record, error) {
	if !d.signed || h.State == hold.Open {
		return h, nil
	}
	why, err := w.unproven(ctx, r, d, h)
	if err != nil || why == "" {
		return h, err
	}
	if landed, err := landedUnit(ctx, r, h); landed || err != nil {
		return h, err
	}
	h.State, h.Delivery, h.DeliveryRun, h.AcknowledgedAt = hold.Open, hold.DeliveryNone, "", time.Time{}
	h.Ruling, h.RulingVerdict, h.RulingText, h.RulingRole, h.RulingBy, h.RulingHead = "", "", "", "", "", ""
	h.RulingSigned, h.RuledAt, h.CancelledAt, h.CancelReason = false, time.Time{}, time.Time{}, ""
	h.Unproven = why
	return h, nil
}

// landedUnit reports whether a hold's task has landed. Its rulings were proven then; a reload of the settings or the signers
// since does not open again what nobody could rule on any more.
func landedUnit(ctx context.Context, r Reader, h hold.Record) (bool, error) {
	t, err := r.Task(ctx, h.Batch, h.Task)
	return err == nil && t.State == lanes.TaskSucceeded && t.Merge != "", err
}

// unproven says why the end of a hold does not count; "" when it does.
func (w *Wall) unproven(ctx context.Context, r Reader, d demand, h hold.Record) (string, error) {
	if h.State == hold.Cancelled {
		return uncancelled(ctx, r, d, h)
	}
	if h.State != hold.Released {
		return fmt.Sprintf("its state is %q, which no hold has", h.State), nil
	}
	m, err := r.Message(ctx, h.Ruling)
	if errors.Is(err, ErrNotFound) {
		return fmt.Sprintf("it is marked as released, and its ruling %q is not in the store", h.Ruling), nil
	}
	if err != nil {
		return "", err
	}
	if why := mismatch(h, m); why != "" {
		return why, nil
	}
	if why, err := replayed(ctx, r, m); why != "" || err != nil {
		return why, err
	}
	signer, err := w.signer(d, m, instantOf(h, w.clock.Now()))
	if err != nil {
		return fmt.Sprintf("ruling %s: %v", m.ID, err), nil
	}
	if mailbox.Lower(signer.Role, m.Role) != m.Role {
		return fmt.Sprintf("ruling %s is stamped %s, and its key is %s's", m.ID, m.Role, signer.Principal), nil
	}
	return unreserved(ctx, r, d, h, m)
}

// uncancelled: only an abort cancels, and it fails the unit in the same transaction.
func uncancelled(ctx context.Context, r Reader, d demand, h hold.Record) (string, error) {
	if d.batch.Phase == lanes.PhaseAborted {
		return "", nil
	}
	t, err := r.Task(ctx, h.Batch, h.Task)
	if err != nil || t.State == lanes.TaskFailed || t.State == lanes.TaskSkipped {
		return "", err
	}
	return "it is marked as cancelled, and nothing was aborted", nil
}

// mismatch compares what a hold says of its ruling with the ruling.
func mismatch(h hold.Record, m mailbox.Message) string {
	switch {
	case m.Type != mailbox.TypeRuling || m.ReplyTo != string(h.ID) || m.Batch != h.Batch || m.Task != h.Task:
		return fmt.Sprintf("it is marked as released by %s, which is no ruling on it", m.ID)
	case m.Gate != h.Gate || m.Verdict != h.RulingVerdict || m.Text != h.RulingText || m.Head != h.RulingHead || m.Role != h.RulingRole:
		return fmt.Sprintf("it does not say what ruling %s says", m.ID)
	case m.Signature == "":
		return fmt.Sprintf("ruling %s is not signed", m.ID)
	}
	return ""
}

// replayed looks for another ruling with the same nonce. The nonce is signed together with the hold, so that only rulings
// on the same hold can share a good one.
func replayed(ctx context.Context, r Reader, m mailbox.Message) (string, error) {
	all, err := r.Messages(ctx, MessageFilter{Batch: m.Batch, Types: []mailbox.Type{mailbox.TypeRuling}, ReplyTo: m.ReplyTo})
	for _, other := range all {
		if other.ID != m.ID && other.Nonce == m.Nonce {
			return fmt.Sprintf("ruling %s has the nonce of ruling %s", m.ID, other.ID), err
		}
	}
	return "", err
}

// signer says whose key signed a ruling.
func (w *Wall) signer(d demand, m mailbox.Message, at time.Time) (Signer, error) {
	if d.fault != "" {
		return Signer{}, errors.New(d.fault)
	}
	return w.signatures.Verify(d.signers, m.Signature, mailbox.StatementOf(m).Bytes(), at)
}

// instantOf is when a hold was ruled on, for keys that are valid for a time: not before the hold was made, which its
// signed id tells, and not in the future, whatever the row says.
func instantOf(h hold.Record, now time.Time) time.Time {
	at := h.RuledAt
	if id, err := ulid.ParseStrict(string(h.ID)); err == nil && at.Before(ulid.Time(id.Time())) {
		at = ulid.Time(id.Time())
	}
	if at.After(now) {
		return now
	}
	return at
}

// unreserved asks whether the ruling's role may rule on the hold, by all that says whom it is reserved for.
func unreserved(ctx context.Context, r Reader, d demand, h hold.Record, m mailbox.Message) (string, error) {
	asked, err := r.Message(ctx, lanes.MessageID(h.ID))
	if err != nil && !errors.Is(err, ErrNotFound) {
		return "", err
	}
	for _, role := range []mailbox.Role{h.ReservedFor, asked.Reserved, reservedFor(d.batch, h.Gate)} {
		if role != "" && m.Role != role {
			return fmt.Sprintf("it is reserved for the %s, and ruling %s is a %s's", role, m.ID, m.Role), nil
		}
	}
	return "", nil
}
