package graph_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ferrox/lanes/graph"
)

func TestInScope(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		entry, file string
		want        bool
	}{
		{"a.go", "a.go", true},
		{"a.go", "b.go", false},
		{"a.go", "A.go", false},
		{"docs", "docs/a/b.md", true},
		{"docs/", "docs/a.md", true},
		{"docs", "docs2/a.md", false},
		{"./docs//x", "docs/x", true},
		{`docs\x`, "docs/x", true},
		{"docs/*.md", "docs/a.md", true},
		{"docs/*.md", "docs/a/b.md", false},
		{"docs/*", "docs/a/b.md", false},
		{"docs/**", "docs/a/b.md", true},
		{"docs/**/*.md", "docs/b.md", true},
		{"**/STATE.md", "a/b/STATE.md", true},
		{"tests/*execution*", "tests/my-execution.ts", true},
		{"{a,b}/*.go", "b/x.go", true},
		{"app/[id]/page.tsx", "app/[id]/page.tsx", true},
		{"app/[id]", "app/[id]/page.tsx", true},
		{"src/[a", "src/[a", true},
		{"src/[a", "src/a", false},
		{"my docs/read me (old).md", "my docs/read me (old).md", true},
		{"doku/Über*", "doku/Übersicht.md", true},
		{".", "any/file", true},
		{"../x", "x", false},
		{"/x", "x", false},
	} {
		if got := graph.InScope([]string{"other", tc.entry}, tc.file); got != tc.want {
			t.Errorf("%q covers %q: %t, want %t", tc.entry, tc.file, got, tc.want)
		}
	}
	if graph.InScope(nil, "a.go") {
		t.Error("no entries cover a file")
	}
}

func TestOverlaps(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{"a.go", "a.go", true},
		{"a.go", "b.go", false},
		{`src\a.go`, "src//a.go", true},
		{"docs", "docs/a.md", true},
		{"docs", "docs2/a.md", false},
		{"docs/*.md", "docs/a.md", true},
		{"docs/*.md", "docs/a.go", false},
		{"docs/*.md", "docs", true},
		{"docs/*.md", "docs/a", false},
		{"docs/**", "docs/a/b/c.md", true},
		{"**/x.go", "a/b", true},
		{"a/*/c.go", "a/b", true},
		{"a/*", "a/b/c.go", false},
		{"a/{b,c/d}/*.go", "a/c/d", true},
		{"a/{b,c}/*.go", "z", false},
		{"a/*.go", "a/*.md", true},
		{"a/*.go", "b/*.go", false},
		{"a/x*", "a/xy*", true},
		{"*", "b/*.go", true},
		{"a/[b/c]d", "a/bd", true},
		{"app/[id]/page.tsx", "app/[id]/page.tsx", true},
		{"app/[id]", "app/[id]/page.tsx", true},
		{".", "x", true},
	} {
		a := graph.Node{Scoped: true, Scope: []string{tc.a}}
		b := graph.Node{Scoped: true, Scope: []string{"z.go", tc.b}}
		if got := graph.Overlaps(a, b); got != tc.want {
			t.Errorf("%q and %q overlap: %t, want %t", tc.a, tc.b, got, tc.want)
		}
		if got := graph.Overlaps(b, a); got != tc.want {
			t.Errorf("%q and %q overlap the other way round: %t, want %t", tc.b, tc.a, got, tc.want)
		}
	}
}

func TestOverlaps_WithoutScope(t *testing.T) {
	t.Parallel()
	scoped := graph.Node{Scoped: true, Scope: []string{"**"}}
	for name, other := range map[string]graph.Node{
		"not declared": {Scope: []string{"a.go"}}, "declared and empty": {Scoped: true},
	} {
		if graph.Overlaps(scoped, other) || graph.Overlaps(other, scoped) || graph.Overlaps(other, other) {
			t.Errorf("a scope that is %s overlaps something", name)
		}
	}
}

// TestOverlaps_Property: a file that is in both scopes makes them overlap. The other direction need not hold.
func TestOverlaps_Property(t *testing.T) {
	t.Parallel()
	both := 0
	rapid.Check(t, func(t *rapid.T) {
		entry := rapid.StringMatching(`([ab*?]|\[a\]|\{a,b\}|\*\*)(/([ab*]|\*\*|\[ab\]|\{a,b/a\})){0,3}`)
		a := rapid.SliceOfN(entry, 1, 2).Draw(t, "a")
		b := rapid.SliceOfN(entry, 1, 2).Draw(t, "b")
		file := rapid.StringMatching(`[ab](/[ab]){0,3}`).Draw(t, "file")
		if !graph.InScope(a, file) || !graph.InScope(b, file) {
			return
		}
		both++
		if !graph.Overlaps(graph.Node{Scoped: true, Scope: a}, graph.Node{Scoped: true, Scope: b}) {
			t.Fatalf("%q is in %q and in %q, which do not overlap", file, a, b)
		}
	})
	if both == 0 {
		t.Error("no file was in both scopes")
	}
}

func TestUndeclared(t *testing.T) {
	t.Parallel()
	packets := []string{"tasks/A-1", "tasks/A-2"}
	changed := []string{
		"src/a.go", "src/b.go", "tasks/A-1/STATUS.md", "tasks/A-1/notes.md", "tasks/A-1/PROMPT.md", "tasks/A-2/STATUS.md",
		".planning/config.json", "tasks/A-10/x", "src/b.go",
	}
	for _, tc := range []struct {
		name string
		node graph.Node
		want []string
	}{
		{
			"scoped",
			graph.Node{Dir: "tasks/A-1", Scoped: true, Scope: []string{"src/a.go"}},
			[]string{".planning/config.json", "src/b.go", "tasks/A-1/PROMPT.md", "tasks/A-10/x", "tasks/A-2/STATUS.md"},
		},
		{
			"scoped over everything",
			graph.Node{Dir: "tasks/A-1", Scoped: true, Scope: []string{"."}},
			[]string{".planning/config.json", "tasks/A-1/PROMPT.md", "tasks/A-2/STATUS.md"},
		},
		{
			"scope without entries",
			graph.Node{Dir: "tasks/A-1/", Scoped: true},
			[]string{".planning/config.json", "src/a.go", "src/b.go", "tasks/A-1/PROMPT.md", "tasks/A-10/x", "tasks/A-2/STATUS.md"},
		},
		{
			"no scope",
			graph.Node{Dir: "tasks/A-1"},
			[]string{".planning/config.json", "tasks/A-1/PROMPT.md", "tasks/A-2/STATUS.md"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := graph.Undeclared(tc.node, packets, changed); !slices.Equal(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
