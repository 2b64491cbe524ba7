package guard

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// output is the text that a statement writes, for what is piped into a shell; nil when nothing of it can be known.
func (c *checker) output(st *state, s *syntax.Stmt) *string {
	if s == nil {
		return nil // "time" alone
	}
	if !c.spend() {
		return nil
	}
	switch x := s.Cmd.(type) {
	case *syntax.CallExpr:
		return c.callOutput(st, x, s.Redirs)
	case *syntax.BinaryCmd:
		if x.Op == syntax.AndStmt || x.Op == syntax.OrStmt {
			return c.outputs(st, []*syntax.Stmt{x.X, x.Y})
		}
		if out := c.output(st, x.Y); out != nil || !passesOn(x.Y) {
			return out
		}
		return c.output(st, x.X)
	case *syntax.Block:
		return c.outputs(st, x.Stmts)
	case *syntax.Subshell:
		return c.outputs(st, x.Stmts)
	case *syntax.TimeClause:
		return c.output(st, x.Stmt)
	}
	return nil
}

// outputs joins what is known of the output of several statements.
func (c *checker) outputs(st *state, stmts []*syntax.Stmt) *string {
	var texts []string
	for _, s := range stmts {
		if s == nil {
			continue
		}
		if t := c.output(st, s); t != nil {
			texts = append(texts, *t)
		}
	}
	if texts == nil {
		return nil
	}
	t := strings.Join(texts, "\n")
	return &t
}

// passesOn reports whether a statement writes what it reads.
func passesOn(s *syntax.Stmt) bool {
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return false
	}
	switch call.Args[0].Lit() {
	case "cat", "tee", "sort", "head", "tail", "grep", "sed", "uniq", "tr":
		return true
	}
	return false
}

func (c *checker) callOutput(st *state, call *syntax.CallExpr, redirs []*syntax.Redirect) *string {
	if len(call.Args) == 0 {
		return nil
	}
	alts := c.words(st, call.Args)
	if len(alts) != 1 || len(alts[0]) == 0 {
		return nil
	}
	args := unwrapped(alts[0])
	switch commandName(args[0]) {
	case "echo":
		return echoed(args[1:])
	case "printf":
		return formatted(args[1:])
	case "cat", "tee":
		for _, r := range redirs {
			if in := c.input(st, r); in != nil {
				return in
			}
		}
	}
	return nil
}

// scriptFromProcess is the text of "bash <(…)" and ". <(…)", where the script is what other commands write.
func (c *checker) scriptFromProcess(st *state, x *syntax.CallExpr) *string {
	for _, w := range x.Args[1:] {
		if len(w.Parts) != 1 {
			continue
		}
		if p, is := w.Parts[0].(*syntax.ProcSubst); is && p.Op == syntax.CmdIn {
			return c.outputs(st, p.Stmts)
		}
	}
	return nil
}

// unwrapped drops wrappers in front of a command that writes its words.
func unwrapped(args []string) []string {
	if _, is := wrappers[commandName(args[0])]; !is {
		return args
	}
	for i, a := range args {
		switch commandName(a) {
		case "echo", "printf", "cat":
			return args[i:]
		}
	}
	return args
}

// echoed is what echo writes.
func echoed(args []string) *string {
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.Trim(args[0][1:], "neE") == "" {
		args = args[1:]
	}
	t := unescaped(strings.Join(args, " "))
	return &t
}

// formatted is what printf writes, as far as %s goes.
func formatted(args []string) *string {
	if len(args) == 0 {
		return nil
	}
	if args[0] == "--" {
		args = args[1:]
	}
	var b strings.Builder
	for rest := args[1:]; ; {
		f := args[0]
		took := false
		for {
			before, after, found := strings.Cut(f, "%")
			b.WriteString(before)
			if !found {
				break
			}
			switch {
			case strings.HasPrefix(after, "%"):
				b.WriteString("%")
			case (strings.HasPrefix(after, "s") || strings.HasPrefix(after, "b")) && len(rest) > 0:
				b.WriteString(rest[0])
				rest, took = rest[1:], true
			case strings.HasPrefix(after, "s"):
			default:
				b.WriteString(hole)
				rest = nil
			}
			f = after[min(1, len(after)):]
		}
		if len(rest) == 0 || !took {
			break
		}
	}
	t := unescaped(b.String())
	return &t
}

// unescaped reads the escapes that echo -e and printf know; plain echo would keep them, and then they hide nothing.
func unescaped(t string) string {
	if !strings.Contains(t, `\`) {
		return t
	}
	return ansiC(t)
}
