package mailbox

import (
	"strconv"

	"ferrox/lanes"
)

// Statement is what a signature under a ruling covers: this answer, to this hold, once.
type Statement struct {
	Batch   lanes.BatchID
	Hold    lanes.HoldID
	Gate    string       // "" for none
	Head    lanes.Commit // "" when the ruling is bound to no commit
	Verdict Verdict
	Nonce   string
	Text    string
}

// statementVersion begins every statement. Another layout gets another number.
const statementVersion = "ferrox-ruling 1\n"

// Bytes lays the statement out for signing: the version, then one line a field, "name length value", where length counts
// the value's bytes, so that no two statements have the same bytes. docs/signatures.md describes it for other programs.
func (s Statement) Bytes() []byte {
	b := []byte(statementVersion)
	for _, f := range [...]struct{ name, value string }{
		{"batch", string(s.Batch)},
		{"hold", string(s.Hold)},
		{"gate", s.Gate},
		{"head", string(s.Head)},
		{"verdict", string(s.Verdict)},
		{"nonce", s.Nonce},
		{"text", s.Text},
	} {
		b = append(b, f.name...)
		b = append(b, ' ')
		b = strconv.AppendInt(b, int64(len(f.value)), 10)
		b = append(b, ' ')
		b = append(b, f.value...)
		b = append(b, '\n')
	}
	return b
}

// StatementOf is what a ruling, as stored, must have been signed as.
func StatementOf(m Message) Statement {
	return Statement{
		Batch: m.Batch, Hold: lanes.HoldID(m.ReplyTo), Gate: m.Gate, Head: m.Head, Verdict: m.Verdict, Nonce: m.Nonce, Text: m.Text,
	}
}

// Lower returns the role with less authority of two that may rule; anything else rules nothing.
func Lower(a, b Role) Role {
	switch {
	case a == RoleOperator && b == RoleOperator:
		return RoleOperator
	case MayRule(a) == nil && MayRule(b) == nil:
		return RoleSupervisor
	}
	return RoleUnknown
}
