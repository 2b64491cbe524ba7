package packet_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"ferrox/lanes/packet"
)

func TestScope(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, body string
		want       []string
	}{
		{"F191 quoted remark and a blank line", "> tasks with overlapping\n> file scope run on one lane\n\n- `a.go`\n- `b/*.go`\n", []string{"a.go", "b/*.go"}},
		{"F191 quoted list", "> - `x.go`\n- `a.go`\n", []string{"a.go"}},
		{"F192 remark after the code span", "- `a.go` (new)\n- `b.go` — bump of `yaml`\n", []string{"a.go", "b.go"}},
		{"F192 words before the code span", "- Edit `a.go`\n", []string{"a.go"}},
		{"code span only in a remark", "- New test files as needed (e.g., `x_test.go` for edges)\n", []string{"New test files as needed"}},
		{"F192 remark before the code span", "- (new) `a.go`\n", []string{"a.go"}},
		{"two code spans", "- `a.go`, `b.go` and `c.go`\n", []string{"a.go", "b.go", "c.go"}},
		{"no code span, blanks included", "- my docs/read me (old).md\n- docs/**\n", []string{"my docs/read me (old).md", "docs/**"}},
		{"double ticks", "- `` a`b.go ``\n", []string{"a`b.go"}},
		{"lone tick", "- a`b.go\n", []string{"a`b.go"}},
		{"F180 separators as written", "- `src\\a.go`\n", []string{`src\a.go`}},
		{"other letters", "- `doku/Übersicht.md`\n", []string{"doku/Übersicht.md"}},
		{"fenced", "```\n- x.go\n```\n- a.go\n", []string{"a.go"}},
		{"sub-heading", "### Code\n- a.go\n\n### Tests\n- a_test.go\n", []string{"a.go", "a_test.go"}},
		{"none", "- **None**\n", nil},
		{"nothing", "", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p, problems := parse(scope(t, tc.body))
			if diff := cmp.Diff(tc.want, p.Scope.Entries); diff != "" || !p.Scope.Declared {
				t.Errorf("declared %t, entries (-want +got):\n%s", p.Scope.Declared, diff)
			}
			if len(problems) > 0 {
				t.Errorf("problems: %v", problems)
			}
		})
	}
}

func TestScope_Problems(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, body string
		code       packet.ProblemCode
		line       int
	}{
		{"folder above", "- `a.go`\n- `../b.go`\n", packet.CodeScopeOutside, 12},
		{"absolute", "- `/etc/passwd`\n", packet.CodeScopeOutside, 11},
		{"drive", "- `C:\\src\\a.go`\n", packet.CodeScopeOutside, 11},
		{"home", "- ~/a.go\n", packet.CodeScopeOutside, 11},
		{"bad glob", "- `src/[a`\n", packet.CodeScopeGlob, 11},
		{"sentence", "- `a.go`\n\nsrc/b.go\n", packet.CodeScopeProse, 13},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, problems := parse(scope(t, tc.body))
			if want := (found{tc.code, packet.SeverityWarning, tc.line}); !contains(problems, want) {
				t.Errorf("problems %v, want %v", problems, want)
			}
		})
	}
}

func TestScope_Undeclared(t *testing.T) {
	t.Parallel()
	p, problems := parse(with(t, "## File Scope\n- `fetch/budget.go`\n", ""))
	if p.Scope.Declared || !contains(problems, found{packet.CodeScopeMissing, packet.SeverityWarning, 0}) {
		t.Errorf("declared %t, problems %v", p.Scope.Declared, problems)
	}
}
