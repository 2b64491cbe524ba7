package mailbox_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ferrox/lanes"
	"ferrox/mailbox"
)

// With -update the table in docs/messages.md is written instead of compared.
var update = flag.Bool("update", false, "write the table of docs/messages.md")

func roles() []mailbox.Role {
	return []mailbox.Role{mailbox.RoleWorker, mailbox.RoleSupervisor, mailbox.RoleOperator, mailbox.RoleEngine, mailbox.RoleUnknown, "", "admin"}
}

func types() []mailbox.Type {
	return []mailbox.Type{
		mailbox.TypeEscalate, mailbox.TypeReply, mailbox.TypeRuling, mailbox.TypeInfo, mailbox.TypeQuery, mailbox.TypeSteer, mailbox.TypeAbort,
	}
}

// TestRules_WhoMaySend goes through every pair of role and type. F008: only a ruling releases, and who may not rule may send
// nothing to a unit.
func TestRules_WhoMaySend(t *testing.T) {
	t.Parallel()
	for _, kind := range append(types(), "release", "") {
		for _, role := range roles() {
			no := mailbox.MaySend(role, kind)
			authority := role == mailbox.RoleSupervisor || role == mailbox.RoleOperator
			var want bool
			switch kind {
			case mailbox.TypeEscalate:
				want = role == mailbox.RoleWorker || role == mailbox.RoleEngine
			case mailbox.TypeReply:
				want = role == mailbox.RoleWorker
			case mailbox.TypeRuling, mailbox.TypeInfo, mailbox.TypeQuery, mailbox.TypeSteer, mailbox.TypeAbort:
				want = authority
			}
			if (no == nil) != want {
				t.Errorf("%q sends %q: %v, want allowed: %v", role, kind, no, want)
			}
			if no != nil && (no.Code != mailbox.InvalidRole || no.Next == "") {
				t.Errorf("%q sends %q: %s, next %q", role, kind, no.Code, no.Next)
			}
		}
	}
}

// TestRules_Effects: only an abort ends anything, only an info stamps, and what is mail is neither.
func TestRules_Effects(t *testing.T) {
	t.Parallel()
	for _, r := range mailbox.Rules() {
		if r.Ends != (r.Type == mailbox.TypeAbort) || r.Notes != (r.Type == mailbox.TypeInfo) {
			t.Errorf("%s: ends %v, notes %v", r.Type, r.Ends, r.Notes)
		}
		if mail := r.Type == mailbox.TypeSteer || r.Type == mailbox.TypeInfo; r.Mail != mail || r.All != mail {
			t.Errorf("%s: mail %v, to all %v", r.Type, r.Mail, r.All)
		}
		if r.Held == "" || r.Else == "" || r.Never == "" || r.By == "" || len(r.From) == 0 {
			t.Errorf("%s: a cell is empty: %+v", r.Type, r)
		}
	}
	var all []mailbox.Type
	for _, r := range mailbox.Rules() {
		all = append(all, r.Type)
	}
	if !slices.Equal(all, types()) {
		t.Errorf("the table has %v", all)
	}
}

func TestCheckSending(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", mailbox.MaxMail)
	for _, tc := range []struct {
		name string
		s    mailbox.Sending
		code mailbox.RefusalCode
	}{
		{"steer", mailbox.Sending{Role: mailbox.RoleSupervisor, Type: mailbox.TypeSteer, Text: "x"}, ""},
		{"steer to all", mailbox.Sending{Role: mailbox.RoleOperator, Type: mailbox.TypeSteer, Text: "x", All: true}, ""},
		{"info to all", mailbox.Sending{Role: mailbox.RoleOperator, Type: mailbox.TypeInfo, Text: "x", All: true}, ""},
		{"query without a text", mailbox.Sending{Role: mailbox.RoleOperator, Type: mailbox.TypeQuery}, ""},
		{"the longest text", mailbox.Sending{Role: mailbox.RoleOperator, Type: mailbox.TypeSteer, Text: long}, ""},
		{"one byte more", mailbox.Sending{Role: mailbox.RoleOperator, Type: mailbox.TypeSteer, Text: long + "x"}, mailbox.TooLong},
		{"steer without a text", mailbox.Sending{Role: mailbox.RoleOperator, Type: mailbox.TypeSteer, Text: " \n"}, mailbox.EmptyText},
		{"info without a text", mailbox.Sending{Role: mailbox.RoleOperator, Type: mailbox.TypeInfo}, mailbox.EmptyText},
		{"abort without a text", mailbox.Sending{Role: mailbox.RoleOperator, Type: mailbox.TypeAbort}, mailbox.EmptyText},
		{"abort of all", mailbox.Sending{Role: mailbox.RoleOperator, Type: mailbox.TypeAbort, Text: "x", All: true}, mailbox.NotForAll},
		{"query of all", mailbox.Sending{Role: mailbox.RoleOperator, Type: mailbox.TypeQuery, All: true}, mailbox.NotForAll},
		{"ruling", mailbox.Sending{Role: mailbox.RoleOperator, Type: mailbox.TypeRuling, Text: "x"}, mailbox.WrongCommand},
		{"a worker's steer, and nothing else is looked at", mailbox.Sending{Role: mailbox.RoleWorker, Type: mailbox.TypeSteer}, mailbox.InvalidRole},
		{"a worker's abort", mailbox.Sending{Role: mailbox.RoleWorker, Type: mailbox.TypeAbort, Text: "x"}, mailbox.InvalidRole},
		{"a worker's escalation by send", mailbox.Sending{Role: mailbox.RoleWorker, Type: mailbox.TypeEscalate, Text: "x"}, mailbox.WrongCommand},
	} {
		no := mailbox.CheckSending(tc.s)
		if (no == nil) != (tc.code == "") || no != nil && no.Code != tc.code {
			t.Errorf("%s: %v, want %q", tc.name, no, tc.code)
		}
	}
}

func TestCheckAddressee(t *testing.T) {
	t.Parallel()
	for state, ended := range map[lanes.TaskState]bool{
		lanes.TaskPending: false, lanes.TaskRunning: false, lanes.TaskHeld: false, lanes.TaskStalled: false, lanes.TaskBlocked: false,
		lanes.TaskSucceeded: true, lanes.TaskFailed: true, lanes.TaskSkipped: true,
	} {
		no := mailbox.CheckAddressee(lanes.Task{ID: "T-1", State: state})
		if (no != nil) != ended || no != nil && (no.Code != mailbox.UnitEnded || !strings.Contains(no.Text, string(state))) {
			t.Errorf("%s: %v", state, no)
		}
	}
}

func TestParseSent(t *testing.T) {
	t.Parallel()
	for word, ok := range map[string]bool{"info": true, "QUERY": true, "steer": true, "abort": true, "ruling": false, "reply": false, "escalate": false, "release": false, "": false} {
		if kind, no := mailbox.ParseSent(word); (no == nil) != ok || ok && string(kind) != strings.ToLower(word) {
			t.Errorf("%q: %q, %v", word, kind, no)
		}
	}
}

// TestMessagesPage holds the table in docs/messages.md to the code.
func TestMessagesPage(t *testing.T) {
	t.Parallel()
	const begin, end = "-run TestMessagesPage -update -->\n", "<!-- end -->"
	file := filepath.Join("..", "docs", "messages.md")
	body, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(body), begin)
	_, tail, ends := strings.Cut(rest, end)
	if !found || !ends {
		t.Fatalf("%s has no place for the table", file)
	}
	want := head + begin + "\n" + rulesTable() + "\n" + end + tail
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(body) != want {
		t.Errorf("%s is not what the code does; review the change and run: go test ./mailbox -run TestMessagesPage -update", file)
	}
}

func rulesTable() string {
	var b strings.Builder
	b.WriteString("| type | from | to | with | on a held unit | else | never | to all |\n|---|---|---|---|---|---|---|---|\n")
	for _, r := range mailbox.Rules() {
		var from []string
		for _, role := range r.From {
			from = append(from, string(role))
		}
		all := "no"
		if r.All {
			all = "yes"
		}
		b.WriteString("| " + strings.Join([]string{
			"`" + string(r.Type) + "`", strings.Join(from, ", "), r.To, "`" + strings.ReplaceAll(r.By, ", ", "`, `") + "`", r.Held, r.Else, r.Never, all,
		}, " | ") + " |\n")
	}
	return b.String()
}
