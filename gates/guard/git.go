package guard

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// gitCall is one git command with its global options taken off.
type gitCall struct {
	*checker
	st    *state // in the directory that git runs in
	shown []string
	verb  string
	args  []string
}

// git takes the global options off, follows aliases and hands the rest to the verb's own reading.
func (c *checker) git(st *state, args []string) (ok, fail *state) {
	in := c.gitDirFromEnv(st)
	in, rest := c.gitGlobals(in, args)
	if len(rest) == 0 {
		return st, st
	}
	verb := rest[0]
	g := gitCall{checker: c, st: in, shown: args, verb: verb, args: rest[1:]}
	switch run, moves := gitVerb(verb); {
	case hasHole(verb):
		c.unreadable(args, "the git command cannot be known from the line")
		return st, st
	case moves:
		ok, fail = run(g)
	case gitReaders[verb]:
		return st, st
	default:
		ok, fail = c.gitAlias(g)
	}
	return st.afterGit(in, ok), st.afterGit(in, fail)
}

// afterGit brings what a git command did back to the state that the shell is in.
func (s *state) afterGit(in, after *state) *state {
	if after == in {
		return s
	}
	return s.adopt(after)
}

// gitDirFromEnv follows GIT_DIR and GIT_WORK_TREE, from the line's own assignments.
func (c *checker) gitDirFromEnv(st *state) *state {
	for _, name := range []string{"GIT_DIR", "GIT_WORK_TREE"} {
		vals, set := st.vars[name]
		if !set {
			continue
		}
		if len(vals) != 1 {
			st = st.enter("")
			break
		}
		if vals[0] != "" {
			return st.enter(vals[0])
		}
	}
	for name := range st.vars {
		if strings.HasPrefix(name, "GIT_CONFIG") {
			st = st.clone()
			st.config = true
		}
	}
	return st
}

// gitGlobals reads what stands between "git" and its verb.
func (c *checker) gitGlobals(st *state, args []string) (*state, []string) {
	rest := args[1:]
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
		name, value, glued := strings.Cut(rest[0], "=")
		rest = rest[1:]
		switch name {
		case "-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--exec-path", "--super-prefix", "--attr-source":
			if !glued && name != "--exec-path" && len(rest) > 0 {
				value, rest = rest[0], rest[1:]
			}
		case "--version", "-v", "--help", "-h", "--html-path", "--man-path", "--info-path":
			return st, nil
		}
		switch name {
		case "-C", "--git-dir":
			st = st.enter(value)
		case "-c", "--config-env":
			st = st.configured(value, name == "--config-env")
		}
	}
	return st, rest
}

// configured takes note of a setting that a line makes: aliases, and where pushes go.
func (s *state) configured(setting string, fromEnv bool) *state {
	key, value, _ := strings.Cut(setting, "=")
	if fromEnv {
		value = hole
	}
	return s.setting(key, value)
}

func (s *state) setting(key, value string) *state {
	s = s.clone()
	key = strings.ToLower(key)
	if name, is := strings.CutPrefix(key, "alias."); is {
		s.git[strings.TrimSuffix(name, ".command")] = value
		return s
	}
	for _, p := range []string{"branch.", "remote.", "push.", "url.", "include", "core.worktree"} {
		if strings.HasPrefix(key, p) {
			s.config = true
		}
	}
	if hasHole(key) {
		s.config = true
	}
	return s
}

// gitAlias follows an alias of the line or of the repository. A name that is neither may be one all the same when
// the repository cannot be read.
func (c *checker) gitAlias(g gitCall) (ok, fail *state) {
	if flow, is := gitExtension(g.verb); is {
		return flow(g)
	}
	texts, sure := c.aliasTexts(g)
	if !sure {
		c.unreadable(g.shown, "it may be an alias, and the aliases cannot be read")
	}
	if sure && len(texts) == 1 {
		return c.expandAlias(g, texts[0])
	}
	out := g.st
	for _, t := range texts {
		out = join(out, join2(c.expandAlias(g, t)))
	}
	return out, out
}

func (c *checker) aliasTexts(g gitCall) (texts []string, sure bool) {
	name := strings.ToLower(g.verb)
	if t, is := g.st.git[name]; is {
		return []string{t}, true
	}
	sure = !g.st.config
	for _, d := range g.st.dirs {
		f := c.at(d)
		if !f.Known {
			sure = false
			continue
		}
		if t, is := f.Aliases[name]; is {
			texts = union(texts, []string{t})
		}
	}
	return texts, sure
}

// expandAlias runs an alias: "!text" in a shell, everything else as words for git.
func (c *checker) expandAlias(g gitCall, text string) (ok, fail *state) {
	in := g.st.clone()
	delete(in.git, strings.ToLower(g.verb))
	in.args, in.argsOK = g.args, true
	if shell, is := strings.CutPrefix(text, "!"); is {
		return same(c.source(in, g.shown, shell+` "$@"`))
	}
	if hasHole(text) {
		c.unreadable(g.shown, "what the alias stands for cannot be known")
		return in, in
	}
	// Loops of aliases end at the depth limit, as an unreadable line.
	f, err := parse("git " + text + ` "$@"`)
	if err != nil || len(f.Stmts) != 1 {
		c.unreadable(g.shown, "what the alias stands for cannot be parsed")
		return in, in
	}
	if _, simple := f.Stmts[0].Cmd.(*syntax.CallExpr); !simple {
		c.unreadable(g.shown, "what the alias stands for cannot be parsed")
		return in, in
	}
	return c.chain(in, f.Stmts)
}

// head is one branch that may be checked out where a command runs.
type head struct {
	branch string // "" when detached
	known  bool
	facts  Facts
}

// heads lists what may be checked out in the current directories.
func (c *checker) heads(st *state) []head {
	var out []head
	for _, d := range st.dirs {
		f := c.at(d)
		for _, b := range headsOr(st.heads, d) {
			switch {
			case b == asBefore:
				out = append(out, head{f.Branch, f.Known && d != nowhere, f})
			case d == nowhere || !f.Known:
				out = append(out, head{b, !hasHole(b), c.policy(f)})
			default:
				out = append(out, head{b, !hasHole(b), f})
			}
		}
	}
	return out
}

// policy is what protects branches in a folder that no facts are known of yet, say a worktree that the line makes: the
// rules of every repository that is known.
func (c *checker) policy(f Facts) Facts {
	if f.Known {
		return f
	}
	c.at(c.cwd)
	for _, g := range c.facts {
		if g.Known {
			f.Known = true
			f.Protected = union(f.Protected, g.Protected)
			f.Defaults = union(f.Defaults, g.Defaults)
		}
	}
	return f
}

// protectedRef reports whether any of the repositories that may be meant protects a branch.
func (g gitCall) protectedRef(branch string) bool {
	for _, d := range g.st.dirs {
		if g.policy(g.at(d)).Protects(branch) {
			return true
		}
	}
	return false
}

// onHead adds a finding when the branch checked out is protected, or cannot be known.
func (g gitCall) onHead(kind Kind, what string) {
	for _, h := range g.heads(g.st) {
		switch {
		case !h.known:
			g.add(Finding{Kind: kind, Command: show(g.shown), Why: what + " the branch checked out there, which cannot be read", Unreadable: true})
		case h.branch != "" && h.facts.Protects(h.branch):
			g.add(Finding{Kind: kind, Command: show(g.shown), Ref: h.branch, Why: what + " the protected branch " + h.branch})
		}
	}
}

// onRef adds a finding when a named ref is a protected branch, or could be one.
func (g gitCall) onRef(kind Kind, ref, what string) {
	branch, is := branchOf(ref)
	switch {
	case !is:
	case mayBeSeveral(ref):
		g.add(Finding{Kind: kind, Command: show(g.shown), Why: what + " a ref that cannot be known from the line (an unquoted expansion)", Unreadable: true})
	case !g.protectedRef(branch):
	case hasHole(branch):
		g.add(Finding{Kind: kind, Command: show(g.shown), Why: what + " a ref that cannot be known from the line", Unreadable: true})
	default:
		g.add(Finding{Kind: kind, Command: show(g.shown), Ref: branch, Why: what + " the protected branch " + branch})
	}
}

// done is the state after a verb that changes nothing that later commands depend on.
func (g gitCall) done() (ok, fail *state) { return g.st, g.st }
