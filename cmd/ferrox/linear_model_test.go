package main

import (
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// asked is a command on the holds of one gate, or on the mail of one text: the key.
type asked struct {
	verb string // escalate, rule, extend, ack, holds or send
	key  string
	id   string // the hold, or for ack the ruling
	text string // of a ruling
	by   time.Duration

	hurried bool // it is killed, perhaps before it can answer
}

// answered is what a command said. Of one that was killed before it could answer nothing is known.
type answered struct {
	result   string // what it did, or the code of its refusal
	id       string
	deadline int64 // microseconds
	holds    []holdRow
	killed   bool
}

// holdRow is a hold as it can be seen from outside.
type holdRow struct {
	id, state    string
	deadline     int64
	ruling, text string // an unknown ruling is that of a command which was killed
	acked        bool
}

const unknownRuling = "?"

// holdBook is the sequential model of what stands under one key.
type holdBook struct {
	holds []holdRow
	mail  string
}

func (b holdBook) with(i int, change func(*holdRow)) holdBook {
	b.holds = slices.Clone(b.holds)
	change(&b.holds[i])
	return b
}

func (b holdBook) find(ok func(holdRow) bool) int { return slices.IndexFunc(b.holds, ok) }

func (b holdBook) hold(id string) int {
	return b.find(func(h holdRow) bool { return h.id == id })
}

// linearModel holds histories to what one command after the other would have answered. result is what a first ruling answers.
func linearModel(result string) porcupine.Model {
	m := porcupine.NondeterministicModel{
		Partition: partition,
		Init:      func() []any { return []any{holdBook{}} },
		Step: func(state, input, output any) (next []any) {
			for _, b := range step1(state.(holdBook), input.(asked), output.(answered), result) {
				next = append(next, b)
			}
			return next
		},
		Equal: func(a, b any) bool {
			return slices.Equal(a.(holdBook).holds, b.(holdBook).holds) && a.(holdBook).mail == b.(holdBook).mail
		},
	}
	return m.ToModel()
}

// partition takes the keys apart: what happens under one says nothing of another.
func partition(history []porcupine.Operation) (parts [][]porcupine.Operation) {
	at := map[string]int{}
	for _, op := range history {
		key := op.Input.(asked).key
		if _, known := at[key]; !known {
			at[key] = len(parts)
			parts = append(parts, nil)
		}
		parts[at[key]] = append(parts[at[key]], op)
	}
	return parts
}

// step1 returns what may stand in the book after a command that answered so; nothing when it could not have.
func step1(b holdBook, in asked, out answered, result string) []holdBook {
	switch in.verb {
	case "escalate":
		return stepEscalate(b, out)
	case "rule":
		return stepRule(b, in, out, result)
	case "extend":
		return stepExtend(b, in, out)
	case "ack":
		return stepAck(b, in, out)
	case "holds":
		return stepHolds(b, out)
	case "send":
		return stepSend(b, out)
	}
	return nil
}

func allowed(ok bool, b holdBook) []holdBook {
	if !ok {
		return nil
	}
	return []holdBook{b}
}

func stepEscalate(b holdBook, out answered) []holdBook {
	if i := b.find(func(h holdRow) bool { return h.state == "open" }); i >= 0 {
		return allowed(out.result == "repeated" && out.id == b.holds[i].id && out.deadline == b.holds[i].deadline, b)
	}
	if out.result != "opened" || b.hold(out.id) >= 0 {
		return nil
	}
	b.holds = append(slices.Clone(b.holds), holdRow{id: out.id, state: "open", deadline: out.deadline})
	return []holdBook{b}
}

func stepRule(b holdBook, in asked, out answered, result string) []holdBook {
	i := b.hold(in.id)
	if i < 0 {
		return nil
	}
	released := func(id string) holdBook {
		return b.with(i, func(h *holdRow) { h.state, h.ruling, h.text = "released", id, in.text })
	}
	h := b.holds[i]
	switch {
	case out.killed && h.state == "open":
		return []holdBook{b, released(unknownRuling)}
	case out.killed:
		return []holdBook{b}
	case h.state == "open":
		return allowed(out.result == result, released(out.id))
	case h.text == in.text:
		return allowed(out.result == "repeated" && (h.ruling == out.id || h.ruling == unknownRuling), released(out.id))
	}
	return allowed(out.result == "conflicting-ruling", b)
}

func stepExtend(b holdBook, in asked, out answered) []holdBook {
	i := b.hold(in.id)
	if i < 0 || b.holds[i].state != "open" {
		return allowed(i >= 0 && out.result == "not-open", b)
	}
	to := b.holds[i].deadline + in.by.Microseconds()
	return allowed(out.result == "extended" && out.deadline == to, b.with(i, func(h *holdRow) { h.deadline = to }))
}

// stepAck knows the ruling by its id, or takes it for one of those that it does not know.
func stepAck(b holdBook, in asked, out answered) (next []holdBook) {
	for i, h := range b.holds {
		if h.ruling != in.id && h.ruling != unknownRuling {
			continue
		}
		want := "acknowledged"
		if h.acked {
			want = "acknowledged before"
		}
		next = append(next, allowed(out.result == want, b.with(i, func(h *holdRow) { h.ruling, h.acked = in.id, true }))...)
	}
	return next
}

// stepHolds compares the book with what was read, and learns rulings that it does not know.
func stepHolds(b holdBook, out answered) []holdBook {
	if len(b.holds) != len(out.holds) {
		return nil
	}
	for i, h := range out.holds {
		if i < len(b.holds) && b.holds[i].ruling == unknownRuling {
			b = b.with(i, func(known *holdRow) { known.ruling = h.ruling })
		}
	}
	return allowed(slices.Equal(b.holds, out.holds), b)
}

func stepSend(b holdBook, out answered) []holdBook {
	if b.mail != "" {
		return allowed(out.result == "repeated" && out.id == b.mail, b)
	}
	b.mail = out.id
	return allowed(out.result == "sent", b)
}

// history is a made-up one: commands that follow one another, but for those that are told to overlap.
type history []porcupine.Operation

func (h history) then(in asked, out answered) history {
	at := int64(2 * len(h))
	in.key = "g"
	return append(h, porcupine.Operation{Input: in, Call: at, Output: out, Return: at + 1})
}

// during lets the last command begin together with the one before it.
func (h history) during() history {
	h[len(h)-1].Call = h[len(h)-2].Call
	return h
}

// TestLinearModel_TellsWrongHistories gives the checker answers that nobody may get: each is refused, and the right one
// beside it is not.
func TestLinearModel_TellsWrongHistories(t *testing.T) {
	t.Parallel()
	opened := history{}.then(asked{verb: "escalate"}, answered{result: "opened", id: "H", deadline: 100})
	rule := func(text string) asked { return asked{verb: "rule", id: "H", text: text} }
	ruled := opened.then(rule("a"), answered{result: "released", id: "R"})
	held := func(rows ...holdRow) answered { return answered{holds: rows} }
	released := holdRow{id: "H", state: "released", deadline: 100, ruling: "R", text: "a"}
	acked := released
	acked.acked = true
	acknowledged := slices.Clip(ruled).then(asked{verb: "ack", id: "R"}, answered{result: "acknowledged"})
	killed := slices.Clip(opened).then(rule("a"), answered{killed: true})
	sent := history{}.then(asked{verb: "send"}, answered{result: "sent", id: "M"})
	for name, c := range map[string]struct {
		after history
		in    asked
		right answered
		wrong answered
		meets bool // the command overlaps the last one
	}{
		"an open question asked again opens another": {after: opened, in: asked{verb: "escalate"}, right: answered{result: "repeated", id: "H", deadline: 100}, wrong: answered{result: "opened", id: "H2", deadline: 100}},
		"a repeated question moves the deadline":     {after: opened, in: asked{verb: "escalate"}, right: answered{result: "repeated", id: "H", deadline: 100}, wrong: answered{result: "repeated", id: "H", deadline: 101}},
		"two rulings are accepted":                   {after: ruled, in: rule("b"), right: answered{result: "conflicting-ruling"}, wrong: answered{result: "released", id: "R2"}},
		"two rulings at once are accepted":           {after: ruled, in: rule("b"), right: answered{result: "conflicting-ruling"}, wrong: answered{result: "released", id: "R2"}, meets: true},
		"a ruling is applied twice":                  {after: ruled, in: rule("a"), right: answered{result: "repeated", id: "R"}, wrong: answered{result: "released", id: "R2"}},
		"a ruling is repeated as another":            {after: ruled, in: rule("a"), right: answered{result: "repeated", id: "R"}, wrong: answered{result: "repeated", id: "R2"}},
		"an accepted ruling is lost":                 {after: ruled, in: asked{verb: "holds"}, right: held(released), wrong: held(holdRow{id: "H", state: "open", deadline: 100})},
		"a question is lost":                         {after: opened, in: asked{verb: "holds"}, right: held(holdRow{id: "H", state: "open", deadline: 100}), wrong: held()},
		"a deadline moves after the ruling":          {after: ruled, in: asked{verb: "extend", id: "H", by: time.Microsecond}, right: answered{result: "not-open"}, wrong: answered{result: "extended", deadline: 101}},
		"an extension is forgotten":                  {after: opened, in: asked{verb: "extend", id: "H", by: time.Microsecond}, right: answered{result: "extended", deadline: 101}, wrong: answered{result: "extended", deadline: 100}},
		"an acknowledgement counts twice":            {after: acknowledged, in: asked{verb: "ack", id: "R"}, right: answered{result: "acknowledged before"}, wrong: answered{result: "acknowledged"}},
		"an acknowledgement is lost":                 {after: acknowledged, in: asked{verb: "holds"}, right: held(acked), wrong: held(released)},
		"a killed ruling turns into another":         {after: killed, in: asked{verb: "holds"}, right: held(released), wrong: held(holdRow{id: "H", state: "released", deadline: 100, ruling: "R", text: "b"})},
		"mail that waits is kept twice":              {after: sent, in: asked{verb: "send"}, right: answered{result: "repeated", id: "M"}, wrong: answered{result: "sent", id: "M2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, end := range []struct {
				out  answered
				want bool
			}{{c.right, true}, {c.wrong, false}} {
				h := slices.Clip(c.after).then(c.in, end.out)
				if c.meets {
					h = h.during()
				}
				if got := porcupine.CheckOperations(linearModel("released"), h); got != end.want {
					t.Errorf("%+v: the checker says %v", end.out, got)
				}
			}
		})
	}
}
