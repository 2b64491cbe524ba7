package mailbox

import (
	"slices"
	"strings"

	"ferrox/lanes"
)

// MaxMail bounds the text of a message that `ferrox send` takes, in bytes: it stands in a prompt as a whole.
const MaxMail = 64 << 10

// Rule says of one type of message who may send it to whom, what it does and what it never does.
type Rule struct {
	Type  Type
	From  []Role
	To    string // who has it in the end
	By    string // the command that sends it
	Held  string // what it does on a held unit
	Else  string // what it does on a unit without an open hold
	Never string

	Sent  bool // `ferrox send` takes it
	All   bool // it may go to every unfinished unit at once
	Text  bool // it is nothing without a text
	Mail  bool // it is kept for the unit's worker: in its inbox while it lives, and in its next prompt
	Notes bool // it stamps the open holds of its unit
	Ends  bool // it cancels the holds of its unit and fails the unit
}

// Rules is the table of messages. What it does not name is refused. docs/messages.md is printed from it.
func Rules() []Rule {
	authority := []Role{RoleSupervisor, RoleOperator}
	return []Rule{
		{
			Type: TypeEscalate, From: []Role{RoleWorker, RoleEngine}, To: "supervisor, operator", By: "ferrox escalate",
			Held: "repeats the open hold on the same question, or opens another", Else: "opens a hold",
			Never: "releases anything, its own hold included", Text: true,
		},
		{
			Type: TypeReply, From: []Role{RoleWorker}, To: "supervisor, operator", By: "ferrox notify, ferrox ack",
			Held: "with a ruling's id: acknowledges the ruling", Else: "waits in the inbox; with the id of mail: answers it",
			Never: "releases a hold",
		},
		{
			Type: TypeRuling, From: authority, To: "unit", By: "ferrox rule",
			Held: "releases the one hold that it names, and is delivered until it is acknowledged", Else: "is refused",
			Never: "approves a gate, completes anything, or reaches another unit",
		},
		{
			Type: TypeInfo, From: authority, To: "unit", By: "ferrox send",
			Held: "stamps the open holds as seen; is kept for the worker", Else: "is kept for the worker",
			Never: "releases a hold, starts a worker, moves a deadline or a counter", Sent: true, All: true, Text: true, Mail: true, Notes: true,
		},
		{
			Type: TypeQuery, From: authority, To: "unit", By: "ferrox send",
			Held: "is answered from the store", Else: "is answered from the store",
			Never: "starts a worker, reaches one, or changes anything", Sent: true,
		},
		{
			Type: TypeSteer, From: authority, To: "unit", By: "ferrox send",
			Held: "is kept for the worker", Else: "is kept for the worker",
			Never: "releases a hold or starts a worker", Sent: true, All: true, Text: true, Mail: true,
		},
		{
			Type: TypeAbort, From: authority, To: "unit", By: "ferrox send",
			Held: "ends the worker, cancels the holds and fails the unit, in one transaction", Else: "ends the worker and fails the unit",
			Never: "approves anything, or removes a commit, a worktree or a record", Sent: true, Text: true, Ends: true,
		},
	}
}

// RuleOf finds the row of a type.
func RuleOf(t Type) (Rule, bool) {
	all := Rules()
	i := slices.IndexFunc(all, func(r Rule) bool { return r.Type == t })
	if i < 0 {
		return Rule{}, false
	}
	return all[i], true
}

// MaySend answers for role and type alone, before any addressee is looked up.
func MaySend(role Role, t Type) *Refusal {
	rule, known := RuleOf(t)
	if known && slices.Contains(rule.From, role) {
		return nil
	}
	if role == RoleWorker {
		return refuse(InvalidRole, "ferrox escalate -m TEXT, or ferrox notify TEXT",
			"a worker may not send %s: this process stands below a worker or an engine of this repository", t)
	}
	return refuse(InvalidRole, "run it from a shell of your own, outside the lanes",
		"may not send %s: who this process belongs to could not be established", t)
}

// Sending is everything that sending a message depends on, before it is stored.
type Sending struct {
	Role Role // stamped by the issuing path
	Type Type
	All  bool // to every unfinished unit
	Text string
}

// CheckSending checks a message of `ferrox send` before its addressee is looked up.
func CheckSending(s Sending) *Refusal {
	if no := MaySend(s.Role, s.Type); no != nil {
		return no
	}
	rule, _ := RuleOf(s.Type)
	switch {
	case !rule.Sent:
		return refuse(WrongCommand, rule.By, "%s is sent by %s", s.Type, rule.By)
	case s.All && !rule.All:
		return refuse(NotForAll, "ferrox send --to TASK --type "+string(s.Type), "%s goes to one unit, not to all", s.Type)
	case rule.Text && strings.TrimSpace(s.Text) == "":
		return refuse(EmptyText, "ferrox send --type "+string(s.Type)+" -m TEXT", "%s needs a text", s.Type)
	case len(s.Text) > MaxMail:
		return refuse(TooLong, "", "the text has %d bytes, and %d are the most", len(s.Text), MaxMail)
	}
	return nil
}

// CheckAddressee refuses a unit that has ended: no worker of it will ever read anything, and nothing is left to abort.
func CheckAddressee(t lanes.Task) *Refusal {
	switch t.State {
	case lanes.TaskSucceeded, lanes.TaskFailed, lanes.TaskSkipped:
		return refuse(UnitEnded, "ferrox show "+string(t.ID), "%s has ended: it is %s", t.ID, t.State)
	case lanes.TaskPending, lanes.TaskRunning, lanes.TaskHeld, lanes.TaskStalled, lanes.TaskBlocked:
	}
	return nil
}

// ParseSent reads the type of a message that `ferrox send` takes.
func ParseSent(s string) (Type, *Refusal) {
	t := Type(strings.ToLower(s))
	rule, known := RuleOf(t)
	switch {
	case known && rule.Sent:
		return t, nil
	case known:
		return "", refuse(WrongCommand, rule.By, "%s is sent by %s", t, rule.By)
	}
	return "", refuse(WrongCommand, "ferrox send --type info|query|steer|abort", "type %q: it is one of info, query, steer, abort", s)
}
