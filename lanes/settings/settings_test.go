package settings_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ferrox/lanes/settings"
)

func TestDefaults(t *testing.T) {
	t.Parallel()
	d := settings.Default()
	if d.Runner.Lanes != 3 || d.Runner.HoldTimeout != 4*time.Hour || d.Runner.Worker.MaxWallClock != 2*time.Hour {
		t.Errorf("runner defaults: %+v", d.Runner)
	}
	if g := d.Halting.Gate("__proto__"); g != (settings.Gate{MaxPasses: 3, WallClockSeconds: 1800, CapOutcome: "stop-and-rescope"}) {
		t.Errorf("gate defaults: %+v", g)
	}

	for _, empty := range []string{`{}`, "// only a comment\n{}", `{"runner":null,"halting":null,"coordination":null,"strength":null,"model":null,
		"tasks":null,"authority":null,"notify":null,"guard":null,"domain":null,"$schema":null}`, "\xef\xbb\xbf{}"} {
		got, warnings, err := settings.Parse("c.json", []byte(empty))
		if err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v %v", empty, warnings, err)
		}
		if diff := cmp.Diff(d, got); diff != "" {
			t.Errorf("%s: not the defaults:\n%s", empty, diff)
		}
	}
}

func TestDefaultIsFreshEachTime(t *testing.T) {
	t.Parallel()
	one := settings.Default()
	one.Guard.Protected[0] = "changed"
	one.Authority.Reserve["operator"][0] = "changed"
	if two := settings.Default(); two.Guard.Protected[0] != "main" || two.Authority.Reserve["operator"][0] != "merge-conflict" {
		t.Error("a caller's change reached the next caller")
	}
}

// F190: there is one table of defaults.
func TestTemplateIsTheDefaults(t *testing.T) {
	t.Parallel()
	got, warnings, err := settings.Parse("t.json", settings.Template())
	if err != nil || len(warnings) > 0 {
		t.Fatalf("template: %v %v", warnings, err)
	}
	want := settings.Default()
	want.Schema = "./config.schema.json"
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the template says other values than the defaults:\n%s", diff)
	}
}

func TestValuesAreRead(t *testing.T) {
	t.Parallel()
	got, _, err := settings.Parse("c.json", []byte(`{
		/* a block */ "runner": {"lanes": 8, "hold_timeout": "30d", "setup": [["go","mod","download"],["x",""]], "sign": true,
			"worker": {"preset": "codex", "max_wall_clock": "1d12h"}, "copy": [], "on_red": "descope", "lanes_dir": "../å b",},
		"authority": {"reserve": {"operator": []}},
		"halting": {"gates": {"": {"max_passes": 0}, "a.b": {"wall_clock_seconds": 0.5}}, "rescope": {"max_attempts": 0}},
		"coordination": {"hot_seams": [], "migration_store": ""},
		"strength": {"security_categories": [], "medium_cluster_threshold": 1e1},
	}`))
	if err != nil {
		t.Fatal(err)
	}
	want := settings.Default()
	want.Runner.Lanes = 8
	want.Runner.HoldTimeout = 30 * 24 * time.Hour
	want.Runner.Setup = [][]string{{"go", "mod", "download"}, {"x", ""}}
	want.Runner.Sign = true
	want.Runner.Worker.Preset = "codex"
	want.Runner.Worker.MaxWallClock = 36 * time.Hour
	want.Runner.Copy = []string{}
	want.Runner.OnRed = "descope"
	want.Runner.LanesDir = "../å b"
	want.Authority.Reserve = map[string][]string{"operator": {}}
	want.Halting.Gates = map[string]settings.Gate{
		"":    {MaxPasses: 0, WallClockSeconds: 1800, CapOutcome: "stop-and-rescope"},
		"a.b": {MaxPasses: 3, WallClockSeconds: 0.5, CapOutcome: "stop-and-rescope"},
	}
	want.Halting.Rescope.MaxAttempts = 0
	want.Coordination.HotSeams = []string{}
	want.Strength.MediumClusterThreshold = 10
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Each row is one wrong file and what the message must name: place, key, value and the way out.
func TestErrorsNameKeyValueAndLine(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, want string }{
		{"syntax", "{\n \"runner\": {,}\n}", "c.json:2: does not parse: column 13"},
		{"empty file", "", "c.json:1: does not parse"},
		{"blank file", " \n", "c.json:2: does not parse"},
		{"root list", "[]", "c.json:1: [] is a list; write an object"},
		{"root null", "null", "c.json:1: null; write an object"},
		{"deep", strings.Repeat("[", 100000), "nested more than 64 levels deep"},
		{"unknown key", "{\"runner\":{\n\"lane\": 2}}", `c.json:2: runner.lane: unknown key; take it out or write one of "lanes"`},
		{"nearest key", `{"runner":{"hold_timout":"4h"}}`, `did you mean "hold_timeout"?`},
		{"block of another type", `{"halting":[1]}`, "halting: [1] is a list; write an object"},
		{"gate of another type", `{"halting":{"gates":{"a b":7}}}`, `halting.gates["a b"]: 7 is a number; write an object`},
		{"number as text", `{"halting":{"gates":{"x":{"max_passes":"6"}}}}`, `halting.gates.x.max_passes: "6" is text; write a number`},
		{"true as number", `{"halting":{"human_sla_seconds":true}}`, "halting.human_sla_seconds: true is true or false; write a number"},
		{"below zero", `{"halting":{"ship_clock_seconds":-1}}`, "halting.ship_clock_seconds: -1 is below zero"},
		{"fraction of a count", `{"halting":{"rescope":{"max_attempts":1.5}}}`, "halting.rescope.max_attempts: 1.5 is a fraction"},
		{"negative count", `{"halting":{"rescope":{"max_attempts":-1}}}`, "-1 is out of range"},
		{"huge number", `{"halting":{"human_sla_seconds":1e999}}`, "1e999 is too large"},
		{"huge count", `{"halting":{"rescope":{"max_attempts":1e300}}}`, "1e300 is out of range"},
		{"lanes zero", `{"runner":{"lanes":0}}`, "runner.lanes: 0 is out of range; write a whole number from 1 to 256"},
		{"hold_timeout too short", `{"runner":{"hold_timeout":"999ms"}}`, "from 1s to 30d"},
		{"hold_timeout too long", `{"runner":{"hold_timeout":"30d1s"}}`, "from 1s to 30d"},
		{"hold_timeout negative", `{"runner":{"hold_timeout":"-4h"}}`, "from 1s to 30d"},
		{"duration as number", `{"runner":{"stall_timeout":60}}`, "60 is a number; write a duration as text"},
		{"duration nonsense", `{"runner":{"stall_timeout":"soon"}}`, `"soon" is no duration`},
		{"duration hex days", `{"runner":{"stall_timeout":"0x1d"}}`, `"0x1d" is no duration`},
		{"duration overflow", `{"runner":{"stall_timeout":"99999999999d"}}`, "is no duration"},
		{"duration empty", `{"runner":{"stall_timeout":""}}`, `"" is no duration`},
		{"preset", `{"runner":{"worker":{"preset":"claud"}}}`, `did you mean "claude"?`},
		{"argv as text", `{"runner":{"verify":["make test"]}}`, `runner.verify[0]: "make test" is text; write a list`},
		{"empty argv", `{"runner":{"verify":[[]]}}`, "runner.verify[0]: empty command"},
		{"null in a list", `{"guard":{"protected":[null]}}`, "guard.protected[0]: null in a list"},
		{"blank in a list", `{"guard":{"protected":["  "]}}`, "guard.protected[0]: empty text"},
		{"text for a list", `{"coordination":{"hot_seams":"x"}}`, `coordination.hot_seams: "x" is text; write a list`},
		{"flag as text", `{"runner":{"sign":"yes"}}`, `runner.sign: "yes" is text; write true or false`},
		{"backoff order", `{"runner":{"backoff":{"initial":"10m"}}}`, "initial (10m) is longer than max (5m)"},
		{"role", `{"authority":{"reserve":{"worker":["x"]}}}`, "authority.reserve.worker: unknown key"},
		{"review level", `{"tasks":{"default_review_level":4}}`, "from 0 to 3"},
		{"panel", `{"model":{"trident_panel":[{"family":"openai"}]}}`, "model.trident_panel[0]: a panel member needs"},
		{"twice", "{\"runner\":{},\n\"runner\":{}}", "c.json:2: runner: stands here and on line 1; keep one"},
		{"control characters", "{\"runner\":{\"on_red\":\"\u009b31m\"}}", `"\u009b31m" is not known`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, _, err := settings.Parse("c.json", []byte(tc.in))
			if err == nil {
				t.Fatal("accepted")
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
			if got.Runner.Lanes != 0 {
				t.Error("a value came with the error")
			}
			for _, r := range err.Error() {
				if r != '\n' && (r < ' ' || r == 0x9b) {
					t.Errorf("control character %q in the message", r)
				}
			}
		})
	}
}

func TestAllErrorsAtOnce(t *testing.T) {
	t.Parallel()
	_, _, err := settings.Parse("c.json", []byte("{\n\"runner\":{\"lanes\":0,\n\"colour\":1},\n\"tasks\":7}"))
	var problems settings.Problems
	if !errors.As(err, &problems) || len(problems) != 3 {
		t.Fatalf("want three problems, got %v", err)
	}
	var keys []string
	for i, p := range problems {
		keys = append(keys, p.Key)
		if p.Line != i+2 && p.Key != "tasks" || p.File != "c.json" || p.Value == "" {
			t.Errorf("problem %d: %+v", i, p)
		}
	}
	if diff := cmp.Diff([]string{"runner.lanes", "runner.colour", "tasks"}, keys); diff != "" {
		t.Error(diff)
	}
	var one settings.Problem
	if !errors.As(err, &one) {
		t.Error("a single problem can't be taken out of the error")
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	s, warnings, err := settings.Parse("c.json", []byte(`{"runer":{},
		"rtk":1, "notify":["x"],
		"halting":{"gates":{"a":{"cap_outcome":"continue"},"b":{"cap_outcome":42},"c":{"cap_outcome":null},"d":{"cap_outcome":"escalate\u002dto-human"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	for _, w := range warnings {
		text = append(text, w.String())
	}
	want := []string{
		`c.json:1: runer: unknown key, ignored; did you mean "runner"?`,
		`c.json:2: notify: has no effect yet`,
		`c.json:2: rtk: unknown key, ignored`,
		`c.json:3: halting.gates.a.cap_outcome: "continue" is no outcome, taken as "stop-and-rescope"; write one of "ship-with-backlog", "stop-and-rescope", "escalate-to-human"`,
		`c.json:3: halting.gates.b.cap_outcome: 42 is no outcome, taken as "stop-and-rescope"; write one of "ship-with-backlog", "stop-and-rescope", "escalate-to-human"`,
	}
	if diff := cmp.Diff(want, text); diff != "" {
		t.Error(diff)
	}
	for id, outcome := range map[string]string{"a": "stop-and-rescope", "b": "stop-and-rescope", "c": "stop-and-rescope", "d": "escalate-to-human"} {
		if got := s.Halting.Gate(id).CapOutcome; got != outcome {
			t.Errorf("gate %s: %s", id, got)
		}
	}
}

func TestParseDuration(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"30d": 30 * day, "1.5d": 36 * time.Hour, "1d12h": 36 * time.Hour, "0d": 0, "90s": 90 * time.Second, "1h30m": 90 * time.Minute,
	} {
		if got, err := settings.ParseDuration(text); err != nil || got != want {
			t.Errorf("%s: %v %v", text, got, err)
		}
	}
	for _, text := range []string{"d", "", "-1d", "1d-1h", "1d1d", "1dx", "infd", "nand", "1e3d", "36500000d", "5", "1 d"} {
		if got, err := settings.ParseDuration(text); err == nil {
			t.Errorf("%q accepted as %v", text, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "{}", "null", `{"runner":{"lanes":3}}`, `{"runner":`, `{"halting":{"gates":{"__proto__":{"max_passes":1e9}}}}`, "{//\n}", `{"a":1,"a":2}`, "\xff\xfe{"} {
		f.Add([]byte(seed))
	}
	f.Add(settings.Template())
	f.Fuzz(func(t *testing.T, data []byte) {
		s, _, err := settings.Parse("f.json", data)
		if err != nil {
			var problems settings.Problems
			if !errors.As(err, &problems) || len(problems) == 0 {
				t.Fatalf("an error that lists no problem: %v", err)
			}
			for _, p := range problems {
				if p.Line < 1 || p.Text == "" {
					t.Fatalf("a problem without place or text: %+v", p)
				}
			}
			return
		}
		r := s.Runner
		if r.Lanes < 1 || r.Lanes > 256 || r.HoldTimeout < time.Second || r.HoldTimeout > 30*24*time.Hour || r.Backoff.Initial > r.Backoff.Max {
			t.Fatalf("accepted out of range: %+v", r)
		}
		for _, list := range [][]string{r.Copy, s.Guard.Protected, s.Tasks.Roots, s.Coordination.HotSeams} {
			for _, word := range list {
				if strings.TrimSpace(word) == "" {
					t.Fatal("accepted an empty word")
				}
			}
		}
	})
}
