package packet_test

import (
	"fmt"
	"strings"
	"testing"

	"ferrox/lanes"
	"ferrox/lanes/packet"
)

func TestVerdict(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, body, verdict, text string }{
		{"heading", "## Plan Review\n\n### Verdict: APPROVE\n", "APPROVE", "APPROVE"},
		{"next line", "## Verdict\n\n**REVISE** — see below\n", "REVISE", "**REVISE** — see below"},
		{"bold label", "**Verdict:** RETHINK\n", "RETHINK", "RETHINK"},
		{"bold all", "**Verdict: APPROVE**\n", "APPROVE", "APPROVE**"},
		{"bold value", "## Verdict: **APPROVE**\n", "APPROVE", "**APPROVE**"},
		{"dash", "Verdict - APPROVE\n", "APPROVE", "APPROVE"},
		{"no colon", "## Verdict APPROVE\n", "APPROVE", "APPROVE"},
		{"lower case", "### Verdict: approve\n", "APPROVE", "approve"},
		{"in brackets", "### Verdict: [APPROVE]\n", "APPROVE", "[APPROVE]"},
		{"with a remark", "### Verdict: REVISE (blocking)\n", "REVISE", "REVISE (blocking)"},
		{"twice the same", "### Verdict: APPROVE\n\n### Verdict: APPROVE.\n", "APPROVE", "APPROVE"},
		{"CRLF", "## Verdict\r\n**APPROVE**\r\n", "APPROVE", "**APPROVE**"},
		{"template line ignored", "### Verdict: [APPROVE | REVISE | RETHINK]\n\n### Verdict: REVISE\n", "REVISE", "REVISE"},
		{"template line alone", "### Verdict: APPROVE / REVISE\n", "UNKNOWN", "APPROVE / REVISE"},
		{"template in lower case", "### Verdict: approve or revise\n", "UNKNOWN", "approve or revise"},
		{"other heading", "## Verdict and reasons\n\n### Verdict: REVISE\n", "REVISE", "REVISE"},
		{"prose that begins with the word", "Verdict is still open: APPROVE later\n", "UNKNOWN", ""},

		{"F038 prose says approve", "I would approve this once the bug is fixed.\n", "UNKNOWN", ""},
		{"F038 REVISE beside prose", "### Verdict: REVISE\n\nI would approve it after that.\n", "REVISE", "REVISE"},
		{"F038 condition", "### Verdict: APPROVE once it compiles\n", "UNKNOWN", "APPROVE once it compiles"},
		{"F038 negation", "### Verdict: do not APPROVE\n", "UNKNOWN", "do not APPROVE"},
		{"F038 two words", "### Verdict: APPROVE (plan), REVISE (code)\n", "UNKNOWN", "APPROVE (plan), REVISE (code)"},
		{"F038 contradiction", "### Verdict: REVISE\n\n### Verdict: APPROVE\n", "UNKNOWN", "REVISE; APPROVE"},
		{"F038 quoted", "> ### Verdict: APPROVE\n", "UNKNOWN", ""},
		{"F043 fenced", "```\n### Verdict: APPROVE\n```\n\n### Verdict: REVISE\n", "REVISE", "REVISE"},
		{"F043 only fenced", "~~~\n### Verdict: APPROVE\n~~~\n", "UNKNOWN", ""},
		{"F043 value in a fence", "## Verdict\n```\nAPPROVE\n```\n", "UNKNOWN", ""},
		{"comment", "<!-- ### Verdict: APPROVE -->\n", "UNKNOWN", ""},
		{"between rules", "---\n### Verdict: REVISE\n---\n### Verdict: APPROVE\n", "UNKNOWN", "REVISE; APPROVE"},
		{"F045 REQUEST CHANGES", "## Verdict\n**REQUEST CHANGES**\n", "UNKNOWN", "**REQUEST CHANGES**"},
		{"F194 Changes requested", "## Verdict: ❌ Changes requested\n", "UNKNOWN", "❌ Changes requested"},
		{"F194 Approved with adjustments", "## Verdict\n**Approved with minor adjustments** — fine\n", "UNKNOWN", "**Approved with minor adjustments** — fine"},
		{"F194 APPROVED", "### Verdict: APPROVED\n", "UNKNOWN", "APPROVED"},
		{"disposition", "### Verdict: UNAVAILABLE\n", "UNKNOWN", "UNAVAILABLE"},
		{"F061 prose begins with Ratification", "### Verdict: APPROVE\n\nRatification (no record was needed).\n", "APPROVE", "APPROVE"},
		{"no value", "## Verdict\n\n### Summary\nAPPROVE\n", "UNKNOWN", ""},
		{"empty", "", "UNKNOWN", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if verdict, text := packet.Verdict([]byte(tc.body)); verdict != tc.verdict || text != tc.text {
				t.Errorf("%s, %q; want %s, %q", verdict, text, tc.verdict, tc.text)
			}
		})
	}
}

func TestReviews(t *testing.T) {
	t.Parallel()
	approve, revise := []byte("### Verdict: APPROVE\n"), []byte("### Verdict: REVISE\n")
	for _, tc := range []struct {
		name  string
		files map[string][]byte
		want  string
	}{
		{"F036 an approval is its step's alone", map[string][]byte{"R001-code-step1.md": approve}, "code-step1 APPROVE R001-code-step1.md [APPROVE]"},
		{"F037 the latest counts", map[string][]byte{"R001-code-step1.md": approve, "R002-code-step1.md": revise}, "code-step1 REVISE R002-code-step1.md [APPROVE REVISE]"},
		{"F037 by number, not by name", map[string][]byte{"R10-code-step1.md": approve, "R9-code-step1.md": revise}, "code-step1 APPROVE R10-code-step1.md [REVISE APPROVE]"},
		{"gates side by side", map[string][]byte{"R001-plan-step1.md": approve, "R002-code-step1.md": revise}, "code-step1 REVISE R002-code-step1.md [REVISE]; plan-step1 APPROVE R001-plan-step1.md [APPROVE]"},
		{"letter case and zeros", map[string][]byte{"r0003-PLAN-step01.md": approve}, "plan-step1 APPROVE r0003-PLAN-step01.md [APPROVE]"},
		{"F039 an unreadable file is not a missing one", map[string][]byte{"R001-code-step1.md": approve, "R002-code-step1.md": nil}, "code-step1 UNKNOWN R002-code-step1.md [APPROVE UNKNOWN] unreadable"},
		{"not text", map[string][]byte{"R001-code-step1.md": []byte("### Verdict: APPROVE\x00")}, "code-step1 UNKNOWN R001-code-step1.md [UNKNOWN] unreadable"},
		{"empty", map[string][]byte{"R001-code-step1.md": {}}, "code-step1 UNKNOWN R001-code-step1.md [UNKNOWN]"},
		{"one number twice", map[string][]byte{"R1-code-step1.md": approve, "R001-code-step1.md": revise}, "code-step1 UNKNOWN R1-code-step1.md [REVISE APPROVE] unreadable"},
		{"other names", map[string][]byte{
			"request-R001.md": approve, ".review-signal-001": nil, "R001-code-step1.ratification.json": approve,
			"R002-code-step1.md.tmp": approve, "xR001-code-step1.md": approve,
		}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			gates, _ := packet.ReadReviews(".reviews", tc.files)
			if got := gateText(gates); got != tc.want {
				t.Errorf("gates %q, want %q", got, tc.want)
			}
		})
	}
}

func gateText(gates []packet.Gate) string {
	var parts []string
	for _, g := range gates {
		var history []string
		for _, r := range g.History {
			history = append(history, r.Verdict)
		}
		part := fmt.Sprintf("%s %s %s %v", g.Name, g.Verdict, strings.TrimPrefix(g.File, ".reviews/"), history)
		if g.Unreadable {
			part += " unreadable"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

func TestReviews_Problems(t *testing.T) {
	t.Parallel()
	_, problems := packet.ReadReviews("t/.reviews", map[string][]byte{
		"R001_code_step1.md": []byte("### Verdict: REVISE\n"), "R002-code-step1.md": nil,
	})
	want := "t/.reviews/R001_code_step1.md review-name, t/.reviews/R002-code-step1.md review-unreadable"
	var got []string
	for _, p := range problems {
		got = append(got, fmt.Sprintf("%s %s", p.File, p.Code))
	}
	if strings.Join(got, ", ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

func TestFacts(t *testing.T) {
	t.Parallel()
	p, _ := packet.Parse(packet.Files{Dir: dir, Prompt: []byte(prompt), HasPrompt: true, Reviews: map[string][]byte{
		"R001-plan-step1.md": []byte("### Verdict: APPROVE\n"), "R002-code-step1.md": nil,
	}})
	want := []lanes.GateFact{
		{Gate: "code-step1", Verdict: "UNKNOWN", File: dir + "/.reviews/R002-code-step1.md"},
		{Gate: "plan-step1", Verdict: "APPROVE", File: dir + "/.reviews/R001-plan-step1.md", Readable: true},
	}
	if got := p.Facts(); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%v, want %v", got, want)
	}
}
