package verbs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// One test for every row of "Where ferrox decides differently" (verbs.md), in its order.

func TestDiffers_Numbers(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	capCheck := func(passes string) []string {
		return []string{"gate.cap-check", "--gate", "g", "--increment", "i", "--passes", passes, "--start-ts", "0", "--now-ts", "10"}
	}
	for _, text := range []string{"", " ", "0x3", "0b11", "0o3", "three", "3px", "1_000", "NaN", "Infinity", "-Infinity", "1e999", "1e", "e3", ".", "+", "1.2.3", "--3", "٣"} {
		if got := s.bad(capCheck(text)...); !strings.HasPrefix(got, "Error: Usage: ferrox-tools query gate.cap-check --gate <id>") || !strings.Contains(got, "--passes") {
			t.Errorf("%q: %s", text, got)
		}
	}
	for _, text := range []string{"7", "007", "+7", " 7 ", "7.0", "7.", "7e0", "70e-1", "7E+0"} {
		if got := s.ok(capCheck(text)...); got["trigger"] != "pass-cap" {
			t.Errorf("%q: %v", text, got)
		}
	}
	if got := s.ok(capCheck(".5")...); got["trigger"] != "none" {
		t.Errorf(".5: %v", got)
	}
}

func TestDiffers_NumbersInSettings(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ config, want string }{
		{`{"halting":{"gates":{"g":{"max_passes":"6"}}}}`, `halting.gates.g.max_passes: "6" is text`},
		{`{"halting":{"gates":{"g":{"max_passes":-1}}}}`, "halting.gates.g.max_passes: -1 is out of range"},
		{`{"halting":{"gates":{"g":{"max_passes":2.5}}}}`, "2.5 is a fraction"},
		{`{"halting":{"human_sla_seconds":-1}}`, "halting.human_sla_seconds: -1 is below zero"},
		{`{"strength":{"medium_cluster_threshold":true}}`, "strength.medium_cluster_threshold: true"},
	} {
		s := newSandbox(t)
		s.write(configPath, tc.config)
		got := s.bad("gate.cap-check", "--gate", "g", "--increment", "i", "--passes", "9", "--start-ts", "0", "--now-ts", "0")
		if !strings.Contains(got, tc.want) || !strings.Contains(got, "config.json:1:") {
			t.Errorf("%s: %s", tc.config, got)
		}
		if _, there := s.read(runLogPath); there {
			t.Errorf("%s: a line was written", tc.config)
		}
	}

	s := newSandbox(t)
	s.write(configPath, `{"halting":{"gates":{"g":{"max_passes":null,"wall_clock_seconds":0}},"rescope":{"max_attempts":0},"human_sla_seconds":null}}`)
	if got := s.ok("gate.cap-check", "--gate", "g", "--increment", "i", "--passes", "2", "--start-ts", "5", "--now-ts", "5"); got["trigger"] != "wall-clock" {
		t.Errorf("null is the default of 3 passes, 0 seconds fire at once: %v", got)
	}
	if got := s.ok("rescope.check", "--increment", "i", "--prev-size", "2", "--new-size", "1", "--now-ts", "0"); got["decision"] != "hard-descope-or-kill" || got["attempt"] != 0.0 {
		t.Errorf("an explicit 0 is honoured: %v", got)
	}
	if got := s.ok("human-sla.check", "--increment", "i", "--opened-ts", "0", "--now-ts", "0"); got["sla_seconds"] != 86400.0 {
		t.Errorf("null is absent: %v", got)
	}
}

func TestDiffers_SettingsThatDoNotParse(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.write(configPath, "{\n \"halting\": {,\n}")
	for _, args := range [][]string{
		{"gate.cap-check", "--gate", "g", "--increment", "i", "--passes", "9", "--start-ts", "0", "--now-ts", "0"},
		{"rescope.check", "--increment", "i", "--prev-size", "2", "--new-size", "1", "--now-ts", "0"},
		{"coord.alloc-migration"},
		{"coord.ownership-check", "--declared", "", "--actual", "a", "--increment", "i", "--now-ts", "0"},
		{"strength.coverage-source"},
		{"antiloop.declare-budget", "--artifact", "a", "--question", "q", "--max-rounds", "1", "--max-lineages", "2"},
	} {
		if got := s.bad(args...); !strings.Contains(got, "config.json:2: does not parse") {
			t.Errorf("%s: %s", args[0], got)
		}
	}
	entries, err := os.ReadDir(filepath.Join(s.dir, ".planning"))
	if err != nil || len(entries) != 2 {
		t.Errorf("something was written: %v %v", entries, err)
	}
	s.ok("coverage.delta", "--before", "1", "--after", "2") // knows no project
}

func TestDiffers_OddIDs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"__proto__", "constructor", "prototype", "toString", "", "ключ", "a\nb", "../..", `"`, "--raw-ish", strings.Repeat("x", 5000)} {
		s := newSandbox(t)
		if id == "" {
			s.bad("rescope.check", "--increment", id, "--prev-size", "9", "--new-size", "8", "--now-ts", "0")
			continue
		}
		first := s.ok("rescope.check", "--increment", id, "--prev-size", "9", "--new-size", "8", "--now-ts", "0")
		second := s.ok("rescope.check", "--increment", id, "--prev-size", "8", "--new-size", "7", "--now-ts", "0")
		third := s.ok("rescope.check", "--increment", id, "--prev-size", "7", "--new-size", "6", "--now-ts", "0")
		if first["attempt"] != 1.0 || second["attempt"] != 2.0 || third["decision"] != "hard-descope-or-kill" || first["increment"] != id {
			t.Errorf("%q: %v %v %v", id, first, second, third)
		}
		if got := s.ok("strength.verify-receipt", "--requirement", id); got["decision"] != "missing" {
			t.Errorf("%q: %v", id, got)
		}
		s.ok("strength.receipt", "--requirement", id, "--test", "t", "--exit-code", "1", "--log-digest", "d", "--commit", "c")
		if got := s.ok("strength.verify-receipt", "--requirement", id); got["decision"] != "valid" {
			t.Errorf("%q: %v", id, got)
		}
	}

	s := newSandbox(t)
	s.write(configPath, `{"halting":{"gates":{"__proto__":{"max_passes":9}}}}`)
	if got := s.ok("gate.cap-check", "--gate", "__proto__", "--increment", "i", "--passes", "3", "--start-ts", "0", "--now-ts", "0"); got["trigger"] != "none" {
		t.Errorf("a gate of that name has its own caps: %v", got)
	}
}

func TestDiffers_AllocationNeverRepeats(t *testing.T) {
	t.Parallel()
	for store, want := range map[string]float64{
		`{"next":2,"allocated":[1,2,3]}`:          4,
		`{"next":"9","allocated":[7]}`:            8,
		`{"next":-5}`:                             1,
		`{"next":2.5,"allocated":[]}`:             3,
		`{"next":10,"allocated":[1]}`:             10,
		`{"allocated":["x",null,4],"consumed":4}`: 5,
		`[]`:   1,
		`null`: 1,
	} {
		s := newSandbox(t)
		s.write(".planning/coord/migration-seq.json", store)
		if got := s.ok("coord.alloc-migration"); got["number"] != want {
			t.Errorf("%s: %v, want %v", store, got, want)
		}
		if got := s.ok("coord.alloc-migration"); got["number"] != want+1 {
			t.Errorf("%s: then %v, want %v", store, got, want+1)
		}
	}

	s := newSandbox(t)
	s.write(".planning/coord/migration-seq.json", `{"next":9007199254740992}`)
	if got := s.bad("coord.alloc-migration"); !strings.Contains(got, "used up") {
		t.Error(got)
	}
}

func TestDiffers_OneRegistry(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	seam := func(file string) any { return s.ok("coord.hot-seam-check", "--files", file)["decision"] }
	write := func(file string) any {
		return s.ok("coord.shared-write-check", "--actor", "executor", "--target", file)["decision"]
	}
	for _, file := range []string{
		".planning/STATE.md", "docs/ROADMAP.md", ".planning/BACKLOG.md",
		".planning/rescope-state.json", ".planning/human-sla-park.json", ".planning/halting-log.jsonl",
	} {
		if seam(file) != "serialize-global" || write(file) != "forbidden" {
			t.Errorf("%s is a seam with one writer: %v %v", file, seam(file), write(file))
		}
	}
	for _, file := range []string{"package-lock.json", "db/migrations/1.sql", "api/user.schema.json", "Cargo.lock"} {
		if seam(file) != "serialize-global" || write(file) != "allowed" {
			t.Errorf("%s is a seam only: %v %v", file, seam(file), write(file))
		}
	}

	s.write(configPath, `{"coordination":{"hot_seams":["x/**"]}}`)
	if seam("package-lock.json") != "parallel-ok" || seam("x/a") != "serialize-global" || seam("STATE.md") != "serialize-global" || write("STATE.md") != "forbidden" {
		t.Error("hot_seams replaces the seam half and leaves the other")
	}
	s.write(configPath, `{"coordination":{"shared_state_paths":["ops/**"]}}`)
	if seam("STATE.md") != "parallel-ok" || write("STATE.md") != "allowed" || seam("ops/a") != "serialize-global" || write("ops/a") != "forbidden" || seam("a.lock") != "serialize-global" {
		t.Error("shared_state_paths replaces the sole-writer half and leaves the other")
	}
	s.write(configPath, `{"coordination":{"hot_seams":[],"shared_state_paths":[]}}`)
	if seam("a.lock") != "serialize-global" || write("STATE.md") != "forbidden" {
		t.Error("an empty list is the default list")
	}
}

func TestDiffers_CapOutcomeNormalisedWithWarning(t *testing.T) {
	t.Parallel()
	for _, outcome := range []string{`"continue"`, `"Stop-And-Rescope"`, `7`, `{}`, `[]`, `false`, `""`} {
		s := newSandbox(t)
		s.write(configPath, `{"halting":{"gates":{"g":{"max_passes":1,"cap_outcome":`+outcome+`}}}}`)
		r := s.query("gate.cap-check", "--gate", "g", "--increment", "i", "--passes", "1", "--start-ts", "0", "--now-ts", "0")
		if r.exit != 0 || object(t, r.stdout)["decision"] != "stop-and-rescope" {
			t.Errorf("%s: %+v", outcome, r)
		}
		if !strings.HasPrefix(r.stderr, "Warning: ") || !strings.Contains(r.stderr, "halting.gates.g.cap_outcome") {
			t.Errorf("%s: no warning: %q", outcome, r.stderr)
		}
		if text, _ := s.read(runLogPath); !strings.Contains(text, `"cap_outcome":"stop-and-rescope"`) {
			t.Errorf("%s: log %q", outcome, text)
		}
	}
}

func TestDiffers_LaneUsesTheMainCheckout(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.git("init", "-q", "-b", "main")
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "one")
	lane := filepath.Join(t.TempDir(), "lanes", "lane 1")
	s.git("worktree", "add", "-q", "-b", "lane-1", lane)
	s.write(configPath, `{"halting":{"gates":{"g":{"max_passes":5}}}}`)
	sub := filepath.Join(lane, "deep", "er")
	if err := os.MkdirAll(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(sub, link); err != nil {
		t.Fatal(err)
	}

	number := 0.0
	for _, dir := range []string{s.dir, lane, sub, link} {
		number++
		if got := s.ok("--cwd", dir, "coord.alloc-migration"); got["number"] != number {
			t.Errorf("%s: %v, want %v", dir, got, number)
		}
		if got := s.ok("--cwd="+dir, "gate.cap-check", "--gate", "g", "--increment", "i", "--passes", "4", "--start-ts", "0", "--now-ts", "0"); got["trigger"] != "none" {
			t.Errorf("%s: settings of the main checkout: %v", dir, got)
		}
	}
	if _, err := os.Stat(filepath.Join(lane, ".planning", "coord")); !os.IsNotExist(err) {
		t.Errorf("the lane has state of its own: %v", err)
	}
}

func TestDiffers_ListsThatAreNone(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	for _, text := range []string{"{}", "null", `"x"`, "7", "[null]", "[7]", `["x"]`, "[{}", "", " "} {
		if got := s.bad("strength.severity-route", "--findings", text); !strings.Contains(got, "--findings") {
			t.Errorf("findings %q: %s", text, got)
		}
		if got := s.bad("strength.burndown-check", "--opened", "1", "--resolved", "1", "--items", text); !strings.Contains(got, "--items") {
			t.Errorf("items %q: %s", text, got)
		}
	}
	if got := s.bad("strength.burndown-check", "--opened", "1", "--resolved", "1", "--items", `[{"category":"security","age_days":"30"}]`); !strings.Contains(got, "age_days") {
		t.Error(got)
	}
	if got := s.ok("strength.burndown-check", "--opened", "1", "--resolved", "1", "--items", `[{"category":"security","age_days":null},{}]`); got["decision"] != "ok" {
		t.Error(got)
	}
}

// passing writes the stores of an increment that may land, and returns the gate's arguments.
func (s *sandbox) passing(more ...string) []string {
	s.write(".planning/strength/receipts.json", `{"receipts":{"RQ-1":{"requirement":"RQ-1","test":"t","failing_run":{"exit_code":1,"log_digest":"d"},"commit":"HEAD"}}}`)
	s.write(".planning/REQUIREMENTS.md", "- [x] **RQ-1** one\n- [x] **RQ-2** two\n")
	s.write(".planning/strength/coverage-baseline.json", `{"covered":1}`)
	return append([]string{
		"strength.merge-gate", "--increment", "INC", "--requirements", "RQ-1", "--declared", "a.go", "--actual", "a.go", "--files", "a.go",
		"--opened", "1", "--resolved", "1", "--mutation-test", "x_test.go", "--mutation-flipped", "true",
	}, more...)
}

func TestDiffers_MigrationNumberIsConsumedOnPassOnly(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.write(".planning/coord/migration-seq.json", `{"next":4,"allocated":[3]}`)
	args := s.passing("--migration-number", "3")
	s.write(".planning/strength/coverage-baseline.json", `{"covered":2}`)
	if got := s.ok(args...); got["decision"] != "block" {
		t.Fatal(got)
	}
	if text, _ := s.read(".planning/coord/migration-seq.json"); text != `{"next":4,"allocated":[3]}` {
		t.Errorf("a blocked gate consumed: %s", text)
	}

	s.write(".planning/strength/coverage-baseline.json", `{"covered":1}`)
	if got := s.ok(args...); got["decision"] != "pass" {
		t.Fatal(got)
	}
	if got := s.ok("coord.consume-migration", "--number", "3"); got["decision"] != "rejected-replay" {
		t.Errorf("a passed gate did not consume: %v", got)
	}
	got := s.ok(args...)
	if diff := subset(map[string]any{"decision": "block", "reasons": []any{"input-verb-error"}, "errors": []any{"consume-migration:rejected-replay"}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestDiffers_CrossAuditNeedsARecord(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	args := append(s.passing(), "--audit-tier", "cross", "--cross-audit", "passed")
	s.git("init", "-q", "-b", "main")
	s.git("commit", "-q", "--allow-empty", "-m", "one")

	got := s.ok(args...)
	if diff := subset(map[string]any{"decision": "block", "reasons": []any{"cross-audit-not-passed"}}, got); diff != "" {
		t.Errorf("the caller's word alone: %s", diff)
	}

	audit := []string{"trident.audit", "--caller-family", "claude", "--checkpoint", "high-risk-wave-audit", "--increment", "INC"}
	s.ok(append(audit, "--panel", `[{"family":"codex"},{"family":"gemini"}]`)...)
	if got := s.ok(args...); got["decision"] != "block" {
		t.Errorf("a panel that the caller wrote is his word as well: %v", got)
	}

	s.write(configPath, `{"model":{"trident_panel":[{"family":"codex","command":["sh","-c","cat >/dev/null; echo '[]'"]},{"family":"gemini","command":["sh","-c","echo '[\"x\"]'"]}]}}`)
	if got := s.ok(append(audit, "--live")...); got["decision"] != "complete" {
		t.Fatal(got)
	}
	if got := s.ok(args...); got["decision"] != "pass" {
		t.Errorf("recorded for this increment and commit: %v", got)
	}
	other := append([]string{}, args...)
	other[2] = "OTHER"
	if got := s.ok(other...); got["decision"] != "block" {
		t.Errorf("another increment: %v", got)
	}
	s.git("commit", "-q", "--allow-empty", "-m", "two")
	if got := s.ok(args...); got["decision"] != "block" {
		t.Errorf("another commit: %v", got)
	}
}

func TestDiffers_DeniedAddsToTheDenySet(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	for _, tc := range []struct {
		args    []string
		allowed bool
	}{
		{[]string{"--op", "push", "--denied", "rebase"}, false},
		{[]string{"--op", "rebase", "--denied", "rebase"}, false},
		{[]string{"--op", " ReBase ", "--denied", "x, REBASE"}, false},
		{[]string{"--op", "Deploy"}, false},
		{[]string{"--op", "lint", "--denied", "rebase"}, true},
		{[]string{"--op", "push", "--denied", ""}, false},
	} {
		if got := s.ok(append([]string{"strength.authority-check"}, tc.args...)...); got["allowed"] != tc.allowed {
			t.Errorf("%q: %v", tc.args, got)
		}
	}
}
