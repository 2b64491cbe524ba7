package mailbox_test

import (
	"testing"

	"pgregory.net/rapid"

	"ferrox/lanes"
	"ferrox/mailbox"
)

// TestStatement_Layout pins version 1 to the byte: other programs sign it, and old signatures must stay good.
func TestStatement_Layout(t *testing.T) {
	t.Parallel()
	got := string(mailbox.Statement{
		Batch: "b1", Hold: "01H", Gate: "code-step1", Head: "c0ffee", Verdict: "fix", Nonce: "n", Text: "use ä\nnot b",
	}.Bytes())
	want := "ferrox-ruling 1\nbatch 2 b1\nhold 3 01H\ngate 10 code-step1\nhead 6 c0ffee\nverdict 3 fix\nnonce 1 n\ntext 12 use ä\nnot b\n"
	if got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// TestStatement_NoTwoAlike: whatever stands in the fields, different statements have different bytes.
func TestStatement_NoTwoAlike(t *testing.T) {
	t.Parallel()
	field := rapid.SampledFrom([]string{"", "a", "a\nhead 0 ", "\n", " ", "0 ", "gate 1 a"})
	one := rapid.Custom(func(t *rapid.T) mailbox.Statement {
		return mailbox.Statement{
			Batch: lanes.BatchID(field.Draw(t, "batch")), Hold: lanes.HoldID(field.Draw(t, "hold")), Gate: field.Draw(t, "gate"),
			Head: lanes.Commit(field.Draw(t, "head")), Verdict: mailbox.Verdict(field.Draw(t, "verdict")), Nonce: field.Draw(t, "nonce"),
			Text: field.Draw(t, "text"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := one.Draw(t, "a"), one.Draw(t, "b")
		if same := string(a.Bytes()) == string(b.Bytes()); same != (a == b) {
			t.Fatalf("%+v and %+v: same bytes: %v", a, b, same)
		}
	})
}

func TestLower(t *testing.T) {
	t.Parallel()
	const op, sup = mailbox.RoleOperator, mailbox.RoleSupervisor
	for _, tc := range []struct{ a, b, want mailbox.Role }{
		{op, op, op},
		{op, sup, sup},
		{sup, op, sup},
		{sup, sup, sup},
		{op, mailbox.RoleWorker, mailbox.RoleUnknown},
		{mailbox.RoleWorker, op, mailbox.RoleUnknown},
		{op, "", mailbox.RoleUnknown},
		{mailbox.RoleEngine, sup, mailbox.RoleUnknown},
	} {
		if got := mailbox.Lower(tc.a, tc.b); got != tc.want {
			t.Errorf("%q and %q: %q, want %q", tc.a, tc.b, got, tc.want)
		}
	}
}
