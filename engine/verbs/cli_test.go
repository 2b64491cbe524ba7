package verbs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHelp(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	for _, flag := range []string{"-h", "--help", "-?", "--h", "--usage"} {
		r := s.query("gate.cap-check", "--gate", "g", flag, "--passes", "9")
		if r.exit != 0 || r.stderr != "" || !strings.HasPrefix(r.stdout, "Usage: ferrox-tools query gate.cap-check --gate <id>") || !strings.Contains(r.stdout, "Example:") {
			t.Errorf("%s: %+v", flag, r)
		}
		for _, args := range [][]string{{flag}, {"no.such", flag}, {flag, "query"}} {
			if r := s.query(args...); r.exit != 0 || !strings.Contains(r.stdout, "<family>.<verb>") || !strings.Contains(r.stdout, "trident.audit") {
				t.Errorf("%q: %+v", args, r)
			}
		}
	}
	if r := s.query("--list"); r.exit != 0 || strings.Count(r.stdout, "\n") != len(verbs) {
		t.Errorf("--list: %+v", r)
	}
	for _, flag := range []string{"--version", "-v"} {
		s.bad("coverage.delta", "--before", "1", flag, "--after", "2")
	}
}

// Every example in the help is run as it is printed, by a shell.
func TestHelpExamplesWork(t *testing.T) {
	t.Parallel()
	for i := range verbs {
		v := &verbs[i]
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t)
			s.write("reference.txt", "x")
			if v.name == "antiloop.open-round" {
				s.ok("antiloop.declare-budget", "--artifact", "spec", "--question", "is it safe", "--max-rounds", "3", "--max-lineages", "3")
			}
			cmd := s.program("sh", "-c", s.tool+" query "+v.line())
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%s: %v", v.line(), err)
			}
			object(t, string(out))
		})
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	want := s.query("coverage.delta", "--before", "1", "--after", "2")
	for _, args := range [][]string{
		{"query", "coverage", "delta", "--before", "1", "--after", "2"},
		{"coverage.delta", "--before", "1", "--after", "2"},
		{"--cwd", ".", "query", "coverage.delta", "--before", "1", "--after", "2", "--default", "x"},
	} {
		if got := s.run("", args...); got != want {
			t.Errorf("%q: %+v", args, got)
		}
	}
	for _, tc := range []struct{ args, want string }{
		{"gate.capcheck", `did you mean "gate.cap-check"?`},
		{"no.such", "unknown verb"},
		{"gate", "unknown verb"},
		{".cap-check", "unknown verb"},
		{"gate.", "unknown verb"},
		{"gate.cap-check.x", "unknown verb"},
		{"", "no verb"},
	} {
		if got := s.bad(strings.Fields(tc.args)...); !strings.Contains(got, tc.want) {
			t.Errorf("%q: %s", tc.args, got)
		}
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	for _, tc := range []struct {
		name string
		args []string
		want map[string]any
	}{
		{"the next word is the value whatever it is", []string{"gate.cap-check", "--gate", "--increment", "K", "--passes", "1", "--start-ts", "0", "--now-ts", "0"}, map[string]any{"gate": "--increment"}},
		{"the first occurrence wins", []string{"coverage.delta", "--before", "1", "--after", "2", "--after", "9"}, map[string]any{"delta": 1.0}},
		{"unknown flags mean nothing", []string{"coverage.delta", "--colour", "--before", "1", "stray", "--after", "2"}, map[string]any{"delta": 1.0}},
		{"negative numbers are values", []string{"coverage.delta", "--before", "-1", "--after", "-0"}, map[string]any{"delta": 1.0}},
		{"set alone", []string{"strength.integration-landing", "--merged-head-proven", "--ff-only", "--protected-clean"}, map[string]any{"action": "land"}},
		{"set with true", []string{"strength.integration-landing", "--merged-head-proven", "true", "--ff-only", "true", "--protected-clean", "true"}, map[string]any{"action": "land"}},
		{"taken back with false", []string{"strength.integration-landing", "--merged-head-proven", "false", "--ff-only", "--protected-clean"}, map[string]any{"action": "reprove"}},
		{"not clean comes first", []string{"strength.integration-landing"}, map[string]any{"action": "block", "reason": "protected-branch-not-clean"}},
		{"lists are trimmed and empty parts dropped", []string{"coord.ownership-check", "--declared", " a , ,b,", "--actual", "b,a", "--increment", "i"}, map[string]any{"decision": "ok"}},
	} {
		if diff := subset(tc.want, s.ok(tc.args...)); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}

	s.bad("coverage.delta", "--before", "1", "--after")         // the last word has no value
	s.bad("coverage.delta", "--before=1", "--after=2")          // there is no form with "="
	s.bad("strength.integration-landing", "--ff-only", "x")     // neither true nor false
	s.bad("coverage.delta", "--before", "\xff", "--after", "1") // not UTF-8
	s.bad("coverage.delta", "--before", "-1e308", "--after", "1.7e308")
	if got := s.bad("gate.cap-check"); strings.Count(got, "missing") != 5 || strings.Count(got, "\n") != 1 {
		t.Errorf("all that is missing, on one line: %s", got)
	}
}

func TestGlobals(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.write("sub/x", "")
	base := []string{"coord.hot-seam-check", "--files", "package-lock.json"}
	if r := s.query(append(base, "--raw")...); r.stdout != `{"decision":"serialize-global","matched":["package-lock.json","**/package-lock.json"]}`+"\n" {
		t.Errorf("raw: %q", r.stdout)
	}
	if r := s.query(base...); r.stdout != "{\n  \"decision\": \"serialize-global\",\n  \"matched\": [\n    \"package-lock.json\",\n    \"**/package-lock.json\"\n  ]\n}\n" {
		t.Errorf("indented: %q", r.stdout)
	}
	for field, want := range map[string]string{
		"decision": "serialize-global", "matched[0]": "package-lock.json", "matched[-1]": "**/package-lock.json", "matched[2]": "", "matched[-3]": "",
		"matched[x]": "", "no.such[0]": "", "decision.x": "", "": "{\n",
	} {
		r := s.query(append(base, "--pick", field)...)
		if r.exit != 0 || (want != "{\n" && r.stdout != want+"\n") || !strings.HasPrefix(r.stdout, want) {
			t.Errorf("pick %q: %q", field, r.stdout)
		}
	}
	if r := s.query("coord.shared-write-check", "--actor", "a", "--target", "b", "--pick", "matched"); r.stdout != "\n" {
		t.Errorf("null is an empty line: %q", r.stdout)
	}
	for _, args := range [][]string{{"--cwd"}, {"--cwd", "nowhere"}, {"--cwd="}, {"--cwd", "sub/x"}, {"--pick"}, {"--ws"}, {"--ws", "../x"}, {"--ws", ".."}} {
		if got := s.bad(append(append([]string{}, base...), args...)...); !strings.Contains(got, strings.TrimSuffix(args[0], "=")) {
			t.Errorf("%q: %s", args, got)
		}
	}
}

func TestErrorsAsJSON(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.write(configPath, `{"rtk":{}}`)
	for _, tc := range []struct {
		args   []string
		reason string
	}{
		{[]string{"gate.cap-check", "--gate", "g"}, "unknown"},
		{[]string{"trident.audit"}, "InvalidArgs"},
		{[]string{"strength.severity-route", "--findings", "x"}, "InvalidArgs"},
		{[]string{"strength.burndown-check", "--opened", "1", "--resolved", "1", "--items", "x"}, "InvalidArgs"},
		{[]string{"strength.cross-audit-cadence"}, "InvalidArgs"},
		{[]string{"gate.cap"}, "sdk_unknown_command"},
		{[]string{"gate.cap-check", "--cwd"}, "usage"},
		{[]string{"antiloop.open-round", "--artifact", "a", "--question", "q", "--gate", "g", "--lineage", "l"}, "E_LOOP_BUDGET_UNDECLARED"},
	} {
		e := object(t, s.bad(append(tc.args, "--json-errors")...))
		if e["ok"] != false || e["reason"] != tc.reason || e["message"] == "" {
			t.Errorf("%q: %v", tc.args, e)
		}
	}
	s.env = []string{"FERROX_JSON_ERRORS=1"}
	object(t, s.bad("gate.cap-check"))
	if r := s.query("strength.coverage-source"); !strings.HasPrefix(r.stderr, "Warning: ") || strings.Contains(r.stdout, "Warning") {
		t.Errorf("an unknown key only warns: %+v", r)
	}
}

func TestW64_ExitCodesAndJSONThatScriptsCanTrust(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	for _, args := range [][]string{{"no.such", "--json"}, {"--json", "gate.cap-check"}, {"antiloop.status", "--json"}, {"coverage.delta", "--cwd", "none", "--json"}} {
		if e := object(t, s.bad(args...)); e["ok"] != false {
			t.Errorf("%q: %v", args, e)
		}
	}
	s.ok("coord.hot-seam-check", "--files", "", "--json")
	s.ok("antiloop.status", "--artifact", "a", "--question", "q", "--json")
}

func TestSettingsOfUserAndWorkstream(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	sla := func(args ...string) any {
		return s.ok(append(args, "human-sla.check", "--increment", "i", "--opened-ts", "1", "--now-ts", "0")...)["sla_seconds"]
	}
	if err := os.MkdirAll(filepath.Join(s.home, ".ferrox"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.home, ".ferrox", "defaults.json"), []byte(`{"halting":{"human_sla_seconds":11}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := sla(); got != 86400.0 {
		t.Errorf("a project without settings has the defaults: %v", got)
	}
	s.write(configPath, `{"halting":{"human_sla_seconds":22,"gates":{"g":{"max_passes":7,"wall_clock_seconds":60}}}}`)
	s.write(".planning/workstreams/w/config.json", `{"halting":{"human_sla_seconds":33,"gates":{"g":{"max_passes":null,"wall_clock_seconds":1}}}}`)
	if sla() != 22.0 || sla("--ws", "w") != 33.0 || sla("--ws", "none") != 22.0 {
		t.Errorf("got %v %v %v", sla(), sla("--ws", "w"), sla("--ws", "none"))
	}
	got := s.ok("gate.cap-check", "--gate", "g", "--increment", "i", "--passes", "6", "--start-ts", "0", "--now-ts", "1000", "--ws", "w")
	if got["trigger"] != "wall-clock" {
		t.Errorf("objects merge: %v", got)
	}
	if err := os.RemoveAll(filepath.Join(s.dir, ".planning")); err != nil {
		t.Fatal(err)
	}
	if got := sla(); got != 11.0 {
		t.Errorf("without a project the user's settings: %v", got)
	}
}

// W62: names that are hostile to paths, terminals and JSON stay text.
func TestW62_HostileNames(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	for _, name := range []string{"..", "a/../../b", "-D", "--upload-pack=x", "T 1", "T.lock", "T@{1}", "CON", strings.Repeat("n", 300), "e\u0301", "\u00e9", "\x1b[31mred", "a\x00b"[:1] + "\u202e"} {
		got := s.ok("gate.cap-check", "--gate", name, "--increment", name, "--passes", "3", "--start-ts", "0", "--now-ts", "0", "--raw")
		if got["gate"] != name {
			t.Errorf("%q came back as %q", name, got["gate"])
		}
	}
	if got := s.bad("\x1b[31m.x"); strings.Contains(got, "\x1b") {
		t.Errorf("a control character reached the terminal: %q", got)
	}
	entries, err := os.ReadDir(filepath.Join(s.dir, ".planning"))
	if err != nil || len(entries) != 2 {
		t.Errorf("an id became a path: %v %v", entries, err)
	}
}
