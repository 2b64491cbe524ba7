package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/mailbox"
)

// Letter is one thing that a worker has to know: a ruling that it has not acknowledged, or mail. It is a line of the file that
// FERROX_INBOX names, and an element of what `ferrox inbox` prints below a worker's shim.
type Letter struct {
	ID       lanes.MessageID `json:"id"`
	Type     mailbox.Type    `json:"type"` // ruling, steer or info
	TS       string          `json:"ts"`
	Role     mailbox.Role    `json:"role"` // of who sent it
	By       string          `json:"by,omitempty"`
	Verdict  mailbox.Verdict `json:"verdict,omitempty"` // rulings
	Text     string          `json:"text"`
	Hold     lanes.HoldID    `json:"hold,omitempty"`     // rulings: the hold that was ruled on
	Gate     string          `json:"gate,omitempty"`     // rulings
	Question string          `json:"question,omitempty"` // rulings: what the worker asked
	Head     lanes.Commit    `json:"head,omitempty"`     // rulings bound to a commit
	Ack      string          `json:"ack"`                // the command that says that the worker has it
}

// lettersFor lists what a run's worker has to know: its unit's rulings that are not acknowledged, the oldest ruling first, then the
// mail that is for this run.
func lettersFor(ctx context.Context, r Reader, run lanes.Run) ([]Letter, error) {
	holds, err := r.Holds(ctx, HoldFilter{Batch: run.Batch, Task: run.Task, Unresolved: true})
	if err != nil {
		return nil, err
	}
	mail, err := mailFor(ctx, r, run.Batch, run.Task, run.ID)
	return letters(holds, mail), err
}

func letters(holds []hold.Record, mail []mailbox.Message) []Letter {
	all := []Letter{}
	for _, h := range undelivered(holds) {
		all = append(all, Letter{
			ID: h.Ruling, Type: mailbox.TypeRuling, TS: stamp(h.RuledAt), Role: h.RulingRole, By: h.RulingBy, Verdict: h.RulingVerdict,
			Text: h.RulingText, Hold: h.ID, Gate: h.Gate, Question: h.Question, Head: h.RulingHead, Ack: "ferrox ack " + string(h.Ruling),
		})
	}
	for _, m := range mail {
		all = append(all, Letter{
			ID: m.ID, Type: m.Type, TS: stamp(m.CreatedAt), Role: m.Role, By: m.By, Text: m.Text, Ack: "ferrox ack " + string(m.ID),
		})
	}
	return all
}

// undelivered lists the holds that are ruled on and not acknowledged, the oldest ruling first.
func undelivered(holds []hold.Record) []hold.Record {
	return slices.DeleteFunc(byRuling(holds), func(h hold.Record) bool { return h.State != hold.Released || !h.Unresolved() })
}

// letterFile is the content of the file that FERROX_INBOX names: one JSON object a line.
func letterFile(all []Letter) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, l := range all {
		if err := enc.Encode(l); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}
