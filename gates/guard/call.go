package guard

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call runs a simple command in each of its readings.
func (c *checker) call(st *state, x *syntax.CallExpr, stdin *string) (ok, fail *state) {
	for _, w := range x.Args {
		st = c.nested(st, w)
	}
	if len(x.Args) == 0 {
		return same(c.assigns(st, x.Assigns))
	}
	alts := c.words(st, x.Args)
	inner := c.assigns(st, x.Assigns)
	if text := c.scriptFromProcess(st, x); text != nil {
		stdin = text
	}
	for i, args := range alts {
		o, f := c.run(inner.clone(), args, stdin)
		if len(x.Assigns) > 0 {
			o, f = dropAssigned(o, st, x.Assigns), dropAssigned(f, st, x.Assigns)
		}
		if i == 0 {
			ok, fail = o, f
			continue
		}
		ok, fail = join(ok, o), join(fail, f)
	}
	return ok, fail
}

// dropAssigned takes back the variables that were set for one command only.
func dropAssigned(after, before *state, as []*syntax.Assign) *state {
	o := after.clone()
	for _, a := range as {
		if a.Name == nil {
			continue
		}
		if v, had := before.vars[a.Name.Value]; had {
			o.vars[a.Name.Value] = v
		} else {
			delete(o.vars, a.Name.Value)
		}
	}
	return o
}

func (c *checker) assigns(st *state, as []*syntax.Assign) *state {
	for _, a := range as {
		if a.Array != nil {
			st = c.nested(st, a.Array)
		}
		st = c.nested(st, a.Value)
		if a.Name == nil {
			continue
		}
		st = st.set(a.Name.Value, c.assigned(st, a)...)
	}
	return st
}

// assigned gives the values that an assignment may leave; none when they cannot be known.
func (c *checker) assigned(st *state, a *syntax.Assign) []string {
	switch {
	case a.Naked:
		return st.vars[a.Name.Value]
	case a.Array != nil || a.Index != nil:
		return nil
	}
	vals := c.text(st, a.Value)
	for _, v := range vals {
		if hasHole(v) || len(v) > maxValue {
			return nil
		}
	}
	if !a.Append {
		return vals
	}
	var out []string
	for _, old := range st.vars[a.Name.Value] {
		for _, v := range vals {
			out = append(out, old+v)
		}
	}
	return out
}

// substituted gives what $(…) becomes. The few commands that ask git for the branch are answered, and so are plain echo
// and which.
func (c *checker) substituted(st *state, x *syntax.CmdSubst, quoted bool) []string {
	// Each level reads its inside more than once; the budget keeps deep nesting from multiplying.
	if len(x.Stmts) != 1 || !c.spend() {
		return []string{unknown(quoted)}
	}
	call, ok := x.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || len(call.Assigns) > 0 {
		return []string{unknown(quoted)}
	}
	alts := c.words(st, call.Args)
	if len(alts) != 1 {
		return []string{unknown(quoted)}
	}
	switch strings.Join(alts[0], " ") {
	case "git branch --show-current", "git rev-parse --abbrev-ref HEAD", "git symbolic-ref --short HEAD":
		return c.headNames(st, quoted)
	case "pwd", "git rev-parse --show-toplevel":
		// The top of the repository is as good as any folder in it: its facts are the same.
		if !contains(st.dirs, nowhere) {
			return slices.Clone(st.dirs)
		}
	}
	if args := alts[0]; len(args) == 2 && args[0] == "which" || len(args) == 3 && args[0] == "command" && args[1] == "-v" {
		return []string{args[len(args)-1]}
	}
	if t := c.output(st, x.Stmts[0]); t != nil && !hasHole(*t) && !strings.ContainsAny(*t, "*?[\\") && len(x.Stmts[0].Redirs) == 0 {
		v := strings.TrimRight(strings.TrimSpace(*t), "\n")
		if !quoted {
			v = strings.NewReplacer(" ", fieldGap, "\n", fieldGap, "\t", fieldGap).Replace(v)
		}
		return []string{v}
	}
	return []string{unknown(quoted)}
}

func (c *checker) headNames(st *state, quoted bool) []string {
	var out []string
	for _, h := range c.heads(st) {
		if !h.known || h.branch == "" {
			return []string{unknown(quoted)}
		}
		out = union(out, []string{h.branch})
	}
	return out
}
