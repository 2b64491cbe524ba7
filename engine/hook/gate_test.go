package hook

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ferrox/gates/guard"
)

// project makes a folder with the given files.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const manifest = ".planning/strength/merge-gate-request.json"

func TestMergeGate(t *testing.T) {
	t.Parallel()
	pass := Verdict{Decision: "pass"}
	optIn := map[string]string{manifest: `{"increment":"k"}`}
	cases := []struct {
		name    string
		files   map[string]string
		verdict Verdict
		err     error
		domain  string
		allow   bool
		says    string // part of the reason or error
	}{
		{"not opted in", nil, Verdict{Decision: "block"}, nil, "", true, ""},
		{"opted in without a manifest", map[string]string{".planning/strength/.keep": ""}, pass, nil, "", false, "there is no " + manifest},
		{"malformed manifest", map[string]string{manifest: `{"increment":`}, pass, nil, "", false, "unexpected end"},
		{"manifest is null", map[string]string{manifest: `null`}, pass, nil, "", false, "no JSON object"},
		{"manifest with a number in a list", map[string]string{manifest: `{"files":[1]}`}, pass, nil, "", false, `key "files"`},
		{"strength is a file", map[string]string{".planning/strength": ""}, pass, nil, "", false, "read the evidence manifest"},
		{"pass", optIn, pass, nil, "", true, ""},
		{"block", optIn, Verdict{"block", []string{"receipts-not-valid"}}, nil, "", false, "receipts-not-valid"},
		{"another decision", optIn, Verdict{Decision: "maybe"}, nil, "", false, `"maybe"`},
		{"no decision", optIn, Verdict{}, nil, "writing", false, "merge-gate"},
		{"error", optIn, pass, errors.New("boom"), "", false, "boom"},
		{"prose waives coverage", optIn, Verdict{"block", []string{"coverage-not-landed", "mutation-survived"}}, nil, " Factual Synthesis", true, "NON-CODE DOMAIN WAIVER"},
		{"prose alias", optIn, Verdict{"block", []string{"coverage-not-landed"}}, nil, "REPORTS", true, "domain long-form"},
		{"prose does not waive receipts", optIn, Verdict{"block", []string{"coverage-not-landed", "receipts-not-valid"}}, nil, "writing", false, "receipts"},
		{"prose without reasons", optIn, Verdict{Decision: "block"}, nil, "writing", false, "block"},
		{"code domain", optIn, Verdict{"block", []string{"coverage-not-landed"}}, nil, "backend", false, "coverage"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			root := project(t, tc.files)
			runs := 0
			g := &MergeGate{
				Root:   func(context.Context, string) (string, error) { return root, nil },
				Domain: func(string) (string, error) { return tc.domain, nil },
				Run: func(context.Context, string, []string) (Verdict, error) {
					runs++
					return tc.verdict, tc.err
				},
			}
			for range 2 {
				allow, reason, err := g.Check(t.Context(), root, guard.Finding{})
				text := reason
				if err != nil {
					text = err.Error()
				}
				if (allow && err == nil) != tc.allow || !strings.Contains(text, tc.says) {
					t.Errorf("allow %v, %q, want %v and %q", allow, text, tc.allow, tc.says)
				}
			}
			if runs > 1 {
				t.Errorf("the verb ran %d times for one event", runs)
			}
		})
	}
}

func TestMergeGateWithoutRoot(t *testing.T) {
	t.Parallel()
	g := &MergeGate{Root: func(context.Context, string) (string, error) { return "", errors.New("no idea") }}
	if allow, _, err := g.Check(t.Context(), "/", guard.Finding{}); allow || err == nil {
		t.Errorf("allow %v, %v", allow, err)
	}
}

func TestManifestFlags(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{manifest: `{"increment":"k-9","requirements":["RQ-1","RQ-2"],"declared":"a.go,b.go","opened":0,
		"mutation_flipped":true,"findings":[{"category":"security","severity":"high"}],"items":"[]","migration_number":null,"depth":"fast","diff_base":"x"}`})
	got, err := manifestFlags(filepath.Join(dir, manifest))
	want := []string{
		"--increment", "k-9", "--requirements", "RQ-1,RQ-2", "--declared", "a.go,b.go", "--opened", "0", "--mutation-flipped", "true",
		"--findings", `[{"category":"security","severity":"high"}]`, "--items", "[]",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("flags %q, %v", got, err)
	}
}

// TestOutsideARepository is the hook as the conformance rows call it: no repository, events without a name.
func TestOutsideARepository(t *testing.T) {
	t.Parallel()
	optIn := map[string]string{".planning/strength/.keep": ""}
	cases := []struct {
		name, line string
		files      map[string]string
		block      bool
	}{
		{"hook-001 merge without manifest", "git merge --no-ff topic/a", optIn, true},
		{"hook-004 malformed manifest", "git pull", map[string]string{manifest: `{"increment":`}, true},
		{"hook-006 rebase control", "git rebase --continue", optIn, false},
		{"hook-007 push to main", "git push -u origin HEAD:main", optIn, true},
		{"hook-008 push tags", "git push --tags", optIn, true},
		{"hook-014 not opted in", "git merge topic/a", nil, false},
		{"listing", "ls -la", optIn, false},
		{"status", "git status", optIn, false},
		{"commit", "git commit -m wip", optIn, false},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			root := project(t, tc.files)
			env := quietEnv(root)
			d := Deps{Repository: GitFacts{}, Protected: func(string) ([]string, error) { return []string{"main"}, nil }}
			d.Gate = &MergeGate{
				Root: func(ctx context.Context, cwd string) (string, error) { return GitFacts{}.MainCheckout(ctx, cwd, env) },
				Run: func(context.Context, string, []string) (Verdict, error) {
					return Verdict{Decision: "block", Reasons: []string{"receipts-not-valid"}}, nil
				},
				Domain: func(string) (string, error) { return "", nil },
			}
			var out, errs strings.Builder
			event := fmt.Sprintf(`{"tool_name":"Bash","tool_input":{"command":%q}}`, tc.line)
			code := Main("pre-tool-use", strings.NewReader(event), &out, &errs, env, root, d)
			if (code == 2) != tc.block || code == 0 && out.Len() > 0 || code == 2 && !strings.Contains(out.String(), `"decision":"block"`) {
				t.Errorf("exit %d, stdout %q, stderr %q", code, out.String(), errs.String())
			}
		})
	}
}
