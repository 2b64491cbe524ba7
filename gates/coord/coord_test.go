package coord_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ferrox/gates/coord"
	"ferrox/lanes/settings"
)

func TestNormalize(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a": "a", "./a": "a", "././a": "a", `.\.\a\b`: "a/b", "../a": "../a", "a/./b": "a/./b", "/a": "/a", "a//b": "a//b", "a ": "a ", "": "", "./": "", ".": ".",
	} {
		if got := coord.Normalize(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		glob, path string
		want       bool
	}{
		{"a", "a", true},
		{"a", "A", true},
		{"a", "b/a", false},
		{"a", "ab", false},
		{"**/x", "x", true},
		{"**/x", "a/x", true},
		{"**/x", "a/b/x", true},
		{"**/x", "ax", false},
		{"**/x", "a/ax", false},
		{"a/**", "a/", true},
		{"a/**", "a/b/c", true},
		{"a/**", "a", false},
		{"**", "", true},
		{"**", "a/b", true},
		{"*.go", "x.go", true},
		{"*.go", "a/x.go", false},
		{"*", "", true},
		{"*", "/", false},
		{"a*c", "ac", true},
		{"a*c", "abbc", true},
		{"a*c", "ab/c", false},
		{"**/m/**", "a/m/b", true},
		{"**/m/**", "m/b", true},
		{"**/m/**", "my-m/b", false},
		{"**/*.lock", "a/b.lock", true},
		{"**/*.lock", "b.lock.bak", false},
		{"a?", "a?", true},
		{"a?", "ab", false},
		{"[ab]", "[ab]", true},
		{"[ab]", "a", false},
		{"{a,b}", "a", false},
		{"a.b", "axb", false},
		{"ÄÖ/*", "äö/x", true},
		{"", "", true},
		{"", "a", false},
		{"a**b", "a/x/b", true},
		{"a**/b", "ab", true},
		{"a**/b", "axx/b", true},
	} {
		if got := coord.Match(tc.glob, tc.path); got != tc.want {
			t.Errorf("Match(%q, %q) = %v", tc.glob, tc.path, got)
		}
	}
}

func TestMatchIsLinear(t *testing.T) {
	t.Parallel()
	if coord.Match(strings.Repeat("*a", 200)+"b", strings.Repeat("a", 5000)) {
		t.Error("matched what ends in another letter")
	}
}

// FuzzMatch compares with the regular expression that the reference makes of a glob.
func FuzzMatch(f *testing.F) {
	for _, seed := range [][2]string{{"**/STATE.md", "a/state.MD"}, {"*.a*", "x.ab"}, {"a**b/**/c", "a/b/c"}, {"***/", "x/"}, {"****", "/"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, glob, path string) {
		if strings.IndexFunc(glob+path, func(r rune) bool { return r >= 0x80 }) >= 0 {
			t.Skip("letter case beyond ASCII differs between the two")
		}
		pattern := regexp.QuoteMeta(glob)
		pattern = strings.ReplaceAll(pattern, `\*\*/`, "\x00")
		pattern = strings.ReplaceAll(pattern, `\*\*`, "\x01")
		pattern = strings.ReplaceAll(pattern, `\*`, `[^/]*`)
		pattern = strings.ReplaceAll(pattern, "\x01", `.*`)
		pattern = strings.ReplaceAll(pattern, "\x00", `(?:.*/)?`)
		if strings.ContainsAny(glob, "\x00\x01") || strings.Contains(glob, "***") {
			t.Skip("the stand-ins of the reference, and stars that it does not take from the left")
		}
		re, err := regexp.Compile(`(?is)\A` + pattern + `\z`)
		if err != nil {
			t.Skip("the reference can't")
		}
		if got, want := coord.Match(glob, path), re.MatchString(path); got != want {
			t.Errorf("Match(%q, %q) = %v, the reference says %v", glob, path, got, want)
		}
	})
}

func TestOwnership(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name             string
		declared, actual []string
		want             []string
	}{
		{"nothing", nil, nil, []string{}},
		{"subset", []string{"a", "b"}, []string{"b"}, []string{}},
		{"T-04-04 undeclared, once, in order of first sight", []string{"a"}, []string{"z", "./y", `.\z`, "a", "y"}, []string{"z", "y"}},
		{"letter case counts", []string{"A"}, []string{"a"}, []string{"a"}},
		{"globs mean nothing", []string{"**"}, []string{"a"}, []string{"a"}},
		{"nothing declared", nil, []string{"a"}, []string{"a"}},
		{"two forms of one name are two names", []string{"\u00e9"}, []string{"e\u0301"}, []string{"e\u0301"}},
	} {
		d := coord.CheckOwnership(tc.declared, tc.actual)
		if diff := cmp.Diff(tc.want, d.Undeclared); diff != "" || (d.Decision == coord.OwnershipOK) != (len(tc.want) == 0) {
			t.Errorf("%s: %+v", tc.name, d)
		}
		e, logged := d.Entry("i", 0)
		if logged != (len(tc.want) > 0) || logged && !slices.Equal(e.Undeclared, tc.want) {
			t.Errorf("%s: entry %+v %v", tc.name, e, logged)
		}
	}
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	r := coord.RegistryOf(settings.Default().Coordination)
	if d := r.CheckSeams(nil); d.Decision != coord.SeamParallel || d.Matched == nil {
		t.Errorf("no files: %+v", d)
	}
	if d := (coord.Registry{}).CheckSeams([]string{"a"}); d.Decision != coord.SeamSerialize || len(d.Matched) != 0 {
		t.Errorf("a registry without seams can't tell: %+v", d)
	}
	d := r.CheckSeams([]string{"yarn.lock", "x/yarn.lock", ".planning/STATE.md"})
	if diff := cmp.Diff([]string{"yarn.lock", "**/*.lock", "**/STATE.md", ".planning/STATE.md"}, d.Matched); diff != "" {
		t.Errorf("path by path, in the order of the registry, once: %s", diff)
	}
	for _, near := range []string{"Orchestrator", "orchestrator ", "", "orchestrator2"} {
		if r.CheckWrite(near, "STATE.md").Decision != coord.WriteForbidden {
			t.Errorf("T-04-11: %q wrote shared state", near)
		}
	}
}

func TestMigrations(t *testing.T) {
	t.Parallel()
	m := coord.ReadMigrations(map[string]json.RawMessage{"next": []byte(`3`), "allocated": []byte(`[1,2,"x",null,7]`), "consumed": []byte(`{}`)})
	n, err := m.Allocate()
	if err != nil || n != 8 || m.Next != 9 {
		t.Fatalf("%v %v %+v", n, err, m)
	}
	if m.Check(7) != coord.MigrationValid || m.Check(3) != coord.MigrationUncentral || m.Check(7.5) != coord.MigrationUncentral {
		t.Errorf("T-04-07: %+v", m)
	}
	if m.Consume(8) != coord.MigrationConsumed || m.Consume(8) != coord.MigrationReplay || m.Consume(3) != coord.MigrationUncentral {
		t.Errorf("FF-B15: %+v", m)
	}
}
