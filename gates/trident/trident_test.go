package trident_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"ferrox/gates/trident"
)

func query() trident.Query {
	return trident.Query{CallerFamily: "claude", Checkpoint: "one", MaxRounds: 1, Checkpoints: []string{"One", " two "}}
}

func panel(names ...string) []trident.Member {
	var p []trident.Member
	for _, n := range names {
		p = append(p, trident.Member{Family: n, Findings: []string{"f"}})
	}
	return p
}

func TestLineage(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]trident.Lineage{
		"Anthropic": "claude", "claude-opus-4": "claude", " OPUS ": "claude", "sonnet": "claude", "haiku": "claude",
		"gpt-5": "openai", "GPT": "openai", "codex": "openai", "o1": "openai", "o3": "openai", "openai": "openai",
		"gemini-2.5": "google", "google": "google", "Mistral": "mistral", "o1-mini": "o1-mini", "opus2": "opus2", "": "",
	} {
		if got := trident.LineageOf(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

// Each row breaks one rule; the first rule that is broken is the reason.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		spoil func(*trident.Query)
		panel []trident.Member
		want  string
	}{
		{"T-06-08 three checkpoints", func(q *trident.Query) { q.Checkpoints = []string{"a", "b", "one"} }, panel("codex", "gemini"), trident.ReasonCheckpointSet},
		{"one checkpoint twice", func(q *trident.Query) { q.Checkpoints = []string{"one", "ONE "} }, panel("codex", "gemini"), trident.ReasonCheckpointSet},
		{"T-06-06 open-ended", func(q *trident.Query) { q.OpenEnded = true }, panel("codex", "gemini"), trident.ReasonUnbounded},
		{"loop until clean", func(q *trident.Query) { q.LoopUntilClean = true }, panel("codex", "gemini"), trident.ReasonUnbounded},
		{"more than one round", func(q *trident.Query) { q.MaxRounds = 1.01 }, panel("codex", "gemini"), trident.ReasonUnbounded},
		{"another checkpoint", func(q *trident.Query) { q.Checkpoint = "three" }, panel("codex", "gemini"), trident.ReasonCheckpoint},
		{"no checkpoint", func(q *trident.Query) { q.Checkpoint = "" }, panel("codex", "gemini"), trident.ReasonCheckpoint},
		{"T-06-07 an alias of the caller", nil, panel("codex", "Anthropic", "gemini"), trident.ReasonCallerInPanel},
		{"MEDIUM-2 nobody", nil, nil, trident.ReasonNotCrossLineage},
		{"MEDIUM-2 one lineage by two names", nil, panel("codex", "gpt-5"), trident.ReasonNotCrossLineage},
	} {
		q := query()
		if tc.spoil != nil {
			tc.spoil(&q)
		}
		d := trident.Audit(q, tc.panel)
		if d.Decision != trident.Refused || d.Reason != tc.want || d.Consensus != nil {
			t.Errorf("%s: %+v", tc.name, d)
		}
	}
}

func TestConsensus(t *testing.T) {
	t.Parallel()
	d := trident.Audit(query(), []trident.Member{
		{"Codex", []string{" A ", "a", "b"}}, {"gpt-5", []string{"a", "B"}}, {"gemini", []string{"c", "B", " "}}, {"Codex", nil},
	})
	if diff := cmp.Diff([]string{"b"}, *d.Consensus); diff != "" {
		t.Errorf("consensus: %s", diff)
	}
	if diff := cmp.Diff([]string{"a", "c"}, *d.Contested); diff != "" {
		t.Errorf("contested: %s", diff)
	}
	if diff := cmp.Diff([]string{"codex", "gpt-5", "gemini"}, d.PanelFamilies); diff != "" || d.Checkpoint != "one" || d.Pass != "single" {
		t.Errorf("%+v %s", d, diff)
	}
}

func TestReadPanel(t *testing.T) {
	t.Parallel()
	got, err := trident.ReadPanel([]byte(`[{"family":"a","findings":["x",{"key":"k","id":"i"},{"id":7},{"key":null,"title":"t"}]},{"family":"b","findings":null}]`))
	want := []trident.Member{{"a", []string{"x", "k", "7", "t"}}, {"b", nil}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	for _, text := range []string{"{}", "7", `"x"`} {
		if p, err := trident.ReadPanel([]byte(text)); err != nil || p != nil {
			t.Errorf("%s is an empty panel: %v %v", text, p, err)
		}
	}
	for _, text := range []string{"", "[", "[null]", `["codex"]`, `[{"family":""}]`, `[{"findings":[]}]`, `[{"family":"a","findings":{}}]`, `[{"family":"a","findings":[null]}]`, `[{"family":"a","findings":[{}]}]`, `[{"family":7}]`} {
		if p, err := trident.ReadPanel([]byte(text)); err == nil {
			t.Errorf("%s taken for %v", text, p)
		}
	}
}
