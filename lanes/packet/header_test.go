package packet_test

import (
	"strings"
	"testing"

	"ferrox/lanes/packet"
)

func TestSize(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, line string
		want       packet.Size
		problem    bool
	}{
		{"small", "**Size:** S", packet.SizeS, false},
		{"lower case", "**Size:** l", packet.SizeL, false},
		{"with a remark", "**Size:** L (two days)", packet.SizeL, false},
		{"colon outside", "**Size**: L", packet.SizeL, false},
		{"none", "", packet.SizeM, false},
		{"unknown", "**Size:** XL", packet.SizeM, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p, problems := parse(with(t, "**Size:** S", tc.line))
			if p.Size != tc.want || tc.problem != contains(problems, found{packet.CodeSizeUnknown, packet.SeverityWarning, 3}) {
				t.Errorf("size %s, problems %v", p.Size, problems)
			}
		})
	}
}

func TestReviewLevel(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, line string
		level      int
		declared   bool
		problem    bool
	}{
		{"zero", "## Review Level: 0 (None)", 0, true, false},
		{"no colon", "## Review Level 3", 3, true, false},
		{"F185 none is not declared", "", 0, false, false},
		{"beyond the range", "## Review Level: 4", 0, false, true},
		{"in words", "## Review Level: full", 0, false, true},
		{"left empty", "## Review Level", 0, false, true},
		{"two digits", "## Review Level: 12", 0, false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p, problems := parse(with(t, "## Review Level: 2", tc.line))
			if p.ReviewLevel != tc.level || p.LevelDeclared != tc.declared {
				t.Errorf("level %d, declared %t", p.ReviewLevel, p.LevelDeclared)
			}
			if tc.problem != contains(problems, found{packet.CodeReviewLevel, packet.SeverityError, 5}) {
				t.Errorf("problems %v", problems)
			}
		})
	}
}

func TestRepo(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, want string }{
		{"section", "## Execution Target\nRepo: shared-libs\n\n**Repo:** other", "shared-libs"},
		{"section, bold bullet", "## Execution Target\n- **Workspace:** `web`\n", "web"},
		{"field", "**Repo:** api", "api"},
		{"none", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p, problems := parse(prompt + "\n" + tc.text)
			if p.Repo != tc.want || packet.Failed(problems) {
				t.Errorf("repo %q, want %q; %v", p.Repo, tc.want, problems)
			}
		})
	}
	if _, problems := parse(prompt + "\n**Repo:** ../other\n"); !packet.Failed(problems) {
		t.Error("a path is taken for a repository")
	}
}

func TestSegments(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		want       bool
	}{
		{"graph", "## Segment DAG\n\nRepos:\n- a\n", true},
		{"marker", "### Step 2: Both\n#### Segment: web\n- [ ] x\n", true},
		{"spoken of", "Write `#### Segment: web` markers.\n\n- [ ] #### Segment: web\n", false},
		{"in a fence", "```\n#### Segment: web\n```\n", false},
		{"other heading", "### Segment: web\n\n#### Segmentation\n", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p, problems := parse(prompt + "\n" + tc.text)
			if p.Segments != tc.want || packet.Failed(problems) != tc.want {
				t.Errorf("segments %t, problems %v", p.Segments, problems)
			}
		})
	}
}

func TestFrontMatter(t *testing.T) {
	t.Parallel()
	front := "---\nid: AB-012\nsize: L\ndependencies: [AB-001, 'AB-002']\n---\n\n"
	p, problems := parse(front + with(t, "## Dependencies\n- **None**\n", ""))
	if got := needs(p); got != "AB-001 AB-002" {
		t.Errorf("dependencies %q", got)
	}
	if want := (found{packet.CodeFrontMatter, packet.SeverityWarning, 3}); p.Size != packet.SizeS || !contains(problems, want) {
		t.Errorf("size %s, problems %v, want %v", p.Size, problems, want)
	}

	p, _ = parse("---\ndepends_on:\n  - AB-003\n- AB-004\nsize: S\n---\n" + with(t, "- **None**\n", "- AB-003\n"))
	if got := needs(p); got != "AB-003 AB-004" {
		t.Errorf("dependencies of a list %q", got)
	}

	for _, none := range []string{"[]", "none", "null", ""} {
		p, problems := parse("---\ndependencies: " + none + "\n---\n" + prompt)
		if len(p.DependsOn) > 0 || len(problems) > 0 {
			t.Errorf("%q: %v, %v", none, p.DependsOn, problems)
		}
	}
	if p, _ := parse("---\n" + prompt + "\n---\n"); p.Title != "Add retry budget" {
		t.Errorf("two rules hide what stands between them: title %q", p.Title)
	}
}

func needs(p packet.Packet) string {
	var ids []string
	for _, id := range p.Needs() {
		ids = append(ids, string(id))
	}
	return strings.Join(ids, " ")
}
