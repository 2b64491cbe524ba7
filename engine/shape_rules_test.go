package engine_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// module is the prefix of the project's own import paths.
const module = "ferrox/"

// layers ranks the places of the project from the bottom up. A place imports what is below it.
var layers = []string{"lanes", "mailbox", "hold", "gates", "engine", "edge", "cmd"}

// coreLayers is how many of the layers are pure.
const coreLayers = 4

// pureLibraries may be imported by the core beside the standard library: they compute and touch nothing.
var pureLibraries = []string{
	"github.com/looplab/fsm",
	"github.com/tailscale/hujson",
	"github.com/bmatcuk/doublestar/v4",
	"mvdan.cc/sh/v3/syntax",
	"mvdan.cc/sh/v3/fileutil",
	"mvdan.cc/sh/v3/pattern",
	"golang.org/x/text/unicode/norm",
	"golang.org/x/text/cases",
}

// impureStandard lists packages, each with everything below it, that reach out of the process or are not repeatable.
var impureStandard = []string{
	"C", "os", "net", "database", "log", "math/rand", "crypto/rand", "crypto/tls", "io/ioutil", "syscall", "unsafe",
	"runtime", "testing", "plugin", "expvar",
}

// impureNames lists functions of otherwise pure packages that read the clock, the disk or the terminal.
var impureNames = map[string][]string{
	"time":          {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Local", "LoadLocation"},
	"path/filepath": {"Abs", "EvalSymlinks", "Glob", "Walk", "WalkDir"},
	"fmt":           {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
	"context":       {"WithTimeout", "WithDeadline", "AfterFunc"},
}

// source is one Go file of the project.
type source struct {
	path string // slash-separated, from the root of the repository
	ast  *ast.File
}

func parse(fset *token.FileSet, name string, text any) (source, error) {
	f, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
	return source{path: name, ast: f}, err
}

func (s source) test() bool     { return strings.HasSuffix(s.path, "_test.go") }
func (s source) folder() string { return path.Dir(s.path) }

func (s source) imports() []string {
	var all []string
	for _, i := range s.ast.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			p = i.Path.Value
		}
		all = append(all, p)
	}
	return all
}

// layerOf says where a folder stands: a name of layers, "migrations", or "" for a place the design does not know.
func layerOf(folder string) string {
	top, rest, _ := strings.Cut(folder, "/")
	switch {
	case top == "engine" && rest != "":
		return "edge"
	case top == "migrations" && rest == "", slices.Contains(layers, top):
		return top
	}
	return ""
}

func inCore(folder string) bool {
	rank := slices.Index(layers, layerOf(folder))
	return rank >= 0 && rank < coreLayers
}

// under reports whether p is root or below it.
func under(p, root string) bool { return p == root || strings.HasPrefix(p, root+"/") }

// impureImports refuses what the core must not import. Imports inside the project are for upwardImports.
func impureImports(s source) []string {
	var found []string
	for _, spec := range s.ast.Imports {
		if spec.Name != nil && spec.Name.Name == "." {
			found = append(found, fmt.Sprintf("%s: dot import of %s hides what is called", s.path, spec.Path.Value))
		}
	}
	for _, p := range s.imports() {
		if !strings.HasPrefix(p, module) && !pure(p) {
			found = append(found, fmt.Sprintf("%s: the core imports %q", s.path, p))
		}
	}
	return found
}

func pure(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	if strings.Contains(first, ".") {
		return slices.Contains(pureLibraries, p)
	}
	return !slices.ContainsFunc(impureStandard, func(no string) bool { return under(p, no) })
}

// upwardImports refuses arrows that do not point down, and edges that know each other.
func upwardImports(s source) []string {
	from := s.folder()
	if layerOf(from) == "" {
		return []string{fmt.Sprintf("%s: %s is no place of the design; put the file into one, or add the place to layers", s.path, from)}
	}
	var found []string
	for _, p := range s.imports() {
		to, own := strings.CutPrefix(p, module)
		if own && !mayImport(from, to) {
			found = append(found, fmt.Sprintf("%s: %s imports %s", s.path, from, to))
		}
	}
	return found
}

func mayImport(from, to string) bool {
	lower, upper := layerOf(to), layerOf(from)
	switch {
	case to == "engine/crash": // a leaf: it knows nobody, and whoever has effects names its points
		return slices.Index(layers, upper) >= slices.Index(layers, "engine")
	case under(to, "engine/storetest"), under(to, "engine/powercut"): // for tests alone
		return edgeName(from) == edgeName(to)
	case lower == "migrations":
		return under(from, "engine/sqlite")
	case upper == "migrations", lower == "":
		return false
	case upper == "edge" && lower == "edge":
		return edgeName(from) == edgeName(to)
	}
	return slices.Index(layers, lower) <= slices.Index(layers, upper)
}

func edgeName(folder string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(folder, "engine/"), "/")
	return name
}

// strayDrivers refuses the SQLite driver outside engine/sqlite, in tests too.
func strayDrivers(s source) []string {
	if under(s.folder(), "engine/sqlite") || !slices.Contains(s.imports(), "github.com/mattn/go-sqlite3") {
		return nil
	}
	return []string{s.path + ": only engine/sqlite imports the driver"}
}

// stub stands in for every imported package: the rules need to know which package a name is from, not what is in it.
type stub struct{}

func (stub) Import(p string) (*types.Package, error) {
	pkg := types.NewPackage(p, path.Base(p))
	pkg.MarkComplete()
	return pkg, nil
}

// impureCode refuses clocks, disks, goroutines and variables that change in the files of one core package.
func impureCode(fset *token.FileSet, files []source) []string {
	var trees []*ast.File
	for _, f := range files {
		trees = append(trees, f.ast)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: stub{}, Error: func(error) {}} // the stubs are empty: errors are expected
	pkg, _ := conf.Check("core", fset, trees, info)

	c := codeCheck{fset: fset, info: info, pkg: pkg}
	for _, t := range trees {
		c.declarations(t)
		ast.Inspect(t, c.node)
	}
	return c.found
}

type codeCheck struct {
	fset  *token.FileSet
	info  *types.Info
	pkg   *types.Package
	found []string
}

func (c *codeCheck) refuse(at token.Pos, format string, args ...any) {
	c.found = append(c.found, fmt.Sprintf("%s: %s", c.fset.Position(at), fmt.Sprintf(format, args...)))
}

// declarations refuses package variables without a value: they are there to be set later.
func (c *codeCheck) declarations(f *ast.File) {
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			if v := s.(*ast.ValueSpec); len(v.Values) == 0 {
				c.refuse(v.Pos(), "package variable %s has no value, so it is meant to change", v.Names[0].Name)
			}
		}
	}
}

func (c *codeCheck) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		c.refuse(n.Pos(), "the core starts no goroutines")
	case *ast.SelectorExpr:
		c.selector(n)
	case *ast.AssignStmt:
		for _, left := range n.Lhs {
			c.change(left)
		}
	case *ast.IncDecStmt:
		c.change(n.X)
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			c.change(n.Key)
			c.change(n.Value)
		}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			c.change(n.X)
		}
	case *ast.CallExpr:
		c.call(n)
	}
	return true
}

func (c *codeCheck) selector(s *ast.SelectorExpr) {
	x, ok := s.X.(*ast.Ident)
	if !ok {
		return
	}
	name, ok := c.info.Uses[x].(*types.PkgName)
	if ok && slices.Contains(impureNames[name.Imported().Path()], s.Sel.Name) {
		c.refuse(s.Pos(), "the core uses %s.%s", name.Imported().Path(), s.Sel.Name)
	}
}

// call looks for builtins that write: to the terminal, or into their argument.
func (c *codeCheck) call(n *ast.CallExpr) {
	f, ok := n.Fun.(*ast.Ident)
	if !ok {
		return
	}
	if _, ok := c.info.Uses[f].(*types.Builtin); !ok {
		return
	}
	switch f.Name {
	case "print", "println":
		c.refuse(n.Pos(), "the core prints")
	case "delete", "clear", "copy":
		if len(n.Args) > 0 {
			c.change(n.Args[0])
		}
	}
}

// change refuses e when it is, or is a part of, a package variable.
func (c *codeCheck) change(e ast.Expr) {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.Ident:
			if v, ok := c.info.Uses[x].(*types.Var); ok && c.pkg != nil && v.Parent() == c.pkg.Scope() {
				c.refuse(x.Pos(), "package variable %s is changed", x.Name)
			}
			return
		default:
			return
		}
	}
}

// machinePaths are folders of one person's machine.
var machinePaths = regexp.MustCompile(`/work/(main|shared)\b|/root/\w|/home/\w+/\w|/Users/\w+/\w|[A-Z]:\\Users\\\w`)

// strayWords are marks of work that is not finished, and pointers to places that readers do not have.
var strayWords = regexp.MustCompile(`(?i)\b(fix` + `me|do not sub` + `mit|work in pro` + `gress)\b|\b(issue|issues|fixes|closes|pull request) #\d+|^<{7} |^>{7} `)

// strayText refuses machine paths and stray words, line by line.
func strayText(name, text string) []string {
	var found []string
	for i, line := range strings.Split(text, "\n") {
		for _, re := range []*regexp.Regexp{machinePaths, strayWords} {
			if hit := re.FindString(line); hit != "" {
				found = append(found, fmt.Sprintf("%s:%d: %q", name, i+1, hit))
			}
		}
	}
	return found
}
