package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/lanes/settings"
	"ferrox/mailbox"
)

// signRuling lets the author's key sign, when there is an open hold to rule on. What is wrong with the ruling otherwise is
// for its validation to say.
func (e *Engine) signRuling(ctx context.Context, q RuleRequest, head lanes.Commit) (RuleRequest, error) {
	if q.Sign == nil {
		return q, nil
	}
	var h hold.Record
	err := e.Store.View(ctx, func(r Reader) (err error) {
		h, err = findHold(ctx, r, q.ReplyTo)
		return err
	})
	if err != nil || h.State != hold.Open {
		return q, err
	}
	q.nonce = e.NewID() + e.NewID()
	statement := mailbox.Statement{
		Batch: h.Batch, Hold: h.ID, Gate: h.Gate, Head: head, Verdict: q.Verdict, Nonce: q.nonce, Text: q.Text,
	}
	if q.signature, err = q.Sign(ctx, statement.Bytes()); err != nil {
		return q, refuse(ExitUsage, "cannot-sign", "ssh-add -l", "%v", err)
	}
	return q, nil
}

// verifyRuling checks a ruling's signature inside the transaction that releases. A signed ruling counts as of the lower
// role of two: where its author stands, and whose key it is.
func (e *Engine) verifyRuling(ctx context.Context, tx Tx, b lanes.Batch, m *mailbox.Message, f *mailbox.Ruling) error {
	d := demandOf(b)
	f.NeedSigned = d.signed
	if m.Signature == "" {
		return nil
	}
	f.Signed = true
	used, err := tx.Messages(ctx, MessageFilter{Batch: m.Batch, Types: []mailbox.Type{mailbox.TypeRuling}, ReplyTo: m.ReplyTo})
	if err != nil {
		return err
	}
	for _, other := range used {
		if other.Nonce == m.Nonce {
			f.Fault = "ruling " + string(other.ID) + " has its nonce"
			return nil
		}
	}
	if d.fault != "" {
		f.Fault = d.fault
		return nil
	}
	who, err := e.Signatures.Verify(d.signers, m.Signature, mailbox.StatementOf(*m).Bytes(), m.CreatedAt)
	if err != nil {
		f.Fault = err.Error()
		return nil
	}
	f.SignatureOK, m.Signed, m.Principal = true, true, who.Principal
	m.Role = mailbox.Lower(m.Role, who.Role)
	f.Role = m.Role
	return nil
}

// loadSigners reads the allowed-signers file of the main checkout's working tree. Its content is what a batch freezes.
func (e *Engine) loadSigners(set settings.Settings) (content string, notes []string, err error) {
	name := set.Authority.AllowedSigners
	data, err := os.ReadFile(filepath.Join(e.Root, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", nil, refuse(ExitUsage, "bad-signers", "make "+name+" readable", "read the allowed signers: %v", err)
	}
	keys, err := e.Signatures.CheckSigners(string(data))
	if err != nil {
		return "", nil, refuse(ExitUsage, "bad-signers", "edit "+name, "read %s: %v", name, err)
	}
	if keys == 0 && set.Authority.RequireSigned {
		notes = append(notes, "warning: authority.require_signed is set, and "+name+" has no key that may rule: no ruling can be accepted")
	}
	return string(data), notes, nil
}

// reloadSigners takes the allowed signers of today, with an event, or says that they differ from the frozen ones.
func (e *Engine) reloadSigners(ctx context.Context, tx Tx, b *lanes.Batch, today string, reload bool) (notes []string, err error) {
	if b.Signers == today {
		return nil, nil
	}
	if !reload {
		return []string{"the allowed signers differ from what is frozen with the batch; the frozen ones count (--reload takes the new ones)"}, nil
	}
	before := b.SignersDigest
	freezeSigners(b, today)
	return nil, e.event(ctx, tx, lanes.Event{
		Batch: b.ID, Type: "engine", Name: "signers-reloaded", Ref: b.SignersDigest, Text: "the allowed signers were " + before,
	})
}

// freezeSigners puts the allowed signers into a batch's record.
func freezeSigners(b *lanes.Batch, content string) {
	if b.Signers, b.SignersDigest = content, ""; content != "" {
		b.SignersDigest = digest([]byte(content))
	}
}
