package strength_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ferrox/gates/coord"
	"ferrox/gates/strength"
)

func boundaries() []string { return []string{"auth", "network-file", "pii"} }

func good() strength.Evidence {
	covered, baseline := 2, 1.0
	return strength.Evidence{
		Receipts: []strength.ReceiptAnswer{strength.ReceiptValid}, Covered: &covered, Baseline: &baseline, Mutation: strength.MutationKilled,
		Ownership: coord.OwnershipOK, Seams: coord.SeamParallel, Burndown: strength.BurndownOK, Findings: &[]strength.Finding{},
	}
}

func TestMergeGate_NothingPassesByDefault(t *testing.T) {
	t.Parallel()
	d := strength.DecideMerge(strength.Evidence{}, nil)
	want := []strength.GateReason{
		strength.ReasonReceipts, strength.ReasonCoverage, strength.ReasonMutation, strength.ReasonOwnership, strength.ReasonHotSeam,
		strength.ReasonBurndown, strength.ReasonSecurity, strength.ReasonSevere,
	}
	if diff := cmp.Diff(want, d.Reasons); diff != "" || d.Decision != strength.GateBlock {
		t.Errorf("%s: %s", d.Decision, diff)
	}
	if d := strength.DecideMerge(good(), nil); d.Decision != strength.GatePass || d.Reasons == nil {
		t.Errorf("good evidence: %+v", d)
	}
}

// Each row spoils one thing, and that alone is the reason.
func TestMergeGate_EachReasonAlone(t *testing.T) {
	t.Parallel()
	same := 2.0
	for _, tc := range []struct {
		want  strength.GateReason
		spoil func(*strength.Evidence)
	}{
		{strength.ReasonDepth, func(e *strength.Evidence) { e.Fast = true }},
		{strength.ReasonCrossAudit, func(e *strength.Evidence) { e.Cross = true }},
		{strength.ReasonReceipts, func(e *strength.Evidence) { e.Receipts = append(e.Receipts, strength.ReceiptNeverRed) }},
		{strength.ReasonReceipts, func(e *strength.Evidence) { e.Receipts = nil }},
		{strength.ReasonCoverage, func(e *strength.Evidence) { e.Baseline = &same }},
		{strength.ReasonCoverage, func(e *strength.Evidence) { e.Baseline = nil }},
		{strength.ReasonMutation, func(e *strength.Evidence) { e.Mutation = strength.MutationSurvived }},
		{strength.ReasonOwnership, func(e *strength.Evidence) { e.Ownership = coord.OwnershipInvalidate }},
		{strength.ReasonHotSeam, func(e *strength.Evidence) { e.Seams = coord.SeamSerialize }},
		{strength.ReasonBurndown, func(e *strength.Evidence) { e.Burndown = strength.BurndownBlocked }},
		{strength.ReasonSecurity, func(e *strength.Evidence) { e.Findings = &[]strength.Finding{{Category: " Auth "}} }},
		{strength.ReasonSevere, func(e *strength.Evidence) { e.Findings = &[]strength.Finding{{Severity: " CRITICAL "}} }},
		{strength.ReasonSevere, func(e *strength.Evidence) { e.Findings = &[]strength.Finding{{Severity: "high"}} }},
		{strength.ReasonInput, func(e *strength.Evidence) { e.Errors = []string{"x"} }},
	} {
		e := good()
		tc.spoil(&e)
		d := strength.DecideMerge(e, []string{"auth"})
		if diff := cmp.Diff([]strength.GateReason{tc.want}, d.Reasons); diff != "" || d.Decision != strength.GateBlock {
			t.Errorf("%s: %s", tc.want, diff)
		}
	}

	e := good()
	e.Seams, e.SeamSerialized = coord.SeamSerialize, true
	if d := strength.DecideMerge(e, nil); d.Decision != strength.GatePass {
		t.Errorf("a seam whose lock was held: %+v", d)
	}
	for _, waive := range []func(*strength.Evidence){
		func(e *strength.Evidence) { e.Fast, e.DepthValid = true, true },
		func(e *strength.Evidence) { e.Cross, e.AuditValid = true, true },
	} {
		e := good()
		e.Receipts, e.Mutation = nil, ""
		waive(&e)
		if d := strength.DecideMerge(e, nil); d.Decision != strength.GatePass {
			t.Errorf("receipts and mutation are waived on two paths: %+v", d)
		}
	}
}

func TestSeverityRoute(t *testing.T) {
	t.Parallel()
	route := func(text string, threshold int) strength.SeverityDecision {
		t.Helper()
		f, err := strength.ReadFindings([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return strength.RouteSeverity(f, []string{"Auth"}, threshold)
	}
	for _, tc := range []struct {
		in        string
		threshold int
		want      string
	}{
		{`[]`, 1, `{"decision":"route-backlog"}`},
		{`[{"severity":"low","category":" AUTH "}]`, 3, `{"decision":"block","reason":"security-never-backlog"}`},
		{`[{"severity":"medium"},{"severity":"MEDIUM","surface":7}]`, 2, `{"decision":"synthesize-high","synthesized":"HIGH","surface":"","medium_count":2}`},
		{`[{"severity":"medium","surface":"b"},{"severity":"medium","surface":"a"},{"severity":"medium","surface":"A"},{"severity":"medium","surface":"b"}]`, 2, `{"decision":"synthesize-high","synthesized":"HIGH","surface":"b","medium_count":2}`},
		{`[{"severity":"medium","surface":"a"}]`, 0, `{"decision":"synthesize-high","synthesized":"HIGH","surface":"a","medium_count":1}`},
		{`[{"severity":"low"}]`, 0, `{"decision":"route-backlog"}`},
		{`[{"severity":["medium"],"category":{}}]`, 1, `{"decision":"route-backlog"}`},
	} {
		got, err := json.Marshal(route(tc.in, tc.threshold))
		if err != nil || string(got) != tc.want {
			t.Errorf("%s: %s, want %s (%v)", tc.in, got, tc.want, err)
		}
	}
}

func TestRequirements(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]strength.Coverage{
		"- [x] **A** one": {Covered: 1, Total: 1}, "- [ ] **A**": {Total: 1}, "\t-[X]**A**": {Covered: 1, Total: 1}, "-   [x]   **A B**.": {Covered: 1, Total: 1},
		"* [x] **A**": {}, "- [x] A": {}, "- [x] ****": {}, "- [x] ** **": {}, "- [y] **A**": {}, "- [xx] **A**": {}, "- [x] see **A**": {}, "- [x": {}, "-": {}, "": {},
		"- [x] **A** x\r\n- [ ] **A** y\r\n": {Covered: 1, Total: 2}, "- [x] **A": {}, "1. - [x] **A**": {},
	} {
		if got := strength.CountRequirements([]byte(line)); got != want {
			t.Errorf("%q: %+v, want %+v", line, got, want)
		}
	}
}

func TestBacklog(t *testing.T) {
	t.Parallel()
	b := strength.ReadBacklog([]byte(`# Backlog
| B-0 | SEC | before any heading | age=1 | - |
## Open (3)
| ID | Sev | From | Item | Blocks |
|----|-----|------|------|--------|
| B-1 | sec | audit | leak, age_days=9 | - |
| B-2 | Correctness | audit | drift a \| b age: 12d | - |
| B-3 | CORR | audit | coverage=30 | - |
| B-4 | High | audit | age=99 | - |
| B-5 | SECURITY | audit | no age, page 3 | - |
| B-6 | SEC |
### Later
| B-7 | SEC | audit | age=1.5 | - |
## Opened before
| B-8 | SEC | audit | age=3 | - |
## Closed
| B-9 | SEC | audit | age=3 | - |
`))
	var ages []float64
	for _, i := range b.Items {
		if i.AgeDays == nil {
			ages = append(ages, -1)
			continue
		}
		ages = append(ages, *i.AgeDays)
	}
	if diff := cmp.Diff([]float64{9, 12, 30, -1, -1, 1.5}, ages); diff != "" || len(b.Findings) != 4 {
		t.Errorf("%d findings, ages %s", len(b.Findings), diff)
	}
}

func TestDepth(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		q    strength.DepthQuery
		want []string
		tier string
	}{
		{"small", strength.DepthQuery{SelfGrade: "low", Paths: []string{"a.go"}}, []string{}, "internal"},
		{"nothing to grade", strength.DepthQuery{SelfGrade: "low"}, []string{"ungradeable"}, "internal"},
		{"T-06-03 a boundary beats the self grade", strength.DepthQuery{SelfGrade: "low", Paths: []string{"x/Auth.go"}}, []string{"risk-boundary"}, "cross"},
		{"a category is a boundary", strength.DepthQuery{Categories: []string{"web-auth"}}, []string{"risk-boundary"}, "cross"},
		{"two words", strength.DepthQuery{Paths: []string{"lib/net/networkFile2.ts"}}, []string{"risk-boundary"}, "cross"},
		{"words of two segments", strength.DepthQuery{Paths: []string{"network/file.go"}}, []string{}, "internal"},
		{"a part of a word", strength.DepthQuery{Paths: []string{"docs/author.md", "piiano"}}, []string{}, "internal"},
		{"all at once, in order", strength.DepthQuery{SelfGrade: " High-Risk ", DeclaredDepth: "FULL", Paths: []string{"auth"}, Escalated: true}, []string{"risk-boundary", "high-risk-self-grade", "declared-full", "gate-failure-ratchet"}, "cross"},
		{"declared fast is no reason", strength.DepthQuery{DeclaredDepth: "fast", Paths: []string{"a"}}, []string{}, "internal"},
		{"a boundary of no words", strength.DepthQuery{Paths: []string{"a"}}, []string{}, "internal"},
	} {
		d := strength.DecideDepth(tc.q, append(boundaries(), "", "--"))
		if diff := cmp.Diff(tc.want, d.Reasons); diff != "" || d.AuditTier != tc.tier || (d.Depth == strength.DepthFast) != (len(tc.want) == 0) {
			t.Errorf("%s: %+v", tc.name, d)
		}
	}
}

func TestReceiptsAndTheRest(t *testing.T) {
	t.Parallel()
	known := func(string) strength.CommitLookup { return strength.CommitKnown }
	for text, want := range map[string]strength.ReceiptAnswer{
		``: "missing", `null`: "missing", `7`: "missing", `[]`: "missing", `{}`: "never-red",
		`{"failing_run":{"exit_code":1,"log_digest":"d"},"commit":"c"}`:     "valid",
		`{"failing_run":{"exit_code":-1.5,"log_digest":"d"},"commit":"c"}`:  "valid",
		`{"failing_run":{"exit_code":1e999,"log_digest":"d"},"commit":"c"}`: "never-red",
		`{"failing_run":{"exit_code":true,"log_digest":"d"},"commit":"c"}`:  "never-red",
		`{"failing_run":{"exit_code":null,"log_digest":"d"},"commit":"c"}`:  "never-red",
		`{"failing_run":{"exit_code":1,"log_digest":7},"commit":"c"}`:       "never-red",
		`{"failing_run":{"exit_code":1,"log_digest":"d"},"commit":" "}`:     "never-red",
		`{"failing_run":"x","commit":"c"}`:                                  "never-red",
		`{"failing_run":{"exit_code":1,"log_digest":"d"},"commit":["c"]}`:   "never-red",
	} {
		if got := strength.VerifyReceipt("r", json.RawMessage(text), known).Decision; got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}

	if strength.DecideCadence(strength.CadenceQuery{Event: "phase-complete", PhasesSinceAudit: 5}, 5).Reason != "max-phases-without-audit" ||
		strength.DecideCadence(strength.CadenceQuery{Event: "phase-complete", PhasesSinceAudit: 4}, 5).CrossAudit ||
		!strength.DecideCadence(strength.CadenceQuery{Event: "Phase-Complete"}, 5).CrossAudit {
		t.Error("cadence")
	}
	d := strength.ClassifyFailures([]string{"A", "net A", "slow", "new"}, []string{"A"}, []string{"net"}, []string{"slow", "net"})
	if d.Summary != (strength.FailureSummary{Regression: 1, Env: 1, Flake: 1, PreExisting: 1}) || !d.Blocks {
		t.Errorf("failures: %+v", d)
	}
	if strength.ClassifyFailures(nil, nil, nil, nil).Blocks {
		t.Error("no failure blocks")
	}
}

func FuzzBacklog(f *testing.F) {
	f.Add([]byte("## Open\n| B | SEC | x | age=3 | - |\n"))
	f.Add([]byte("## Open\n|||\n| \\| | SEC\n# \n####### x\nage_days age: ."))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := strength.ReadBacklog(data)
		if len(b.Items) < len(b.Findings) {
			t.Fatal("a security row that is a finding is an item too")
		}
		if len(b.Items) > 0 && !strings.Contains(strings.ToLower(string(data)), "open") {
			t.Fatal("rows without an open section")
		}
		for _, i := range b.Items {
			if i.AgeDays != nil && !(*i.AgeDays >= 0) {
				t.Fatalf("an age of %v", *i.AgeDays)
			}
		}
	})
}

func FuzzRequirements(f *testing.F) {
	f.Add([]byte("- [x] **RQ-1** one\n  - [ ] **RQ-2**\n"))
	f.Add([]byte("-[X]****a**\r\n- [é] **x**\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := strength.CountRequirements(data)
		if c.Covered < 0 || c.Covered > c.Total || c.Total > strings.Count(string(data), "**")/2 {
			t.Fatalf("%+v of %q", c, data)
		}
		more := strength.CountRequirements(append([]byte("- [x] **N**\n"), data...))
		if more.Covered != c.Covered+1 || more.Total != c.Total+1 {
			t.Fatalf("one more covered line: %+v, was %+v", more, c)
		}
	})
}
