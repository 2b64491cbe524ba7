package guard

import "mvdan.cc/sh/v3/syntax"

// list runs statements one after another; any of them may have failed.
func (c *checker) list(st *state, stmts []*syntax.Stmt) *state {
	ok, fail := c.chain(st, stmts)
	return join(ok, fail)
}

// chain is list with the two outcomes of the last statement kept apart.
func (c *checker) chain(st *state, stmts []*syntax.Stmt) (ok, fail *state) {
	ok, fail = st, st
	for _, s := range stmts {
		ok, fail = c.stmt(join(ok, fail), s, nil)
	}
	return ok, fail
}

// stmt runs one statement with stdin as its input (nil: not known) and returns what holds after success and failure.
func (c *checker) stmt(st *state, s *syntax.Stmt, stdin *string) (ok, fail *state) {
	if s == nil || !c.spend() {
		return st, st
	}
	if c.depth >= maxDepth*4 {
		c.unreadable(nil, "commands are nested too deep to follow")
		return st, st
	}
	c.depth++
	defer func() { c.depth-- }()
	for _, r := range s.Redirs {
		st = c.nested(st, r.Word)
		st = c.nested(st, r.Hdoc)
		if in := c.input(st, r); in != nil {
			stdin = in
		}
	}
	ok, fail = c.command(st, s.Cmd, stdin)
	if s.Negated {
		return fail, ok
	}
	if s.Background {
		both := join(st, st.adopt(join(ok, fail)))
		return both, both
	}
	return ok, fail
}

// input is the text that a redirection feeds to a command; nil when it feeds none that is known.
func (c *checker) input(st *state, r *syntax.Redirect) *string {
	w := r.Hdoc
	if r.Op == syntax.WordHdoc {
		w = r.Word
	}
	if w == nil {
		return nil
	}
	if t := c.text(st, w); len(t) == 1 {
		return &t[0]
	}
	h := hole
	return &h
}

func (c *checker) command(st *state, cmd syntax.Command, stdin *string) (ok, fail *state) {
	switch x := cmd.(type) {
	case nil:
		return st, st
	case *syntax.CallExpr:
		return c.call(st, x, stdin)
	case *syntax.BinaryCmd:
		return c.binary(st, x, stdin)
	case *syntax.Block:
		return c.fed(st, x.Stmts, stdin)
	case *syntax.Subshell:
		in := join2(c.fed(st.clone(), x.Stmts, stdin))
		out := st.adopt(in)
		return out, out
	case *syntax.IfClause:
		return same(c.ifClause(st, x))
	case *syntax.WhileClause:
		return same(c.loop(c.list(st, x.Cond), append(append([]*syntax.Stmt(nil), x.Do...), x.Cond...)))
	case *syntax.ForClause:
		return same(c.forClause(st, x))
	case *syntax.CaseClause:
		return same(c.caseClause(st, x))
	case *syntax.FuncDecl:
		return same(c.funcDecl(st, x))
	case *syntax.DeclClause:
		return same(c.assigns(st, x.Args))
	case *syntax.TimeClause:
		return c.stmt(st, x.Stmt, stdin)
	case *syntax.CoprocClause:
		return same(join(st, join2(c.stmt(st, x.Stmt, nil))))
	}
	return same(c.nested(st, cmd))
}

func same(st *state) (ok, fail *state) { return st, st }

func join2(ok, fail *state) *state { return join(ok, fail) }

// fed runs statements that share one input: the first reads it, as far as we know any of them may.
func (c *checker) fed(st *state, stmts []*syntax.Stmt, stdin *string) (ok, fail *state) {
	ok, fail = st, st
	for _, s := range stmts {
		ok, fail = c.stmt(join(ok, fail), s, stdin)
	}
	return ok, fail
}

func (c *checker) binary(st *state, x *syntax.BinaryCmd, stdin *string) (ok, fail *state) {
	switch x.Op {
	case syntax.AndStmt:
		xo, xf := c.stmt(st, x.X, stdin)
		yo, yf := c.stmt(xo, x.Y, stdin)
		return yo, join(xf, yf)
	case syntax.OrStmt:
		xo, xf := c.stmt(st, x.X, stdin)
		yo, yf := c.stmt(xf, x.Y, stdin)
		return join(xo, yo), yf
	}
	left := join2(c.stmt(st.clone(), x.X, stdin))
	right := join2(c.stmt(st.adopt(join(st, left)), x.Y, c.output(st, x.X)))
	out := join(st.adopt(right), right)
	return out, out
}

func (c *checker) ifClause(st *state, x *syntax.IfClause) *state {
	if len(x.Cond) == 0 {
		return c.list(st, x.Then)
	}
	yes, no := c.chain(st, x.Cond)
	out := c.list(yes, x.Then)
	if x.Else == nil {
		return join(out, no)
	}
	return join(out, c.ifClause(no, x.Else))
}

// loop runs a body often enough to see what a later round does with what an earlier one left.
func (c *checker) loop(st *state, body []*syntax.Stmt) *state {
	for range 2 {
		st = join(st, c.list(st, body))
	}
	return st
}

func (c *checker) forClause(st *state, x *syntax.ForClause) *state {
	it, ok := x.Loop.(*syntax.WordIter)
	if !ok {
		return c.loop(c.nested(st, x.Loop), x.Do)
	}
	for _, w := range it.Items {
		st = c.nested(st, w)
	}
	vals := []string{}
	for _, alt := range c.words(st, it.Items) {
		vals = union(vals, alt)
	}
	if !it.InPos.IsValid() || anySeveral(vals) || len(vals) == 0 {
		vals = nil
	}
	return c.loop(st.set(it.Name.Value, vals...), x.Do)
}

func (c *checker) caseClause(st *state, x *syntax.CaseClause) *state {
	st = c.nested(st, x.Word)
	out := st
	for _, item := range x.Items {
		for _, p := range item.Patterns {
			st = c.nested(st, p)
		}
		// A body may fall through into the next one.
		out = join(out, c.list(join(st, out), item.Stmts))
	}
	return out
}

// funcDecl keeps the body for its calls, and looks for what it does whoever calls it.
func (c *checker) funcDecl(st *state, x *syntax.FuncDecl) *state {
	names := x.Names
	if x.Name != nil {
		names = append(names, x.Name)
	}
	st = st.clone()
	for _, n := range names {
		st.funcs[n.Value] = x.Body
	}
	body := st.clone()
	body.argsOK = false
	was := c.lenient
	c.lenient = len(names) > 0
	c.stmt(body, x.Body, nil)
	c.lenient = was
	return st
}

// nested runs the command and process substitutions inside a node that is no statement itself.
func (c *checker) nested(st *state, n syntax.Node) *state {
	if n == nil || isNilWord(n) {
		return st
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.CmdSubst:
			st = st.adopt(c.list(st.clone(), x.Stmts))
			return false
		case *syntax.ProcSubst:
			st = join(st, st.adopt(c.list(st.clone(), x.Stmts)))
			return false
		case *syntax.Stmt:
			st = join(st, c.list(st, []*syntax.Stmt{x}))
			return false
		}
		return true
	})
	return st
}

func isNilWord(n syntax.Node) bool {
	w, ok := n.(*syntax.Word)
	return ok && w == nil
}
