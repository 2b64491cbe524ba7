package verbs

import (
	"path/filepath"
	"strings"
	"testing"
)

// block checks that the gate blocks for these reasons and no other.
func (s *sandbox) block(args []string, reasons ...any) map[string]any {
	s.t.Helper()
	got := s.ok(args...)
	if diff := subset(map[string]any{"decision": "block", "reasons": reasons}, got); diff != "" {
		s.t.Errorf("%s; errors %v", diff, got["errors"])
	}
	return got
}

func TestMergeGate_Stores(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, file, text string
		reasons          []any
		errors           string
	}{
		{"T-05-16 receipts that do not parse", ".planning/strength/receipts.json", "{", []any{"receipts-not-valid", "input-verb-error"}, "verify-receipt:"},
		{"receipts of another shape", ".planning/strength/receipts.json", "[]", []any{"receipts-not-valid"}, ""},
		{"Fix 3 a blank baseline", ".planning/strength/coverage-baseline.json", " ", []any{"coverage-not-landed", "input-verb-error"}, "coverage-baseline-missing"},
		{"a baseline in words", ".planning/strength/coverage-baseline.json", `{"covered":"1"}`, []any{"coverage-not-landed", "input-verb-error"}, "coverage-baseline-missing"},
		{"T-05-13 no coverage gained", ".planning/strength/coverage-baseline.json", `{"covered":2}`, []any{"coverage-not-landed"}, ""},
		{"T-05-19 findings that do not parse", ".planning/strength/findings.json", "{", []any{"security-open", "critical-high-open", "input-verb-error"}, "severity-route:"},
		{"findings of another shape", ".planning/strength/findings.json", `{"open":{}}`, []any{"security-open", "critical-high-open", "input-verb-error"}, "severity-route:"},
		{"a null finding", ".planning/strength/findings.json", `{"open":[null]}`, []any{"security-open", "critical-high-open", "input-verb-error"}, "severity-route:"},
		{"Fix 2 a stored finding", ".planning/strength/findings.json", `{"open":[{"severity":"critical"}]}`, []any{"critical-high-open"}, ""},
		{"a backlog that is a folder", ".planning/BACKLOG.md/x", "", []any{"burndown-not-ok", "security-open", "critical-high-open", "input-verb-error"}, "burndown-check:"},
	} {
		s := newSandbox(t)
		args := s.passing()
		s.write(tc.file, tc.text)
		got := s.block(args, tc.reasons...)
		errors, _ := got["errors"].([]any)
		if tc.errors == "" != (len(errors) == 0) || tc.errors != "" && !strings.HasPrefix(errors[0].(string), tc.errors) {
			t.Errorf("%s: errors %v", tc.name, errors)
		}
	}

	for name, file := range map[string]string{"findings": ".planning/strength/findings.json", "backlog": ".planning/BACKLOG.md"} {
		s := newSandbox(t)
		args := s.passing()
		s.write(file, "")
		if got := s.ok(args...); got["decision"] != "pass" {
			t.Errorf("an empty %s file: %v", name, got)
		}
	}
}

func TestMergeGate_Flags(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	args := s.passing()
	with := func(name, value string) []string {
		changed := append([]string{}, args...)
		for i, w := range changed {
			if w == name {
				changed[i+1] = value
			}
		}
		return changed
	}
	for _, text := range []string{"few", "", "0x1", "NaN"} {
		s.block(with("--opened", text), "burndown-not-ok")
	}
	s.block(with("--opened", "2"), "burndown-not-ok")
	s.block(with("--requirements", "RQ-1,RQ-9"), "receipts-not-valid")
	s.block(with("--files", "yarn.lock"), "hot-seam-not-serialized")
	s.block(append(with("--files", "yarn.lock"), "--hot-seam-serialized", "TRUE"), "hot-seam-not-serialized")
	s.block(append(args, "--items", "{}"), "burndown-not-ok", "input-verb-error")
	s.block(append(args, "--items", `[{"category":"security","age_days":"9"}]`), "burndown-not-ok", "input-verb-error")
	s.block(append(args, "--findings", "{}"), "security-open", "critical-high-open", "input-verb-error")
	s.block(append(args, "--migration-number", "x"), "input-verb-error")
	s.block(append(args, "--migration-number", "7"), "input-verb-error")
	s.bad(with("--requirements", " , ")...)
	s.bad(with("--increment", "")...)
	s.bad(with("--mutation-test", "")...)
	if got := s.ok(with("--actual", "")...); got["decision"] != "pass" {
		t.Errorf("nothing written is nothing undeclared: %v", got)
	}
}

func TestMergeGate_FastPath(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	fast := append(s.passing(), "--depth", "fast")
	s.block(fast, "depth-decision-not-valid") // nobody decided
	if _, there := s.read(".planning/strength/depth-decisions.json"); there {
		t.Error("a decision was made up")
	}
	s.ok("strength.depth-decide", "--requirement", "RQ-1", "--self-grade", "low", "--paths", "a.go")
	if got := s.ok(fast...); got["decision"] != "pass" {
		t.Fatal(got)
	}

	// Any block on the fast path ratchets: the decision never counts again.
	s.block(append(fast, "--findings", `[{"severity":"high"}]`), "critical-high-open")
	s.block(fast, "depth-decision-not-valid")
	if got := s.ok("strength.depth-decide", "--requirement", "RQ-1", "--self-grade", "low", "--paths", "a.go"); got["depth"] != "full" || got["escalated"] != true {
		t.Errorf("escalated for good: %v", got)
	}
}

func TestMergeGate_FastPathDiffBase(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	fast := append(s.passing(), "--depth", "fast", "--diff-base")
	s.git("init", "-q", "-b", "main")
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "one")
	s.ok("strength.depth-decide", "--requirement", "RQ-1", "--self-grade", "low", "--paths", "a.go")
	if got := s.ok(append(fast, "HEAD")...); got["decision"] != "pass" {
		t.Fatal(got)
	}
	if r := s.query(append(fast, "--output=owned")...); r.exit != 0 || !strings.Contains(r.stderr, "--diff-base") {
		t.Errorf("a ref that git can't read adds nothing: %+v", r)
	}
	if _, there := s.read("owned"); there {
		t.Error("a ref became an option of git")
	}
	s.write("svc/auth/x.go", "")
	s.git("add", "-A")
	s.block(append(fast, "HEAD"), "depth-decision-not-valid")
}

func TestReceiptCommits(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.git("init", "-q", "-b", "main")
	s.git("commit", "-q", "--allow-empty", "-m", "one")
	s.write("f", "x")
	blob := s.git("hash-object", "-w", "f")
	for commit, want := range map[string]string{
		s.git("rev-parse", "HEAD"): "valid", s.git("rev-parse", "--short", "HEAD"): "valid", "main": "valid",
		strings.Repeat("0", 40): "fabricated-commit", blob: "fabricated-commit", "--all": "fabricated-commit", "HEAD~5": "fabricated-commit", "no such": "fabricated-commit",
	} {
		s.ok("strength.receipt", "--requirement", "R", "--test", "t", "--exit-code", "1", "--log-digest", "d", "--commit", commit)
		if got := s.ok("strength.verify-receipt", "--requirement", "R"); got["decision"] != want {
			t.Errorf("%q: %v, want %s", commit, got["decision"], want)
		}
	}
}

func TestSeals(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.write("here/file", "content")
	s.env = []string{"FERROX_SEALED_STORE=" + filepath.Join(s.dir, "by-env")}
	got := s.ok("gate.seal", "--file", "here/file", "--cwd", "here") // relative to the process, not to --cwd
	if got["ok"] != true || !strings.HasPrefix(got["path"].(string), filepath.Join(s.dir, "by-env")) {
		t.Fatal(got)
	}
	if again := s.ok("gate.seal", "--file", "here/file"); again["hash"] != got["hash"] {
		t.Errorf("sealing again: %v", again)
	}
	uri := got["uri"].(string)
	if v := s.ok("gate.verify-seal", "--uri", uri); v["ok"] != true || v["bytes"] != 7.0 {
		t.Error(v)
	}

	s.env = nil
	if v := s.ok("gate.verify-seal", "--uri", uri); v["code"] != "E_SEALED_OBJECT_MISSING" {
		t.Errorf("another store: %v", v)
	}
	hash := got["hash"].(string)
	s.write("bad/sha256/"+hash[:2]+"/"+hash, "other")
	if v := s.ok("gate.verify-seal", "--uri", uri, "--store", "bad"); v["code"] != "E_SEALED_OBJECT_CORRUPT" {
		t.Error(v)
	}
	if v := s.ok("gate.seal", "--file", "here/file", "--store", "bad"); v["ok"] != true {
		t.Errorf("a corrupt object is put right: %v", v)
	}
	if v := s.ok("gate.verify-seal", "--uri", uri, "--store", "bad"); v["ok"] != true {
		t.Error(v)
	}
	s.write("file", "")
	if v := s.ok("gate.seal", "--file", "here/file", "--store", "file"); v["code"] != "E_SEAL_WRITE" {
		t.Error(v)
	}
	if v := s.ok("gate.seal", "--file", "here", "--store", "x"); v["code"] != "E_SEAL_READ" {
		t.Error(v)
	}
}

func TestAntiloop(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	call := func(verb string, more ...string) []string {
		return append([]string{"antiloop." + verb, "--artifact", "Spec 9", "--question", "is it safe"}, more...)
	}
	open := func(lineage string) []string { return call("open-round", "--gate", "g", "--lineage", lineage) }
	s.ok(call("declare-budget", "--max-rounds", "3", "--max-lineages", "3", "--now-ts", "0")...)
	if got := s.bad(call("declare-budget", "--max-rounds", "9", "--max-lineages", "9")...); !strings.Contains(got, "E_LOOP_BUDGET_REDECLARED") {
		t.Error(got)
	}
	for i, want := range []float64{1, 2, 3} {
		got := s.ok(open([]string{"x", "y", "X"}[i])...)
		if got["rounds"] != want {
			t.Errorf("round %v: %v", want, got)
		}
	}
	if got := s.bad(open("x")...); !strings.Contains(got, "E_LOOP_BUDGET_SPENT") {
		t.Error(got)
	}
	if got := s.bad("antiloop.open-round", "--artifact", "SPEC  9", "--question", "is it safe\n", "--gate", "renamed", "--lineage", "x"); !strings.Contains(got, "E_LOOP_BUDGET_SPENT") {
		t.Errorf("another spelling is no new budget: %s", got)
	}

	finding := call("file-finding", "--finding-id", "F", "--severity", "low", "--category", "auth")
	r := s.query(append(finding, "--blocking", "--reproducible", "make test", "--reproducible-exit", "0")...)
	if r.exit != 1 || object(t, r.stdout)["blocking"] != false || !strings.Contains(r.stderr, "E_LOOP_UNREPRODUCIBLE_BLOCKING") {
		t.Errorf("recorded, and refused: %+v", r)
	}
	if got := s.ok(append(finding, "--blocking", "--reproducible", "make test", "--reproducible-exit", "2")...); got["blocking"] != true {
		t.Error(got)
	}
	got := s.ok(call("status")...)
	want := map[string]any{"rounds": 3.0, "lineages": 2.0, "decision": "E_LOOP_BUDGET_SPENT", "disposition": "escalate-to-human", "budget": map[string]any{"max_rounds": 3.0}}
	if diff := subset(want, got); diff != "" || len(got["findings"].([]any)) != 2 {
		t.Errorf("%s: %v", diff, got)
	}
	fresh := []string{"antiloop.declare-budget", "--artifact", "other", "--question", "q", "--max-rounds", "1", "--max-lineages", "2"}
	for _, stray := range []string{"--max-round", "stray", "--override", "-x"} {
		if got := s.bad(append(fresh, stray, "9")...); !strings.Contains(got, "unknown argument "+stray) {
			t.Errorf("a misspelled limit must not be no limit: %s", got)
		}
	}
	for _, args := range [][]string{
		call("status", "--reset"), call("status", "stray"), append(open("x"), "--override"), call("declare-budget", "--max-rounds", "1.5", "--max-lineages", "1"),
		call("declare-budget", "--max-rounds", "-1", "--max-lineages", "1"), append(open("x"), "--now-ts", "9e15"),
	} {
		s.bad(args...)
	}
	if text, _ := s.read(antiloopPath); strings.Count(text, "\n") != 6 {
		t.Errorf("refusals append nothing:\n%s", text)
	}
}

func TestStateFaultsAreErrors(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.write(".planning/rescope-state.json", `{"i":{"attempts":"2"}}`)
	if got := s.bad("rescope.check", "--increment", "i", "--prev-size", "9", "--new-size", "8", "--now-ts", "0"); !strings.Contains(got, "rescope-state.json") {
		t.Error(got)
	}
	s.write(".planning/halting-log.jsonl/x", "")
	s.bad("gate.cap-check", "--gate", "g", "--increment", "i", "--passes", "9", "--start-ts", "0", "--now-ts", "0")
	s.write(".planning/human-sla-park.json", `[]`)
	s.bad("human-sla.check", "--increment", "i", "--opened-ts", "0", "--now-ts", "90000000") // the log is a folder
	if text, _ := s.read(".planning/human-sla-park.json"); !strings.Contains(text, "parked") {
		t.Errorf("the park record goes first: %s", text)
	}
	s.clean()
}
