package engine_test

import (
	"go/token"
	"testing"
)

// The checks are checked: each bad sample must be refused, each good one must pass.

func TestShapeRules_Imports(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		line string
		bad  bool
	}{
		"files":            {`import "os"`, true},
		"processes":        {`import "os/exec"`, true},
		"network":          {`import "net"`, true},
		"network below":    {`import "net/url"`, true},
		"database":         {`import "database/sql"`, true},
		"logging":          {`import "log/slog"`, true},
		"chance":           {`import "math/rand/v2"`, true},
		"strong chance":    {`import "crypto/rand"`, true},
		"runtime":          {`import "runtime/debug"`, true},
		"unsafe":           {`import "unsafe"`, true},
		"testing":          {`import "testing"`, true},
		"renamed":          {`import quiet "os"`, true},
		"blank":            {`import _ "os"`, true},
		"dot":              {`import . "strings"`, true},
		"unknown library":  {`import "github.com/spf13/cobra"`, true},
		"shell runner":     {`import "mvdan.cc/sh/v3/interp"`, true},
		"text":             {`import "strings"`, false},
		"digest":           {`import "crypto/sha256"`, false},
		"osmosis is no os": {`import "ossify"`, false},
		"machine":          {`import "github.com/looplab/fsm"`, false},
		"shell syntax":     {`import "mvdan.cc/sh/v3/syntax"`, false},
		"own core":         {`import "ferrox/lanes"`, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sample(t, token.NewFileSet(), "gates/x.go", "package gates\n"+tc.line)
			verdict(t, impureImports(s), tc.bad)
		})
	}
}

func TestShapeRules_Arrows(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		from, to string
		bad      bool
	}{
		"lanes up to mailbox":       {"lanes", "mailbox", true},
		"packet up to hold":         {"lanes/packet", "hold", true},
		"mailbox up to hold":        {"mailbox", "hold", true},
		"hold up to gates":          {"hold", "gates", true},
		"gates up to engine":        {"gates", "engine", true},
		"engine up to an edge":      {"engine", "engine/sqlite", true},
		"engine up to cmd":          {"engine", "cmd/ferrox", true},
		"gates up to crash points":  {"gates", "engine/crash", true},
		"crash points to an edge":   {"engine/crash", "engine/process", true},
		"engine to crash points":    {"engine", "engine/crash", false},
		"edge to crash points":      {"engine/sqlite", "engine/crash", false},
		"edge to edge":              {"engine/watch", "engine/process", true},
		"edge to a part of an edge": {"engine/watch", "engine/process/shim", true},
		"edge to cmd":               {"engine/dash", "cmd/ferrox", true},
		"edge to contract":          {"engine/sqlite", "engine/storetest", true},
		"cmd to contract":           {"cmd/ferrox", "engine/storetest", true},
		"engine to migrations":      {"engine", "migrations", true},
		"gitcli to migrations":      {"engine/gitcli", "migrations", true},
		"migrations to lanes":       {"migrations", "lanes", true},
		"place unknown":             {"utils", "lanes", true},
		"import of unknown":         {"gates", "utils", true},
		"mailbox down to lanes":     {"mailbox", "lanes", false},
		"gates down to hold":        {"gates/verdict", "hold", false},
		"inside lanes":              {"lanes/packet", "lanes", false},
		"edge down to engine":       {"engine/watch", "engine", false},
		"inside an edge":            {"engine/process", "engine/process/shim", false},
		"sqlite to migrations":      {"engine/sqlite", "migrations", false},
		"contract down to engine":   {"engine/storetest", "engine", false},
		"cmd to an edge":            {"cmd/ferrox", "engine/sqlite", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sample(t, token.NewFileSet(), tc.from+"/x.go", "package x\nimport _ \"ferrox/"+tc.to+"\"")
			verdict(t, upwardImports(s), tc.bad)
		})
	}
}

func TestShapeRules_Driver(t *testing.T) {
	t.Parallel()
	const text = "package x\nimport _ \"github.com/mattn/go-sqlite3\""
	verdict(t, strayDrivers(sample(t, token.NewFileSet(), "cmd/ferrox/run.go", text)), true)
	verdict(t, strayDrivers(sample(t, token.NewFileSet(), "engine/runner_test.go", text)), true)
	verdict(t, strayDrivers(sample(t, token.NewFileSet(), "engine/sqlite/open.go", text)), false)
}

func TestShapeRules_Code(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		body string
		bad  bool
	}{
		"clock":             {`import "time"; func f() any { return time.Now() }`, true},
		"clock, renamed":    {`import t "time"; func f() any { return t.Now() }`, true},
		"clock, as a value": {`import "time"; func f() any { return time.Now }`, true},
		"since":             {`import "time"; func f(t time.Time) any { return time.Since(t) }`, true},
		"until":             {`import "time"; func f(t time.Time) any { return time.Until(t) }`, true},
		"timer":             {`import "time"; func f() { <-time.After(1) }`, true},
		"disk":              {`import "path/filepath"; func f() { filepath.Glob("*") }`, true},
		"terminal":          {`import "fmt"; func f() { fmt.Println() }`, true},
		"builtin print":     {`func f() { println() }`, true},
		"goroutine":         {`func f() { go f() }`, true},
		"unset":             {`var n int`, true},
		"assigned":          {`var n = 1; func f() { n = 2 }`, true},
		"assigned before":   {`func f() { n = 2 }; var n = 1`, true},
		"counted":           {`var n = 1; func f() { n++ }`, true},
		"entry set":         {`var m = map[string]int{}; func f() { m["a"] = 1 }`, true},
		"entry deleted":     {`var m = map[string]int{}; func f() { delete(m, "a") }`, true},
		"cleared":           {`var m = map[string]int{}; func f() { clear(m) }`, true},
		"field set":         {`var s = struct{ n int }{}; func f() { s.n = 1 }`, true},
		"address taken":     {`var n = 1; func f() *int { return &n }`, true},
		"range":             {`var n = 1; func f(a []int) { for n = range a { } }`, true},
		"instant given":     {`import "time"; func f(now time.Time) any { return now.Add(time.Second) }`, false},
		"own Now":           {`type c struct{}; func (c) Now() int { return 1 }; func f(time c) int { return time.Now() }`, false},
		"table":             {`var m = map[string]int{"a": 1}; func f() int { return m["a"] }`, false},
		"local of the name": {`var n = 1; func f() int { n := n; n++; return n }`, false},
		"text made":         {`import "fmt"; func f() string { return fmt.Sprint(1) }`, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fset := token.NewFileSet()
			verdict(t, impureCode(fset, []source{sample(t, fset, "lanes/x.go", "package lanes\n"+tc.body)}), tc.bad)
		})
	}
}

// A variable is declared in one file and changed in another.
func TestShapeRules_CodeAcrossFiles(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	verdict(t, impureCode(fset, []source{
		sample(t, fset, "lanes/a.go", "package lanes\nvar n = 1"),
		sample(t, fset, "lanes/b.go", "package lanes\nfunc f() { n = 2 }"),
	}), true)
}

func TestShapeRules_Text(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		bad  bool
	}{
		"home folder":        {"cd /ho" + "me/alice/src", true},
		"root's folder":      {"cat /ro" + "ot/notes", true},
		"mac folder":         {"open /Use" + "rs/alice/src", true},
		"checkout":           {"cd /wo" + "rk/main", true},
		"unfinished":         {"// FIX" + "ME later", true},
		"tracker":            {"see issue " + "#12", true},
		"unresolved":         {"<<<<" + "<<< ours", true},
		"temporary folder":   {"cd /tmp/x", false},
		"home of the user":   {"~/.config and $HOME/x", false},
		"heading":            {"# 12 issues", false},
		"word in a sentence": {"it fixes the order", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			verdict(t, strayText("x", "first\n"+tc.text), tc.bad)
		})
	}
}

func sample(t *testing.T, fset *token.FileSet, name, text string) source {
	t.Helper()
	s, err := parse(fset, name, text)
	if err != nil {
		t.Fatalf("sample: %v", err)
	}
	return s
}

func verdict(t *testing.T, found []string, bad bool) {
	t.Helper()
	if bad != (len(found) > 0) {
		t.Errorf("bad = %v, but found %q", bad, found)
	}
}
