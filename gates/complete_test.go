package gates_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"pgregory.net/rapid"

	"ferrox/gates"
	"ferrox/hold"
	"ferrox/lanes"
	"ferrox/mailbox"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// good returns facts that nothing stands against, on any path.
func good(p gates.Path) gates.Facts {
	return gates.Facts{
		Path: p, Now: now,
		Batch:   lanes.Batch{ID: "B", Phase: lanes.PhaseRunning, Integration: "ferrox/B/integration", Head: "aaaa"},
		Task:    lanes.Task{Batch: "B", ID: "T-1", Path: "tasks/T-1-x", State: lanes.TaskRunning, Scoped: true, Scope: []string{"src/**"}, Version: 7},
		Lane:    lanes.Lane{Batch: "B", Number: 1, State: lanes.LaneRunning, Task: "T-1", Worktree: "lane-1", Branch: "ferrox/B/lane-1"},
		Claim:   gates.Claim{Present: true},
		Tree:    gates.Tree{Branch: "ferrox/B/lane-1", Head: "bbbb", Landed: true},
		Changed: []string{"src/a.go"}, Packets: []string{"tasks/T-1-x", "tasks/T-2-x"},
		Integration: gates.Integration{Head: "aaaa", Followable: true},
		Reviews:     gates.Reviews{Level: 1, Required: []string{"code-step1"}, Latest: []lanes.GateFact{{Gate: "code-step1", Verdict: "APPROVE", File: "R001.md", Readable: true}}},
		Holds:       []hold.Record{{ID: "H-9", State: hold.Released, Delivery: hold.DeliveryAcknowledged}},
	}
}

// fact is one thing that may stand against.
type fact struct {
	name string
	set  func(f *gates.Facts)
}

func held(h hold.Record) func(f *gates.Facts) {
	h.ID, h.Ruling = "H-1", "M-1"
	return func(f *gates.Facts) { f.Holds = append(f.Holds, h) }
}

func verdict(word string, readable bool) func(f *gates.Facts) {
	return func(f *gates.Facts) {
		f.Reviews.Latest = append(f.Reviews.Latest, lanes.GateFact{Gate: "plan-step2", Verdict: word, File: "R002.md", Readable: readable})
	}
}

func changed(path string) func(f *gates.Facts) {
	return func(f *gates.Facts) { f.Changed = append(f.Changed, path) }
}

func conflict(kind string) func(f *gates.Facts) {
	return func(f *gates.Facts) { f.Conflicts = append(f.Conflicts, gates.Conflict{Path: "src/c.go", Kind: kind}) }
}

// against lists every fact that may stand against something.
func against() []fact {
	return []fact{
		{"nothing", func(*gates.Facts) {}},
		{"another engine has the lease", func(f *gates.Facts) { f.LeaseLost = true }},
		{"a fact is unreadable", func(f *gates.Facts) { f.Unreadable = []gates.Failure{{Ref: "STATUS.md", Text: "input/output error"}} }},
		{"the batch was aborted", func(f *gates.Facts) { f.Batch.Phase = lanes.PhaseAborted }},
		{"F035 an abort cancelled a hold", held(hold.Record{State: hold.Cancelled, Delivery: hold.DeliveryNone})},
		{"a hold is open", held(hold.Record{State: hold.Open, Delivery: hold.DeliveryNone, Deadline: now.Add(time.Hour)})},
		{"a hold on a gate is open, past its deadline", held(hold.Record{State: hold.Open, Delivery: hold.DeliveryNone, Deadline: now, Gate: "code-step1"})},
		{"a hold is reserved for the operator", held(hold.Record{State: hold.Open, Delivery: hold.DeliveryNone, Deadline: now.Add(time.Hour), ReservedFor: mailbox.RoleOperator})},
		{"a ruling is not delivered", held(hold.Record{State: hold.Released, Delivery: hold.DeliveryPending})},
		{"F027 a ruling is not acknowledged", held(hold.Record{State: hold.Released, Delivery: hold.DeliveryInFlight})},
		{"a worker is alive", func(f *gates.Facts) { f.Alive = true }},
		{"there is no claim", func(f *gates.Facts) { f.Claim.Present = false }},
		{"the claim is older than the run", func(f *gates.Facts) { f.Claim.Stale = true }},
		{"the worktree is gone", func(f *gates.Facts) { f.Tree.Missing = true }},
		{"the lane has another branch", func(f *gates.Facts) { f.Tree.Branch = "main" }},
		{"the lane has a detached HEAD", func(f *gates.Facts) { f.Tree.Branch = "" }},
		{"the task has no lane", func(f *gates.Facts) { f.Lane, f.Tree.Branch = lanes.Lane{}, "" }},
		{"the lane's head is unknown", func(f *gates.Facts) { f.Tree.Head = "" }},
		{"a file is not committed", func(f *gates.Facts) { f.Tree.Dirty = []string{"src/b.go"} }},
		{"a submodule was changed", func(f *gates.Facts) { f.Gitlinks = []string{"src/lib"} }},
		{"F098 no step can be read", func(f *gates.Facts) { f.Steps.None = true }},
		{"a step is open", func(f *gates.Facts) { f.Steps.Open = []string{"Step 2: Wire it (1 of 3 boxes)"} }},
		{"a required review is missing", func(f *gates.Facts) { f.Reviews.Required = append(f.Reviews.Required, "code-step2") }},
		{"a review asks for a revision", verdict("REVISE", true)},
		{"F194 a review says something else", verdict("UNKNOWN", true)},
		{"a review is unreadable", verdict("APPROVE", false)},
		{"nothing was changed", func(f *gates.Facts) { f.Changed = nil }},
		{"a file outside the scope was changed", changed("doc/x.md")},
		{"the packet's prompt was changed", changed("tasks/T-1-x/PROMPT.md")},
		{"another packet was changed", changed("tasks/T-2-x/STATUS.md")},
		{"the spool was committed", func(f *gates.Facts) { f.Task.Scoped = false; changed(".ferrox/m.json")(f) }},
		{"a file with one writer was changed", func(f *gates.Facts) { f.SharedWrites = []string{"src/shared.go"} }},
		{"a hot seam was changed beside another", func(f *gates.Facts) { f.Seams = []string{"src/seam.go"} }},
		{"a migration took a number of its own", func(f *gates.Facts) { f.Migrations = []string{"src/0007_x.sql"} }},
		{"the integration branch is gone", func(f *gates.Facts) { f.Integration = gates.Integration{} }},
		{"the integration branch was moved away", func(f *gates.Facts) { f.Integration.Followable = false }},
		{"the integration branch is checked out", func(f *gates.Facts) { f.Integration.CheckedOutIn = "elsewhere" }},
		{"the merged tree does not pass", func(f *gates.Facts) { f.Verify = &gates.Failure{Ref: "go test", Text: "exit 1"} }},
		{"a path conflicts", conflict("content")},
		{"names differ in letter case", conflict("letter-case")},
		{"a file meets a folder", conflict("file/folder")},
		{"the ship gate has something against it", func(f *gates.Facts) {
			f.Ship = []lanes.Reason{{Code: "requirement-open", Ref: "R-1", Text: "R-1 is not covered", Clears: "operator", Next: "ferrox status"}}
		}},
		{"the task has landed", func(f *gates.Facts) { f.Task.State = lanes.TaskSucceeded }},
		{"the task was finished before", func(f *gates.Facts) { f.Task.Finished = true }},
		{"the lane has commits that did not land", func(f *gates.Facts) { f.Tree.Landed = false }},
		{"the same, and the worktree is gone", func(f *gates.Facts) { f.Tree = gates.Tree{Missing: true, Branch: f.Tree.Branch, Head: f.Tree.Head} }},
		{"the same, held by a rescue ref", func(f *gates.Facts) { f.Tree.Landed, f.Tree.Dirty, f.Rescued = false, []string{"src/b.go"}, "refs/x" }},
	}
}

// paths reads the paths from the source, so that a new one cannot be left out here.
func paths(t *testing.T) []gates.Path {
	t.Helper()
	src, err := parser.ParseFile(token.NewFileSet(), "permit.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all []gates.Path
	ast.Inspect(src, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if name, ok := spec.Type.(*ast.Ident); ok && name.Name == "Path" {
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
				word, _ := strconv.Unquote(lit.Value)
				all = append(all, gates.Path(word))
			}
		}
		return true
	})
	if len(all) < 10 {
		t.Fatalf("only %d paths found", len(all))
	}
	return all
}

// TestComplete_Matrix shows which fact stands against which path. F059: every path asks the same predicate; F055: a fact that
// cannot be read stands against all of them. It walks path: claim, path: catch-up, path: recorded, path: ship.
func TestComplete_Matrix(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("# Which fact stands against which path: the codes of its reasons, or a dot where it does not matter.\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	head := "fact"
	for _, p := range paths(t) {
		head += "\t" + string(p)
	}
	fmt.Fprintln(w, head)
	for _, what := range against() {
		line := what.name
		for _, p := range paths(t) {
			f := good(p)
			what.set(&f)
			line += "\t" + codes(f)
		}
		fmt.Fprintln(w, line)
	}
	_ = w.Flush()
	golden(t, "complete.txt", trimmed(b.String()))
}

func codes(f gates.Facts) string {
	permit, reasons := gates.Complete(f)
	if permit.Valid() != (len(reasons) == 0) {
		return "PERMIT AND REASONS"
	}
	var all []string
	for _, r := range reasons {
		all = append(all, string(r.Code))
	}
	if len(all) == 0 {
		return "."
	}
	return strings.Join(all, "+")
}

// trimmed takes the blanks off the ends of lines.
func trimmed(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return strings.Join(lines, "\n") + "\n"
}

// TestComplete_Reasons shows what each reason says, who clears it and how.
func TestComplete_Reasons(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("# What is said against, on the first path on which it stands.\n")
	for _, what := range against() {
		for _, p := range paths(t) {
			f := good(p)
			what.set(&f)
			_, reasons := gates.Complete(f)
			if len(reasons) == 0 {
				continue
			}
			fmt.Fprintf(&b, "\n%s (%s)\n", what.name, p)
			for _, r := range reasons {
				fmt.Fprintf(&b, "  %s %s: %s\n    cleared by %s: %s\n", r.Code, r.Ref, r.Text, r.Clears, r.Next)
				if r.Ref == "" || r.Text == "" {
					t.Errorf("%s: %+v names nothing", what.name, r)
				}
			}
			break
		}
	}
	golden(t, "reasons.txt", trimmed(b.String()))
}

// TestComplete_AllReasonsAtOnce: whatever stands against comes together, none hides another. Facts that take each other's
// place (the branch that is gone cannot be checked out too) are left out.
func TestComplete_AllReasonsAtOnce(t *testing.T) {
	t.Parallel()
	var free []fact
	for _, what := range against() {
		if !slices.ContainsFunc([]string{"worktree", "no lane", "another branch", "detached", "head is unknown", "claim", "integration branch", "rescue", "nothing", "spool", "no step"}, func(word string) bool {
			return strings.Contains(what.name, word)
		}) {
			free = append(free, what)
		}
	}
	all := paths(t)
	rapid.Check(t, func(t *rapid.T) {
		f := good(rapid.SampledFrom(all).Draw(t, "path"))
		var want []lanes.Reason
		for _, what := range free {
			if !rapid.Bool().Draw(t, what.name) {
				continue
			}
			alone := good(f.Path)
			what.set(&alone)
			what.set(&f)
			_, reasons := gates.Complete(alone)
			want = append(want, reasons...)
		}
		_, got := gates.Complete(f)
		for _, r := range want {
			if !slices.Contains(got, r) {
				t.Fatalf("%s: %+v is not named among %v", f.Path, r, got)
			}
		}
		for _, r := range got {
			if !slices.Contains(want, r) {
				t.Fatalf("%s: nobody expected %+v", f.Path, r)
			}
		}
	})
}

func TestComplete_UnknownPath(t *testing.T) {
	t.Parallel()
	for _, p := range []gates.Path{"", "CLAIM", "force-merge"} {
		permit, reasons := gates.Complete(good(p))
		if permit.Valid() || permit != (gates.Permit{}) || len(reasons) != 1 || reasons[0].Code != lanes.CodeFactUnreadable {
			t.Errorf("%q: %+v, %v", p, permit, reasons)
		}
	}
	if permit, reasons := gates.Complete(gates.Facts{}); permit.Valid() || len(reasons) == 0 {
		t.Errorf("no facts at all: %+v, %v", permit, reasons)
	}
	for _, p := range paths(t) {
		empty := gates.Facts{Path: p}
		if permit, _ := gates.Complete(empty); permit.Valid() && slices.Contains([]gates.Path{gates.PathClaim, gates.PathResume, gates.PathMerge, gates.PathRecorded, gates.PathIntegrate, gates.PathClean}, p) {
			t.Errorf("%s of nothing is allowed", p)
		}
	}
}

// TestPermit: a permit says what it was decided on, and nobody gets one but from Complete.
func TestPermit(t *testing.T) {
	t.Parallel()
	if (gates.Permit{}).Valid() {
		t.Error("the zero permit is valid")
	}
	for _, p := range paths(t) {
		f := good(p)
		permit, reasons := gates.Complete(f)
		if !permit.Valid() {
			t.Errorf("%s: %v", p, reasons)
		}
		if permit.Batch() != "B" || permit.Task() != "T-1" || permit.Path() != p || permit.Commit() != "bbbb" || permit.Version() != 7 {
			t.Errorf("%s: %+v", p, permit)
		}
		f.Task.Version++
		if other, _ := gates.Complete(f); other == permit || other.Version() != 8 {
			t.Errorf("%s: the permit does not speak of the version: %+v", p, other)
		}
		f.LeaseLost = true
		if none, _ := gates.Complete(f); none != (gates.Permit{}) {
			t.Errorf("%s: refused, and still %+v", p, none)
		}
	}
}
