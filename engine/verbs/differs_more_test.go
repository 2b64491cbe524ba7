package verbs

import (
	"encoding/json"
	"strings"
	"testing"
)

// The rest of the rows of "Where ferrox decides differently"; the first ones are in differs_test.go.

func TestDiffers_CallerFamilyAndLineages(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	panel := func(json string) []string {
		return []string{"trident.audit", "--caller-family", "claude", "--checkpoint", "plan-lock-gap-audit", "--panel", json}
	}
	for _, caller := range []string{"", "  "} {
		args := panel("[]")
		args[2] = caller
		if got := s.bad(args...); !strings.Contains(got, "--caller-family") {
			t.Errorf("caller %q: %s", caller, got)
		}
	}

	got := s.ok(panel(`[{"family":"codex","findings":["A"]},{"family":"openai","findings":["a"]},{"family":"gemini","findings":["b"]}]`)...)
	if diff := subset(map[string]any{"decision": "complete", "consensus": []any{}, "contested": []any{"a", "b"}}, got); diff != "" {
		t.Errorf("two names of one lineage agree with themselves: %s", diff)
	}
	got = s.ok(panel(`[{"family":"codex","findings":["A"]},{"family":"GPT-5"}]`)...)
	if got["reason"] != "panel-not-cross-lineage" {
		t.Errorf("two names are not two lineages: %v", got)
	}
}

func TestDiffers_MaxRoundsAll(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	args := []string{"trident.audit", "--caller-family", "claude", "--checkpoint", "plan-lock-gap-audit", "--panel", `[{"family":"codex"},{"family":"gemini"}]`, "--max-rounds"}
	for _, text := range []string{"all", "", "0x1", "Infinity"} {
		if got := s.bad(append(args, text)...); !strings.Contains(got, "--max-rounds") {
			t.Errorf("%q: %s", text, got)
		}
	}
	if got := s.ok(append(args, "1")...); got["decision"] != "complete" {
		t.Error(got)
	}
	if got := s.ok(append(args, "1.5")...); got["reason"] != "unbounded-invocation" {
		t.Error(got)
	}
}

func TestDiffers_RiskBoundariesAreWords(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	for path, depth := range map[string]string{
		"docs/author.md": "fast", "src/authority.go": "fast", "piiano/keys.go": "fast", "src/a.go": "fast", "network/file.go": "fast",
		"svc/auth/x.go": "full", "svc/AUTH/x.go": "full", `svc\auth\x.go`: "full", "authService.ts": "full", "PIIStore.java": "full",
		"auth2.go": "full", "lib/network-file.go": "full", "lib/networkFile.go": "full", "x_payments_y": "full",
	} {
		got := s.ok("strength.depth-decide", "--requirement", "R "+path, "--self-grade", "low", "--paths", path)
		if got["depth"] != depth {
			t.Errorf("%s: %v, want %s", path, got, depth)
		}
	}
}

func TestDiffers_LivePanel(t *testing.T) {
	t.Parallel()
	live := []string{"trident.audit", "--caller-family", "claude", "--checkpoint", "plan-lock-gap-audit", "--live"}
	for _, tc := range []struct {
		name, codex, want string
		more              []string
	}{
		{"findings are read as JSON", `cat > prompt.txt; echo '[{"key":"No-Limit"},"Other"]'`, `{"decision":"complete","consensus":["no-limit"],"contested":["other"]}`, nil},
		{"no JSON", "echo looks good to me", `{"decision":"degraded","reason":"findings-unreadable","cli":"sh"}`, nil},
		{"an object", "echo '{}'", `{"decision":"degraded","reason":"findings-unreadable"}`, nil},
		{"it fails", "echo '[]'; exit 3", `{"decision":"degraded","reason":"cli-failed"}`, nil},
		{"unbounded is refused before anyone is asked", "touch asked", `{"decision":"refused","reason":"unbounded-invocation"}`, []string{"--open-ended"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t)
			config, err := json.Marshal(map[string]any{"model": map[string]any{"trident_panel": []any{
				map[string]any{"family": "codex", "command": []string{"sh", "-c", tc.codex}},
				map[string]any{"family": "gemini", "command": []string{"sh", "-c", `echo '["no-limit"]'`}},
			}}})
			if err != nil {
				t.Fatal(err)
			}
			s.write(configPath, string(config))
			if diff := subset(object(t, tc.want), s.ok(append(live, tc.more...)...)); diff != "" {
				t.Error(diff)
			}
			if _, asked := s.read("asked"); asked {
				t.Error("somebody was asked")
			}
			if text, there := s.read("prompt.txt"); there && !strings.Contains(text, "plan-lock-gap-audit") {
				t.Errorf("prompt: %q", text)
			}
		})
	}

	s := newSandbox(t)
	s.write(configPath, `{"model":{"trident_panel":[{"family":"codex","command":["no-such-program-here"]},{"family":"gemini","command":["sh"]}]}}`)
	if diff := subset(map[string]any{"decision": "degraded", "reason": "cli-absent", "cli": "no-such-program-here"}, s.ok(live...)); diff != "" {
		t.Error(diff)
	}
}

func TestDiffers_TornRunLog(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.write(runLogPath, "{\"ts\":\"x\"}\n{\"ts\":\"to")
	r := s.query("gate.cap-check", "--gate", "g", "--increment", "i", "--passes", "3", "--start-ts", "0", "--now-ts", "0")
	text, _ := s.read(runLogPath)
	lines := strings.Split(text, "\n")
	if r.exit != 0 || len(lines) != 4 || lines[1] != `{"ts":"to` || object(t, lines[2])["gate"] != "g" {
		t.Errorf("%+v %q", r, text)
	}
	if !strings.Contains(r.stderr, "torn") {
		t.Errorf("not reported: %q", r.stderr)
	}
}

func TestDiffers_OwnershipLineNeedsAnInstant(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	args := []string{"coord.ownership-check", "--declared", "a", "--actual", "b", "--increment", "i"}
	r := s.query(args...)
	if _, there := s.read(runLogPath); there || r.exit != 0 || !strings.Contains(r.stderr, "--now-ts") {
		t.Errorf("without an instant no line, and it is said: %+v", r)
	}
	s.bad(append(args, "--now-ts", "soon")...)
	s.ok(append(args, "--now-ts", "1500")...)
	if text, _ := s.read(runLogPath); object(t, text)["ts"] != "1970-01-01T00:00:01.500Z" {
		t.Errorf("log %q", text)
	}
}
