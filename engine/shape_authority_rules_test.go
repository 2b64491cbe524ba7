package engine_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
)

// What the compiler cannot see of "one predicate, and a permit to prove it": who writes an outcome, who moves a branch, who
// makes a permit. Each rule looks at one file and knows functions by name, so it refuses too much rather than too little.

// successWriters are the only functions of the engine that write the outcome: landing by a permit, and the rows of packets
// that were finished in the base commit.
var successWriters = []string{"landTx", "taskRows"}

// permitCalls are the calls of the Git port that need a permit: they move what has landed, or remove work.
var permitCalls = []string{"Publish", "FastForward", "RemoveWorktree", "DeleteBranch"}

// soleCallers says who may call what, in one folder.
var soleCallers = []struct {
	folder, name string
	callers      []string
}{
	{"gates", "authorizeCompletion", []string{"Complete"}},
	{"gates", "checks", []string{"authorizeCompletion"}},
	{"engine/gitcli", "publish", []string{"Publish", "save", "RescueCommit"}}, // the latter two publish a rescue: theirs makes a ref
	{"engine/gitcli", "fastForward", []string{"FastForward"}},
	{"engine/gitcli", "deleteBranch", []string{"DeleteBranch"}},
	{"engine/gitcli", "removeWorktree", []string{"RemoveWorktree"}},
	{"engine/gitcli", "updateRef", []string{"CreateBranch", "publish"}},
}

// refMovers says which functions of gitcli run a git command that can move a branch. What is not listed runs none.
var refMovers = map[string][]string{
	"update-ref":   {"updateRef", "deleteBranch", "rollBack"},
	"merge":        {"fastForward"},
	"reset":        {"reset"},
	"branch":       {},
	"push":         {},
	"pull":         {},
	"fetch":        {},
	"commit":       {},
	"rebase":       {},
	"switch":       {},
	"checkout":     {},
	"symbolic-ref": {"head"},
	"cherry-pick":  {},
	"revert":       {},
	"am":           {},
}

// eachFunc calls f for every function with a body, closures included in the function that they stand in.
func eachFunc(s source, f func(d *ast.FuncDecl)) {
	for _, decl := range s.ast.Decls {
		if d, ok := decl.(*ast.FuncDecl); ok && d.Body != nil {
			f(d)
		}
	}
}

// isName reports whether e is pkg.name, or name alone inside of that package.
func isName(s source, e ast.Expr, pkg, name string) bool {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		x, ok := e.X.(*ast.Ident)
		return ok && x.Name == pkg && e.Sel.Name == name
	case *ast.Ident:
		return s.ast.Name.Name == pkg && e.Name == name
	}
	return false
}

// strayOutcomes refuses functions of the engine that make a task succeeded, by its state, by its word, or by the input of
// the machine, unless they are the ones that may.
func strayOutcomes(s source) []string {
	if layer := layerOf(s.folder()); layer != "engine" && layer != "edge" {
		return nil
	}
	var found []string
	eachFunc(s, func(d *ast.FuncDecl) {
		if s.folder() == "engine" && slices.Contains(successWriters, d.Name.Name) {
			return
		}
		ast.Inspect(d.Body, func(n ast.Node) bool {
			if writesSuccess(s, n) {
				found = append(found, fmt.Sprintf("%s: %s writes the outcome; only %v may", s.path, d.Name.Name, successWriters))
			}
			return true
		})
	})
	return found
}

func writesSuccess(s source, n ast.Node) bool {
	succeeded := func(e ast.Expr) bool { return isName(s, e, "lanes", "TaskSucceeded") }
	switch n := n.(type) {
	case *ast.AssignStmt:
		return slices.ContainsFunc(n.Rhs, succeeded)
	case *ast.KeyValueExpr:
		return succeeded(n.Value)
	case *ast.ReturnStmt:
		return slices.ContainsFunc(n.Results, succeeded)
	case *ast.CallExpr:
		return slices.ContainsFunc(n.Args, func(e ast.Expr) bool { return succeeded(e) || isName(s, e, "lanes", "Land") })
	case *ast.BasicLit:
		return n.Kind == token.STRING && n.Value == `"succeeded"`
	}
	return false
}

// permitlessCalls refuses functions that move or remove without having been given a permit.
func permitlessCalls(s source) []string {
	if under(s.folder(), "engine/gitcli") {
		return nil
	}
	var found []string
	eachFunc(s, func(d *ast.FuncDecl) {
		if takesPermit(s, d) {
			return
		}
		ast.Inspect(d.Body, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains(permitCalls, sel.Sel.Name) {
				found = append(found, fmt.Sprintf("%s: %s calls %s and takes no gates.Permit", s.path, d.Name.Name, sel.Sel.Name))
			}
			return true
		})
	})
	return found
}

func takesPermit(s source, d *ast.FuncDecl) bool {
	return slices.ContainsFunc(d.Type.Params.List, func(f *ast.Field) bool { return isName(s, f.Type, "gates", "Permit") })
}

// strayPermits refuses whoever makes a permit, or hands one out, beside gates.Complete.
func strayPermits(s source) []string {
	var found []string
	eachFunc(s, func(d *ast.FuncDecl) {
		if s.folder() == "gates" && d.Name.Name == "Complete" {
			return
		}
		if d.Type.Results != nil && slices.ContainsFunc(d.Type.Results.List, func(f *ast.Field) bool { return isName(s, f.Type, "gates", "Permit") }) {
			found = append(found, fmt.Sprintf("%s: %s returns a permit; only gates.Complete does", s.path, d.Name.Name))
		}
		ast.Inspect(d.Body, func(n ast.Node) bool {
			if lit, ok := n.(*ast.CompositeLit); ok && isName(s, lit.Type, "gates", "Permit") {
				found = append(found, fmt.Sprintf("%s: %s makes a permit; only gates.Complete does", s.path, d.Name.Name))
			}
			return true
		})
	})
	return found
}

// strayCallers refuses calls by anyone but those that soleCallers names.
func strayCallers(s source) []string {
	var found []string
	eachFunc(s, func(d *ast.FuncDecl) {
		ast.Inspect(d.Body, func(n ast.Node) bool {
			name, ok := referred(n)
			for _, rule := range soleCallers {
				if ok && s.folder() == rule.folder && name == rule.name && !slices.Contains(rule.callers, d.Name.Name) {
					found = append(found, fmt.Sprintf("%s: %s uses %s; only %v may", s.path, d.Name.Name, name, rule.callers))
				}
			}
			return true
		})
	})
	return found
}

// referred is the name of a function that is called, or taken as a value.
func referred(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		return n.Sel.Name, true
	case *ast.CallExpr:
		if id, ok := n.Fun.(*ast.Ident); ok {
			return id.Name, true
		}
	}
	return "", false
}

// strayRefMoves refuses functions of gitcli that run a git command which can move a branch, unless they may. A command is the
// first word of a list of words, or the second argument of a call.
func strayRefMoves(s source) []string {
	if s.folder() != "engine/gitcli" {
		return nil
	}
	var found []string
	eachFunc(s, func(d *ast.FuncDecl) {
		ast.Inspect(d.Body, func(n ast.Node) bool {
			if verb := gitVerb(n); verb != "" {
				if allowed, moves := refMovers[verb]; moves && !slices.Contains(allowed, d.Name.Name) {
					found = append(found, fmt.Sprintf("%s: %s runs git %s", s.path, d.Name.Name, verb))
				}
			}
			return true
		})
	})
	return found
}

func gitVerb(n ast.Node) string {
	var first ast.Expr
	switch n := n.(type) {
	case *ast.CompositeLit:
		if list, ok := n.Type.(*ast.ArrayType); ok && len(n.Elts) > 0 && fmt.Sprint(list.Elt) == "string" {
			first = n.Elts[0]
		}
	case *ast.CallExpr:
		if len(n.Args) > 1 {
			first = n.Args[1]
		}
	}
	lit, ok := first.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	word, _ := strconv.Unquote(lit.Value)
	return word
}
