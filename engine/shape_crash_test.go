package engine_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What leaves something behind has a crash point before and after it, so that a test can kill the program there. The rules
// look at one function at a time: whoever has an effect names its point in the same function, or is listed here.

// pointless lists the functions whose effects need no crash point, and why. A crash around them is a crash around what
// follows.
var pointless = map[string]string{
	"engine copyFile":             "a step of the set-up, which is repeated until the lane is ready",
	"engine copyDir":              "a step of the set-up, which is repeated until the lane is ready",
	"engine/gitcli command":       "kills what is its own, on a time limit",
	"engine/gitcli endGroup":      "kills what is its own, on a time limit",
	"engine/gitcli copyIndex":     "a scratch file that nobody else knows",
	"engine/gitcli writeLoose":    "stands between the points of write",
	"engine/gitcli mergeTree":     "a scratch folder that nobody else knows",
	"engine/gitcli startCatFile":  "only reads",
	"engine/gitcli end":           "ends what only reads",
	"engine/gitcli Rescue":        "a scratch folder that nobody else knows",
	"engine/process TryLock":      "an empty file to lock",
	"engine/process startCommand": "stands between the points of runCommand",
	"engine/process launch":       "stands between the points of start",
	"engine/process makeSpool":    "an ignore file, made again by whoever misses it",
	"engine/process listen":       "a socket lives no longer than its process",
	"engine/process close":        "a socket lives no longer than its process",
	"engine/process awaitReady":   "tells a child that never spoke",
	"engine/sqlite Backup":        "a scratch file that nobody else knows",
	"engine/sqlite Restore":       "a scratch folder that nobody else knows",
	"engine/sqlite copyFile":      "a scratch file that nobody else knows",
	"engine/verbs writeSynced":    "a scratch file that nobody else knows",
	"engine/verbs acquire":        "a lock file, which is broken when its holder is dead",
	"engine/verbs stamped":        "a lock file, which is broken when its holder is dead",
	"engine/verbs release":        "a lock file, which is broken when its holder is dead",
	"engine/verbs reap":           "a lock file, which is broken when its holder is dead",
	"engine/verbs git":            "only reads",
	"engine/hook out":             "only reads",
	"engine/crash pass":           "is the crash",
	"engine/crash record":         "counts the points",
	"cmd/ferrox checkGit":         "writes objects that nothing refers to",
	"cmd/ferrox newDemo":          "the throw-away repository of the demo",
	"cmd/ferrox call":             "the throw-away repository of the demo",
}

// changingCalls are the functions of the standard library, and of the system, that leave something behind. Folders and
// temporary files that are made are not among them: nothing reads them before something else has happened.
var changingCalls = map[string][]string{
	"os":      {"Rename", "Remove", "RemoveAll", "Symlink", "Link", "WriteFile", "Create", "CopyFS", "Truncate", "Chmod"},
	"syscall": {"Kill", "Rename", "Unlink", "Link"},
	"unix":    {"Kill", "PidfdSendSignal", "Rename", "Renameat2", "Unlink", "Link"},
}

// runs are the methods of exec.Cmd that start something.
var runs = []string{"Start", "Run", "Output", "CombinedOutput"}

// silentEffects refuses functions that leave something behind and name no crash point.
func silentEffects(s source) []string {
	if layer := layerOf(s.folder()); layer != "engine" && layer != "edge" && layer != "cmd" {
		return nil
	}
	var found []string
	eachFunc(s, func(d *ast.FuncDecl) {
		if pointless[s.folder()+" "+d.Name.Name] == "" {
			for _, what := range silent(s, d) {
				found = append(found, fmt.Sprintf("%s: %s calls %s and names no crash point", s.path, d.Name.Name, what))
			}
		}
	})
	return found
}

// silent lists what a function leaves behind without naming a crash point.
func silent(s source, d *ast.FuncDecl) (effects []string) {
	if namesPoint(d) {
		return nil
	}
	ast.Inspect(d.Body, func(n ast.Node) bool {
		if what := effect(s, n); what != "" {
			effects = append(effects, what)
		}
		return true
	})
	return effects
}

// namesPoint reports whether a function calls crash.Around or crash.Point, or the function of its package that does.
func namesPoint(d *ast.FuncDecl) (named bool) {
	ast.Inspect(d.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			named = named || ok && x.Name == "crash" && (n.Sel.Name == "Around" || n.Sel.Name == "Point") || n.Sel.Name == "around"
		case *ast.CallExpr:
			f, ok := n.Fun.(*ast.Ident)
			named = named || ok && f.Name == "around"
		}
		return true
	})
	return named
}

// effect names what a node leaves behind; "" for nothing.
func effect(s source, n ast.Node) string {
	if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && strings.HasPrefix(lit.Value, `"COMMIT`) {
		return lit.Value
	}
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return ""
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if x, ok := sel.X.(*ast.Ident); ok && (slices.Contains(changingCalls[x.Name], sel.Sel.Name) || x.Name == "os" && sel.Sel.Name == "OpenFile" && writes(call)) {
		return x.Name + "." + sel.Sel.Name
	}
	if x, ok := sel.X.(*ast.SelectorExpr); ok && x.Sel.Name == "Process" && (sel.Sel.Name == "Signal" || sel.Sel.Name == "Kill") {
		return "Process." + sel.Sel.Name
	}
	if len(call.Args) == 0 && slices.Contains(runs, sel.Sel.Name) && slices.Contains(s.imports(), "os/exec") {
		return "exec.Cmd." + sel.Sel.Name
	}
	return ""
}

// writes reports whether a file is opened to be made or emptied.
func writes(call *ast.CallExpr) (yes bool) {
	for _, arg := range call.Args {
		ast.Inspect(arg, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			yes = yes || ok && slices.Contains([]string{"O_CREATE", "O_TRUNC", "O_APPEND"}, id.Name)
			return true
		})
	}
	return yes
}

// readingGit are the commands of git that leave nothing behind.
var readingGit = []string{
	"cat-file", "check-attr", "check-ref-format", "config", "diff", "diff-index", "diff-tree", "for-each-ref", "log", "ls-files", "ls-tree",
	"merge-base", "rev-list", "rev-parse", "show", "show-ref", "status", "submodule", "symbolic-ref", "var", "version",
}

// silentGit refuses a git command of gitcli that is neither known to read only nor in the list of those with a crash point.
func silentGit(s source, changing []string) []string {
	if s.folder() != "engine/gitcli" {
		return nil
	}
	var found []string
	ast.Inspect(s.ast, func(n ast.Node) bool {
		if verb := gitCommand(n); verb != "" && !slices.Contains(readingGit, verb) && !slices.Contains(changing, verb) {
			found = append(found, fmt.Sprintf("%s: git %s has no crash point; put it into the list changing, or into readingGit", s.path, verb))
		}
		return true
	})
	return found
}

// gitCommand is the git command that a node runs: the first word of a list named args, or the word after the context.
func gitCommand(n ast.Node) string {
	var list ast.Expr
	switch n := n.(type) {
	case *ast.KeyValueExpr:
		if id, ok := n.Key.(*ast.Ident); ok && id.Name == "args" {
			list = n.Value
		}
	case *ast.AssignStmt:
		if id, ok := n.Lhs[0].(*ast.Ident); ok && id.Name == "args" {
			list = n.Rhs[0]
		}
	case *ast.CallExpr:
		if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "git" && len(n.Args) > 1 {
			list = n.Args[1]
		}
	}
	word := ""
	if list != nil {
		ast.Inspect(list, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && word == "" && lit.Kind == token.STRING {
				word, _ = strconv.Unquote(lit.Value)
			}
			return word == ""
		})
	}
	if strings.HasPrefix(word, "-") {
		return ""
	}
	return word
}

// stringsOf reads a package variable that is a list of words.
func stringsOf(s source, name string) (words []string) {
	for _, d := range s.ast.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, spec := range g.Specs {
			v := spec.(*ast.ValueSpec)
			if v.Names[0].Name != name {
				continue
			}
			ast.Inspect(v, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok {
					word, _ := strconv.Unquote(lit.Value)
					words = append(words, word)
				}
				return true
			})
		}
	}
	return words
}

// TestShape_EveryEffectHasACrashPoint: what a test cannot crash, it cannot test.
func TestShape_EveryEffectHasACrashPoint(t *testing.T) {
	t.Parallel()
	_, all := project(t)
	var changing []string
	for _, s := range all {
		if s.folder() == "engine/gitcli" && !s.test() {
			changing = append(changing, stringsOf(s, "changing")...)
		}
	}
	if len(changing) < 5 {
		t.Fatalf("engine/gitcli has a list changing of %q", changing)
	}
	needed := map[string]bool{}
	for _, s := range all {
		if s.test() || under(s.folder(), "engine/powercut") { // no part of the program
			continue
		}
		eachFunc(s, func(d *ast.FuncDecl) {
			if len(silent(s, d)) > 0 {
				needed[s.folder()+" "+d.Name.Name] = true
			}
		})
		report(t, silentEffects(s))
		report(t, silentGit(s, changing))
	}
	for name := range pointless {
		if !needed[name] {
			t.Errorf("%s needs no exception: it is gone, or has a crash point", name)
		}
	}
}

func TestShapeRules_CrashPoints(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		folder, body string
		bad          bool
	}{
		"rename":                    {"engine", `func f() { os.Rename("a", "b") }`, true},
		"rename in a closure":       {"engine/verbs", `func f() { do(func() { os.Rename("a", "b") }) }`, true},
		"rename deferred":           {"cmd/ferrox", `func f() { defer os.Remove("a") }`, true},
		"rename with points":        {"engine", `func f() { defer crash.Around("x")(); os.Rename("a", "b") }`, false},
		"point in another function": {"engine", `func g() { crash.Point("x") }; func f() { os.Rename("a", "b") }`, true},
		"file made":                 {"engine", `func f() { os.OpenFile("a", os.O_CREATE|os.O_RDWR, 0) }`, true},
		"file read":                 {"engine", `func f() { os.OpenFile("a", os.O_RDONLY, 0) }`, false},
		"folder made":               {"engine", `func f() { os.MkdirAll("a", 0) }`, false},
		"program run":               {"engine/verbs", `import "os/exec"; func f(c *exec.Cmd) { c.Run() }`, true},
		"actors run":                {"engine", `func f(g run.Group) { g.Run() }`, false},
		"killed":                    {"engine/process", `func f() { unix.Kill(1, 9) }`, true},
		"child signalled":           {"engine/process", `func f(c *exec.Cmd) { c.Process.Signal(s) }`, true},
		"committed":                 {"engine/sqlite", `func f(c *session) { c.exec("COMMIT") }`, true},
		"the core":                  {"lanes", `func f() { os.Rename("a", "b") }`, false},
		"an exception":              {"engine", `func copyFile() { os.WriteFile("a", nil, 0) }`, false},
		"no exception elsewhere":    {"engine/hook", `func copyFile() { os.WriteFile("a", nil, 0) }`, true},

		"git that changes":         {"engine/gitcli", `func (r *Repo) f() { r.git(ctx, "gc", "--prune") }`, true},
		"git that changes, a list": {"engine/gitcli", `func (r *Repo) f() { r.run(ctx, call{args: []string{"prune"}}) }`, true},
		"git that changes, longer": {"engine/gitcli", `func (r *Repo) f() { args := append([]string{"apply"}, x...); use(args) }`, true},
		"git that is listed":       {"engine/gitcli", `func (r *Repo) f() { r.git(ctx, "update-ref", "x") }`, false},
		"git that reads":           {"engine/gitcli", `func (r *Repo) f() { r.git(ctx, "log") }`, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pkg := tc.folder[strings.LastIndex(tc.folder, "/")+1:]
			s := sample(t, token.NewFileSet(), tc.folder+"/x.go", "package "+pkg+"\n"+tc.body)
			verdict(t, append(silentEffects(s), silentGit(s, []string{"update-ref"})...), tc.bad)
		})
	}
}
