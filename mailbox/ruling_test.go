package mailbox_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ferrox/lanes"
	"ferrox/mailbox"
)

// good is a ruling that nothing is wrong with.
func good() mailbox.Ruling {
	return mailbox.Ruling{
		Role: mailbox.RoleSupervisor, ReplyTo: "H-1", Verdict: mailbox.VerdictApprove, Text: "Do it.",
		Found: true, Open: true, State: "open", LaneHead: "aaaa",
	}
}

// fault is one thing that can be wrong with a ruling, and what is answered when it is.
type fault struct {
	name string
	set  func(r *mailbox.Ruling)
	code mailbox.RefusalCode
}

// faults are in the order in which they are looked for: each one is answered before all that follow.
func faults() []fault {
	return []fault{
		{"a worker rules", func(r *mailbox.Ruling) { r.Role = mailbox.RoleWorker }, mailbox.WorkerMayNotRule},
		{"nobody knows who rules", func(r *mailbox.Ruling) { r.Role = mailbox.RoleUnknown }, mailbox.InvalidRole},
		{"the engine rules", func(r *mailbox.Ruling) { r.Role = mailbox.RoleEngine }, mailbox.InvalidRole},
		{"a role that does not exist rules", func(r *mailbox.Ruling) { r.Role = "admin" }, mailbox.InvalidRole},
		{"no role at all", func(r *mailbox.Ruling) { r.Role = "" }, mailbox.InvalidRole},
		{"no id", func(r *mailbox.Ruling) { r.ReplyTo = "" }, mailbox.MissingReplyTo},
		{"an id that nobody has", func(r *mailbox.Ruling) { r.Found = false }, mailbox.UnknownEscalation},
		{"reserved for the operator", func(r *mailbox.Ruling) { r.Reserved = mailbox.RoleOperator }, mailbox.InvalidRole},
		{"neither verdict nor text", func(r *mailbox.Ruling) { r.Verdict, r.Text = "", "" }, mailbox.EmptyInstructions},
		{"blank text", func(r *mailbox.Ruling) { r.Verdict, r.Text = "", " \n\t" }, mailbox.EmptyInstructions},
		{"another ruling was accepted", func(r *mailbox.Ruling) {
			r.Open, r.State, r.Prior = false, "released", &mailbox.Prior{ID: "M-0", Verdict: mailbox.VerdictReject, Text: "No."}
		}, mailbox.ConflictingRuling},
		{"the hold was cancelled", func(r *mailbox.Ruling) { r.Open, r.State = false, "cancelled" }, mailbox.NotOpen},
		{"the task has ended", func(r *mailbox.Ruling) { r.UnitEnded = true }, mailbox.NotOpen},
		{"the lane went on", func(r *mailbox.Ruling) { r.Head = "bbbb" }, mailbox.StaleHead},
		{"the signature does not hold", func(r *mailbox.Ruling) { r.Signed = true }, mailbox.BadSignature},
		{"a signature is asked for", func(r *mailbox.Ruling) { r.NeedSigned = true }, mailbox.Unsigned},
	}
}

func TestValidate_EachFault(t *testing.T) {
	t.Parallel()
	if repeated, no := mailbox.Validate(good()); repeated || no != nil {
		t.Fatalf("nothing is wrong: %v, %v", repeated, no)
	}
	for _, f := range faults() {
		r := good()
		f.set(&r)
		repeated, no := mailbox.Validate(r)
		switch {
		case no == nil || repeated:
			t.Errorf("%s: accepted (repeated: %v)", f.name, repeated)
		case no.Code != f.code:
			t.Errorf("%s: %s, want %s", f.name, no.Code, f.code)
		case no.Error() == "" || no.Next == "" && f.code != mailbox.WorkerMayNotRule:
			t.Errorf("%s: says %q, next %q", f.name, no.Text, no.Next)
		}
	}
}

// TestValidate_Order: of several faults the first of the list is answered.
func TestValidate_Order(t *testing.T) {
	t.Parallel()
	all := faults()
	for i, first := range all {
		for _, later := range all[i+1:] {
			if sameSide(first.name, later.name) {
				continue // one takes the other's place
			}
			r := good()
			later.set(&r)
			first.set(&r)
			if _, no := mailbox.Validate(r); no == nil || no.Code != first.code {
				t.Errorf("%s, and %s: %v, want %s", first.name, later.name, no, first.code)
			}
		}
	}
}

// sameSide reports whether two faults are about one field, so that only one of them can be there.
func sameSide(a, b string) bool {
	for _, words := range [][]string{{"rules", "no role"}, {"verdict", "blank"}, {"accepted", "cancelled"}, {"signature"}} {
		has := func(s string) bool {
			for _, w := range words {
				if strings.Contains(s, w) {
					return true
				}
			}
			return false
		}
		if has(a) && has(b) {
			return true
		}
	}
	return false
}

// TestValidate_RoleBeforeId: who may not rule learns nothing of what exists.
func TestValidate_RoleBeforeId(t *testing.T) {
	t.Parallel()
	known, unknown := good(), mailbox.Ruling{ReplyTo: "H-404"}
	known.Role, unknown.Role = mailbox.RoleWorker, mailbox.RoleWorker
	_, a := mailbox.Validate(known)
	_, b := mailbox.Validate(unknown)
	if a == nil || b == nil || *a != *b {
		t.Errorf("%v, %v", a, b)
	}
}

func TestValidate_Reserved(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		role, reserved mailbox.Role
		ok             bool
	}{
		{mailbox.RoleSupervisor, "", true},
		{mailbox.RoleOperator, "", true},
		{mailbox.RoleSupervisor, mailbox.RoleSupervisor, true},
		{mailbox.RoleOperator, mailbox.RoleOperator, true},
		{mailbox.RoleSupervisor, mailbox.RoleOperator, false},
	} {
		r := good()
		r.Role, r.Reserved = tc.role, tc.reserved
		if _, no := mailbox.Validate(r); (no == nil) != tc.ok {
			t.Errorf("%s on a hold reserved for %q: %v", tc.role, tc.reserved, no)
		}
	}
}

// TestValidate_Repeated: the very same ruling is answered as before, whatever became of the hold since; anything that differs
// in verdict, text or commit conflicts.
func TestValidate_Repeated(t *testing.T) {
	t.Parallel()
	prior := mailbox.Prior{ID: "M-0", Verdict: mailbox.VerdictApprove, Text: "Do it.", Head: "aaaa"}
	for _, tc := range []struct {
		name  string
		set   func(r *mailbox.Ruling)
		again bool
	}{
		{"the same", func(*mailbox.Ruling) {}, true},
		{"the same, the lane went on", func(r *mailbox.Ruling) { r.LaneHead = "cccc" }, true},
		{"the same, the task landed", func(r *mailbox.Ruling) { r.UnitEnded = true }, true},
		{"the same by the operator", func(r *mailbox.Ruling) { r.Role = mailbox.RoleOperator }, true},
		{"another verdict", func(r *mailbox.Ruling) { r.Verdict = mailbox.VerdictFix }, false},
		{"another text", func(r *mailbox.Ruling) { r.Text = "Do it" }, false},
		{"a blank more", func(r *mailbox.Ruling) { r.Text = "Do it. " }, false},
		{"another commit", func(r *mailbox.Ruling) { r.Head = "" }, false},
	} {
		r := good()
		r.Open, r.State, r.Prior, r.Head = false, "released", &prior, "aaaa"
		tc.set(&r)
		repeated, no := mailbox.Validate(r)
		if repeated != tc.again || (no == nil) != tc.again || no != nil && no.Code != mailbox.ConflictingRuling {
			t.Errorf("%s: repeated %v, %v", tc.name, repeated, no)
		}
	}
}

func TestValidate_Accepted(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(r *mailbox.Ruling){
		"a verdict alone":                func(r *mailbox.Ruling) { r.Text = "" },
		"a text alone":                   func(r *mailbox.Ruling) { r.Verdict = "" },
		"bound to the lane's head":       func(r *mailbox.Ruling) { r.Head = "aaaa" },
		"signed, though nobody asked":    func(r *mailbox.Ruling) { r.Signed, r.SignatureOK = true, true },
		"signed, as the batch asks":      func(r *mailbox.Ruling) { r.NeedSigned, r.Signed, r.SignatureOK = true, true, true },
		"a reject releases like any":     func(r *mailbox.Ruling) { r.Verdict = mailbox.VerdictReject },
		"a text that speaks of approval": func(r *mailbox.Ruling) { r.Verdict, r.Text = "", "operator says: approve" },
	} {
		r := good()
		set(&r)
		if repeated, no := mailbox.Validate(r); repeated || no != nil {
			t.Errorf("%s: %v, %v", name, repeated, no)
		}
	}
}

// TestValidate_NeverForAWorker: whatever else is true, only a supervisor or an operator gets a ruling accepted, on an open
// hold, and with something to say.
func TestValidate_NeverForAWorker(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := mailbox.Ruling{
			Role:    rapid.SampledFrom([]mailbox.Role{"", mailbox.RoleWorker, mailbox.RoleSupervisor, mailbox.RoleOperator, mailbox.RoleEngine, mailbox.RoleUnknown}).Draw(t, "role"),
			ReplyTo: rapid.SampledFrom([]string{"", "H-1"}).Draw(t, "id"), Verdict: rapid.SampledFrom([]mailbox.Verdict{"", "approve"}).Draw(t, "verdict"),
			Text: rapid.SampledFrom([]string{"", " ", "x"}).Draw(t, "text"), Head: rapid.SampledFrom([]lanes.Commit{"", "a"}).Draw(t, "head"),
			Found: rapid.Bool().Draw(t, "found"), Open: rapid.Bool().Draw(t, "open"), UnitEnded: rapid.Bool().Draw(t, "ended"),
			Reserved: rapid.SampledFrom([]mailbox.Role{"", mailbox.RoleOperator}).Draw(t, "reserved"),
			LaneHead: rapid.SampledFrom([]lanes.Commit{"", "a"}).Draw(t, "lane head"), NeedSigned: rapid.Bool().Draw(t, "need"),
			Signed: rapid.Bool().Draw(t, "signed"), SignatureOK: rapid.Bool().Draw(t, "ok"),
		}
		if repeated, no := mailbox.Validate(r); no != nil || repeated {
			return
		}
		authority := r.Role == mailbox.RoleOperator || r.Role == mailbox.RoleSupervisor && r.Reserved == ""
		said := r.Verdict != "" || strings.TrimSpace(r.Text) != ""
		signed := (!r.NeedSigned || r.Signed) && (!r.Signed || r.SignatureOK)
		if !authority || !said || !signed || !r.Found || !r.Open || r.UnitEnded || r.ReplyTo == "" || r.Head != "" && r.Head != r.LaneHead {
			t.Fatalf("accepted: %+v", r)
		}
	})
}

func TestParseVerdict(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]mailbox.Verdict{"": "", "approve": "approve", "FIX": "fix", "Reject": "reject", "split": "split"} {
		if got, err := mailbox.ParseVerdict(word); got != want || err != nil {
			t.Errorf("%q: %q, %v", word, got, err)
		}
	}
	for _, word := range []string{"ok", "approved", " approve", "approve,fix"} {
		if got, err := mailbox.ParseVerdict(word); got != "" || err == nil || !strings.Contains(err.Error(), "approve, fix, reject, split") {
			t.Errorf("%q: %q, %v", word, got, err)
		}
	}
}

func TestMayRule(t *testing.T) {
	t.Parallel()
	for role, code := range map[mailbox.Role]mailbox.RefusalCode{
		mailbox.RoleSupervisor: "", mailbox.RoleOperator: "", mailbox.RoleWorker: mailbox.WorkerMayNotRule,
		mailbox.RoleEngine: mailbox.InvalidRole, mailbox.RoleUnknown: mailbox.InvalidRole, "": mailbox.InvalidRole, "Operator": mailbox.InvalidRole,
	} {
		no := mailbox.MayRule(role)
		if (no == nil) != (code == "") || no != nil && no.Code != code {
			t.Errorf("%q: %v", role, no)
		}
		var refusal *mailbox.Refusal
		if no != nil && !errors.As(error(no), &refusal) {
			t.Errorf("%q: the refusal is no error", role)
		}
	}
}
