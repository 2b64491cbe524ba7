package packet_test

import (
	"testing"

	"ferrox/lanes/packet"
)

func TestDependencies(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, body, want string }{
		{"F179 bullet", "- AB-001\n", "AB-001"},
		{"F179 label Task in bold", "- **Task:** AB-001 (client exists)\n", "AB-001"},
		{"F179 label Requires", "- Requires: AB-001\n**Requires:** AB-002\n", "AB-001 AB-002"},
		{"F179 label Depends on", "- **Depends on:** `AB-001`\n", "AB-001"},
		{"F179 bold id", "* **AB-001** — client exists\n", "AB-001"},
		{"F179 checkbox", "- [ ] Task: AB-001\n", "AB-001"},
		{"F179 link", "- [AB-001](../AB-001/PROMPT.md): client\n", "AB-001"},
		{"F179 numbered list", "1. AB-001\n2) AB-002\n", "AB-001 AB-002"},
		{"several in one entry", "- AB-001, AB-002 and AB-003\n", "AB-001 AB-002 AB-003"},
		{"several with an and after the comma", "- AB-001, AB-002, and AB-003 (all of them)\n", "AB-001 AB-002 AB-003"},
		{"short ids", "- T1, T2\n- T3.\n", "T1 T2 T3"},
		{"indented list", "  - T1\n  - T2\n", "T1 T2"},
		{"ids with blanks", "- T 1, T 2\n- `T 3` (last)\n", "T 1 T 2 T 3"},
		{"other letters", "- Größe-7 (first)\n", "Größe-7"},
		{"remark with an id", "- AB-001 (before AB-002)\n- AB-003 — not AB-004\n", "AB-001 AB-003"},
		{"remark after a comma", "- AB-001, which adds the client\n", "AB-001"},
		{"sentence below an entry", "- AB-001\n  - adds the client\n", "AB-001"},
		{"entry below an entry", "- AB-001\n  - AB-002\n", "AB-001 AB-002"},
		{"doubles", "- AB-001\n- AB-001\n", "AB-001"},
		{"no bullet", "AB-001\n", "AB-001"},
		{"area", "- billing/BI-004\n", "BI-004"},
		{"F188 blank line first", "\n\n- AB-001\n\n- AB-002\n", "AB-001 AB-002"},
		{"F188 rule and sub-heading", "- AB-001\n\n---\n\n### Soft\n\n- AB-002\n", "AB-001 AB-002"},
		{"F193 lead paragraph", "These must have landed:\n\n- AB-001\n- AB-002\n", "AB-001 AB-002"},
		{"F193 lead paragraph with an id", "Continues AB-009:\n\n- AB-001\n", "AB-001"},
		{"F183 none is a whole word", "- AB-001 (nonexistent is fine)\n", "AB-001"},
		{"F183 None of", "None of the others, but AB-001 is needed\n", "AB-001"},
		{"F183 a word that begins with none", "- nonexistent-1\n", "nonexistent-1"},
		{"None", "None\n", ""},
		{"None in bold with a remark", "- **None** (can run beside AB-003/AB-004)\n", ""},
		{"None with a full stop", "None.\n", ""},
		{"none in lower case", "- none\n", ""},
		{"None in brackets", "- (none)\n", ""},
		{"None and cross references", "**None** — all merged. For information:\n\n- AB-003 (shipped)\n- AB-004: shipped\n", ""},
		{"quoted", "> - AB-009\n\n- AB-001\n", "AB-001"},
		{"fenced", "```\n- AB-009\n```\n- AB-001\n", "AB-001"},
		{"comment", "<!-- - AB-009\n- AB-008 -->\n- AB-001\n", "AB-001"},
		{"in a sentence", "Wait for AB-001 and web/AB-002, then do AB-012.\n", "AB-001 AB-002"},
		{"sentence in a bullet", "- Both AB-001 (client) and AB-002 must be there\n", "AB-001 AB-002"},
		{"nothing", "\n", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p, problems := parse(deps(t, tc.body))
			if got := needs(p); got != tc.want {
				t.Errorf("dependencies %q, want %q", got, tc.want)
			}
			if packet.Failed(problems) {
				t.Errorf("problems: %v", problems)
			}
		})
	}
}

func TestDependencies_Problems(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, body, at string
		code           packet.ProblemCode
		severity       packet.Severity
	}{
		{"W62 option", "- AB-001\n- --upload-pack=x\n", "- --upload", packet.CodeDependencyBad, packet.SeverityError},
		{"W62 folder above", "- ..\n", "- ..", packet.CodeDependencyBad, packet.SeverityError},
		{"None beside an id", "- None\n- AB-001\n", "- None", packet.CodeDependencyNone, packet.SeverityError},
		{"an id and then None", "- AB-001\n- None\n", "- None", packet.CodeDependencyNone, packet.SeverityError},
		{"cross references", "None.\n\n- AB-001\n", "- AB-001", packet.CodeDependencyNone, packet.SeverityWarning},
		{"sentence", "After AB-001.\n", "After", packet.CodeDependencyProse, packet.SeverityWarning},
		{"section of another level", "- AB-001\n\n### Dependencies\n", "### Dep", packet.CodeSectionLevel, packet.SeverityWarning},
		{"section twice", "- AB-001\n\n## Dependencies\n- AB-002\n", "", packet.CodeSectionTwice, packet.SeverityWarning},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			text := deps(t, tc.body)
			_, problems := parse(text)
			want := found{tc.code, tc.severity, 10}
			if tc.at != "" {
				want.Line = lineOf(t, text, tc.at)
			}
			if !contains(problems, want) {
				t.Errorf("problems %v, want %v", problems, want)
			}
		})
	}
}

func TestDependencies_WrittenAsIs(t *testing.T) {
	t.Parallel()
	p, _ := parse(deps(t, "- Web-Area/ab-004 (client)\n"))
	want := packet.Dependency{ID: "ab-004", Area: "Web-Area", Written: "Web-Area/ab-004", File: dir + "/PROMPT.md", Line: 8}
	if len(p.DependsOn) != 1 || p.DependsOn[0] != want {
		t.Errorf("%+v, want %+v", p.DependsOn, want)
	}
}
