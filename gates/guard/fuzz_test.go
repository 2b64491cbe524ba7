package guard

import (
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// around are ways to put a command into a line that still runs it. "@" stands for the command.
var around = []string{
	"@", "@; true", "true\n@", "false && @", "true || @", "(@)", "{ @; }", "! @", "time @", "if @; then :; fi", "while @; do :; done",
	"x=$(@)", "echo \"`@`\"", "f() { @; }; f", "env A=1 @", "sudo -n @", "nohup @ &", "timeout 5 @", "sh -c '@'", "eval \"@\"",
	"bash <<'EOF'\n@\nEOF", "case a in a) @;; esac", "for i in 1; do @; done", "cat <(@)", "echo '@' | sh", "command @", "true | @",
}

// FuzzLiteralMergeIsFound puts lines around a merge and ways of running around that. Whatever stands before and after it, the
// merge on a protected branch is found; and no input makes the guard panic or hang.
func FuzzLiteralMergeIsFound(f *testing.F) {
	for i := range around {
		f.Add("ls -la", "echo done", uint8(i), uint8(i/2))
	}
	for _, l := range append(blocked["main"], allowed["main"]...) {
		f.Add(l, l, uint8(0), uint8(0))
	}
	f.Fuzz(func(t *testing.T, before, after string, outer, inner uint8) {
		if _, err := Check(before, cwd, repo("main")); err != nil {
			t.Skip("not a line")
		}
		if _, err := Check(after, cwd, repo("main")); err != nil || !plain(before) || !plain(after) {
			t.Skip("not a line, or one that goes elsewhere")
		}
		cmd := around[int(outer)%len(around)]
		in := around[int(inner)%len(around)]
		if strings.ContainsAny(in, "'\"`\n") && strings.ContainsAny(cmd, "'\"`") {
			in = "@"
		}
		cmd = strings.ReplaceAll(cmd, "@", in)
		line := before + "\n" + strings.ReplaceAll(cmd, "@", "git merge x") + "\n" + after
		if _, err := syntax.NewParser().Parse(strings.NewReader(line), ""); err != nil {
			t.Skip("the parts are no line together")
		}
		r, err := Check(line, cwd, repo("main"))
		if err != nil {
			t.Fatalf("Check(%q): %v", line, err)
		}
		for _, f := range r.Findings {
			if f.Command == "git merge x" || f.Unreadable {
				return
			}
		}
		t.Errorf("passed: %q: %+v", line, r)
	})
}

// plain reports whether a text changes nothing of what the merge after it means: it parses as a whole in the usual
// grammar, keeps to the folder and the branch, and turns no word into another.
func plain(s string) bool {
	if _, err := syntax.NewParser().Parse(strings.NewReader(s), ""); err != nil {
		return false
	}
	for _, w := range []string{"\\", "checkout", "switch", "symbolic", "worktree", "cd", "pushd", "popd", "alias", "<<", "()", "function", "{", "GIT_", "branch", "config"} {
		if strings.Contains(s, w) {
			return false
		}
	}
	return true
}
