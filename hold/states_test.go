package hold_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ferrox/hold"
	"ferrox/lanes"
)

// constant is one named value of the source, with what its comment says.
type constant struct{ value, means string }

// constants reads the constants of a type, in their order, from one source file.
func constants(t *testing.T, file, typeName string) []constant {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var found []constant
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		name, ok := spec.Type.(*ast.Ident)
		if !ok || name.Name != typeName {
			return true
		}
		lit, ok := spec.Values[0].(*ast.BasicLit)
		if !ok {
			return true
		}
		value, err := strconv.Unquote(lit.Value)
		if err == nil && value != "" {
			found = append(found, constant{value, strings.TrimSpace(spec.Comment.Text())})
		}
		return true
	})
	if len(found) < 3 {
		t.Fatalf("%s: only %d constants of type %s", file, len(found), typeName)
	}
	return found
}

// page is docs/states.md in the making.
type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// table writes constants as a table.
func (p *page) table(word string, all []constant) {
	p.line("| %s | meaning |\n|---|---|", word)
	for _, c := range all {
		p.line("| `%s` | %s |", c.value, c.means)
	}
	p.line("")
}

// machine writes a diagram, the states and the moves of a table.
func (p *page) machine(title, intro string, states, inputs []constant, table []lanes.Move, start string) {
	p.line("## %s\n\n%s\n\n```mermaid\nstateDiagram-v2\n    [*] --> %s", title, intro, start)
	for _, m := range table {
		for _, from := range m.From {
			p.line("    %s --> %s: %s", from, m.To, m.Input)
		}
	}
	p.line("```\n")
	p.table("state", states)
	p.line("| input | when | from | to |\n|---|---|---|---|")
	for _, m := range table {
		i := slices.IndexFunc(inputs, func(c constant) bool { return c.value == string(m.Input) })
		when := ""
		if i >= 0 {
			when = inputs[i].means
		}
		p.line("| `%s` | %s | %s | %s |", m.Input, when, strings.Join(m.From, ", "), m.To)
	}
	p.line("")
}

// holds writes the table of the hold, with the rows that are no move of it.
func (p *page) holds() {
	p.line("```mermaid\nstateDiagram-v2\n    [*] --> open_none: H1 escalate")
	mermaid := func(s hold.State, d hold.Delivery) string {
		return strings.ReplaceAll(fmt.Sprintf("%s_%s", s, d), "-", "_")
	}
	for _, m := range hold.Table() {
		p.line("    %s --> %s: %s %s", mermaid(m.From, m.FromDelivery), mermaid(m.To, m.ToDelivery), m.Name, m.Input)
	}
	p.line("```\n\n| row | from | input | to | why |\n|---|---|---|---|---|")
	p.line("| H1 | – | escalate | open / none | the clock starts when the worker asked; the deadline is an instant |")
	for _, m := range hold.Table() {
		p.line("| %s | %s / %s | %s | %s / %s | %s |", m.Name, m.From, m.FromDelivery, m.Input, m.To, m.ToDelivery, m.Why)
	}
	p.line("| H6 | open / none | a ruling that is not valid | open / none | refused with a code; nothing moves |")
	p.line("| H11 | open / none, expired | rule | released / pending | H5: a late ruling is as good as one in time |\n")
}

const statesHead = `# States

<!-- Made from the tables of the code by: go test ./hold -run TestStatesPage -update -->

What is in no table here is refused. The row in the store is the state; a table answers what an input makes of it, and
nothing else moves it.

`

// TestStatesPage holds docs/states.md to the tables.
func TestStatesPage(t *testing.T) {
	t.Parallel()
	var p page
	p.WriteString(statesHead)
	inputs := constants(t, "../lanes/machine.go", "Input")
	p.machine("Task", "A task succeeds from `running` only, by a permit. While a hold is open it is `held`, and only a ruling or an abort changes that.",
		constants(t, "../lanes/states.go", "TaskState"), inputs, lanes.TaskTable(), "pending")
	p.machine("Lane", "A lane is one worktree and one branch. Running and held lanes count against the limit of lanes; parked, stalled and idle ones do not.",
		constants(t, "../lanes/states.go", "LaneState"), inputs, lanes.LaneTable(), "idle")
	p.line("## Hold\n\nA hold binds its task until its ruling is acknowledged by the worker. The deadline moves by `ferrox extend` only; passing it parks the lane and approves nothing.\n")
	p.table("state", constants(t, "record.go", "State"))
	p.table("delivery", constants(t, "record.go", "Delivery"))
	p.table("input", constants(t, "machine.go", "Input"))
	p.holds()
	p.line("## Batch\n")
	p.table("phase", constants(t, "../lanes/states.go", "Phase"))
	p.line("A paused batch has a cause. A cause is never overwritten by a weaker one.\n")
	p.table("cause", constants(t, "../lanes/states.go", "Cause"))
	golden(t, "docs/states.md", strings.TrimRight(p.String(), "\n")+"\n")
}

// TestStatesPage_NothingIsMissing: each constant means something and stands in a table, each row of the semantics is there.
func TestStatesPage_NothingIsMissing(t *testing.T) {
	t.Parallel()
	inTables := map[string]bool{}
	for _, m := range slices.Concat(lanes.TaskTable(), lanes.LaneTable()) {
		inTables[m.To], inTables[string(m.Input)] = true, true
		for _, s := range m.From {
			inTables[s] = true
		}
	}
	for _, m := range hold.Table() {
		for _, word := range []string{string(m.From), string(m.To), string(m.FromDelivery), string(m.ToDelivery), string(m.Input)} {
			inTables[word] = true
		}
	}
	for _, from := range []struct{ file, typeName string }{
		{"../lanes/states.go", "TaskState"},
		{"../lanes/states.go", "LaneState"},
		{"../lanes/machine.go", "Input"},
		{"record.go", "State"},
		{"record.go", "Delivery"},
		{"machine.go", "Input"},
	} {
		for _, c := range constants(t, from.file, from.typeName) {
			if !inTables[c.value] || c.means == "" {
				t.Errorf("%s: %s %q, which means %q, is in a table: %v", from.file, from.typeName, c.value, c.means, inTables[c.value])
			}
		}
	}
	var p page
	p.holds()
	for n := 1; n <= 12; n++ {
		if !strings.Contains(p.String(), fmt.Sprintf("| H%d |", n)) {
			t.Errorf("row H%d is missing", n)
		}
	}
}
