package engine_test

import (
	"go/ast"
	"go/token"
	"slices"
	"testing"
)

// TestShape_OneAuthority: one predicate decides, one function mints permits, and nobody writes an outcome, moves a branch or
// removes work without one.
func TestShape_OneAuthority(t *testing.T) {
	t.Parallel()
	_, all := project(t)
	defined := map[string]bool{}
	for _, s := range all {
		if s.test() {
			continue
		}
		eachFunc(s, func(d *ast.FuncDecl) { defined[s.folder()+" "+d.Name.Name] = true })
		for _, rule := range authority {
			report(t, rule(s))
		}
	}
	// A rule about a function that is gone protects nothing.
	for _, name := range successWriters {
		if !defined["engine "+name] {
			t.Errorf("engine has no function %s: name the one that took its place", name)
		}
	}
	for _, name := range permitCalls {
		if !defined["engine/gitcli "+name] {
			t.Errorf("engine/gitcli has no function %s: name the one that took its place", name)
		}
	}
	for _, rule := range soleCallers {
		for _, name := range append([]string{rule.name}, rule.callers...) {
			if !defined[rule.folder+" "+name] {
				t.Errorf("%s has no function %s: name the one that took its place", rule.folder, name)
			}
		}
	}
	for verb, names := range refMovers {
		for _, name := range names {
			if !defined["engine/gitcli "+name] {
				t.Errorf("engine/gitcli has no function %s that runs git %s", name, verb)
			}
		}
	}
}

var authority = []func(source) []string{strayOutcomes, permitlessCalls, strayPermits, strayCallers, strayRefMoves}

func TestShapeRules_Authority(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		folder, body string
		bad          bool
	}{
		"outcome assigned":               {"engine", `func f(t *lanes.Task) { t.State = lanes.TaskSucceeded }`, true},
		"outcome assigned beside others": {"engine", `func f(t *lanes.Task) { t.Finished, t.State = true, lanes.TaskSucceeded }`, true},
		"outcome in a literal":           {"engine", `func f() any { return lanes.Task{State: lanes.TaskSucceeded} }`, true},
		"outcome returned":               {"engine", `func f() lanes.TaskState { return lanes.TaskSucceeded }`, true},
		"outcome handed on":              {"engine", `func f() { put(lanes.TaskSucceeded) }`, true},
		"outcome by its word":            {"engine", `func f(t *lanes.Task) { t.State = "succeeded" }`, true},
		"outcome by the machine":         {"engine", `func f(t *lanes.Task) { t.State, _ = t.State.Fire(lanes.Land) }`, true},
		"outcome in a closure":           {"engine", `func f() { commit(func() { s = lanes.TaskSucceeded }) }`, true},
		"outcome at an edge":             {"engine/sqlite", `func landTx(t *lanes.Task) { t.State = lanes.TaskSucceeded }`, true},
		"outcome where it may":           {"engine", `func landTx(t *lanes.Task) { t.State, _ = t.State.Fire(lanes.Land) }`, false},
		"outcome looked at":              {"engine", `func f(t lanes.Task) bool { return t.State == lanes.TaskSucceeded }`, false},
		"outcome in a case":              {"engine", `func f(t lanes.Task) { switch t.State { case lanes.TaskSucceeded: } }`, false},
		"outcome awaited by a command":   {"cmd/ferrox", `func f() { want = lanes.TaskSucceeded }`, false},
		"another outcome":                {"engine", `func f(t *lanes.Task) { t.State = lanes.TaskFailed }`, false},

		"publish without a permit":        {"engine", `func f(g Git) { g.Publish(nil) }`, true},
		"publish in a closure":            {"engine", `func f(g Git) { do(func() { g.Publish(nil) }) }`, true},
		"fast-forward without a permit":   {"engine", `func f(g Git) { g.FastForward(nil) }`, true},
		"remove without a permit":         {"engine", `func f(r *runner) { r.Git.RemoveWorktree(nil) }`, true},
		"delete without a permit":         {"cmd/ferrox", `func f(g Git) { g.DeleteBranch(nil) }`, true},
		"another permit is none":          {"engine", `func f(g Git, p other.Permit) { g.Publish(p) }`, true},
		"publish with one":                {"engine", `func f(g Git, p gates.Permit) { g.Publish(p) }`, false},
		"scratch needs none":              {"engine", `func f(g Git) { g.RemoveScratch("x") }`, false},
		"permit made":                     {"engine", `func f() { use(gates.Permit{}) }`, true},
		"permit made in gates":            {"gates", `func f() { use(Permit{valid: true}) }`, true},
		"permit handed out":               {"engine", `func f() (gates.Permit, error) { return p, nil }`, true},
		"permit handed out in gates":      {"gates", `func f() Permit { return p }`, true},
		"permit where it may":             {"gates", `func Complete() (Permit, error) { return Permit{valid: true}, nil }`, false},
		"permit of something else":        {"lanes", `func f() { use(Permit{}) }`, false},
		"predicate called by another":     {"gates", `func f() { authorizeCompletion(x) }`, true},
		"predicate called by Complete":    {"gates", `func Complete() { authorizeCompletion(x) }`, false},
		"checks asked beside it":          {"gates", `func f() { checks(x) }`, true},
		"publish around the permit":       {"engine/gitcli", `func (r *Repo) f() { r.publish() }`, true},
		"publish as a value":              {"engine/gitcli", `func (r *Repo) f() any { return r.publish }`, true},
		"publish behind the permit":       {"engine/gitcli", `func (r *Repo) Publish() { r.publish() }`, false},
		"the runner's own publish":        {"engine", `func (r *runner) f() { r.publish() }`, false},
		"a ref moved elsewhere":           {"engine/gitcli", `func (r *Repo) f() { r.updateRef() }`, true},
		"update-ref run elsewhere":        {"engine/gitcli", `func (r *Repo) f() { r.run(ctx, call{args: []string{"update-ref", "x"}}) }`, true},
		"update-ref run by words":         {"engine/gitcli", `func (r *Repo) f() { r.git(ctx, "update-ref", "x") }`, true},
		"branch forced":                   {"engine/gitcli", `func (r *Repo) f() { r.git(ctx, "branch", "-f") }`, true},
		"pushed":                          {"engine/gitcli", `func (r *Repo) f() { r.git(ctx, "push") }`, true},
		"reset elsewhere":                 {"engine/gitcli", `func (r *Repo) f() { r.git(ctx, "reset", "--hard") }`, true},
		"a merge computed":                {"engine/gitcli", `func (r *Repo) f() { r.git(ctx, "merge-tree") }`, false},
		"update-ref run by who may":       {"engine/gitcli", `func (r *Repo) updateRef() { r.git(ctx, "update-ref") }`, false},
		"the word merge among attributes": {"engine/gitcli", `func (r *Repo) f() { r.run(ctx, call{args: []string{"check-attr", "merge"}}) }`, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pkg := tc.folder
			if i := slices.Index([]string{"engine/gitcli", "engine/sqlite", "cmd/ferrox"}, pkg); i >= 0 {
				pkg = []string{"gitcli", "sqlite", "main"}[i]
			}
			s := sample(t, token.NewFileSet(), tc.folder+"/x.go", "package "+pkg+"\n"+tc.body)
			var found []string
			for _, rule := range authority {
				found = append(found, rule(s)...)
			}
			verdict(t, found, tc.bad)
		})
	}
}
