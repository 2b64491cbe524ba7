package guard

import (
	"path"
	"slices"
	"strings"
)

// run looks at one command with its words expanded.
func (c *checker) run(st *state, args []string, stdin *string) (ok, fail *state) {
	if len(args) == 0 || !c.spend() {
		return st, st
	}
	if c.depth >= maxDepth*4 {
		c.unreadable(args, "commands are nested too deep to follow")
		return st, st
	}
	c.depth++
	defer func() { c.depth-- }()

	name := args[0]
	if hasHole(name) && !namedAfterHole(name) {
		c.unknownCommand(args)
		return st, st
	}
	if o, done := c.declared(st, args, stdin); done {
		return o, o
	}
	base := commandName(name)
	if w, is := wrappers[base]; is {
		return c.wrapped(st, w, args, stdin)
	}
	if base == "cd" || base == "pushd" || base == "popd" {
		return c.changeDir(st, base, args[1:])
	}
	if o, done := c.builtin(st, base, args, stdin); done {
		return o, o
	}
	switch {
	case base == "git" || base == "hub":
		return c.git(st, args)
	case strings.HasPrefix(base, "git-") && base != "git-":
		return c.git(st, append([]string{"git", strings.TrimPrefix(base, "git-")}, args[1:]...))
	case shells[base]:
		return same(c.shell(st, args, stdin))
	case c.forge(st, base, args), c.release(base, args), quotes[base]:
		return st, st
	}
	return c.unknownWrapper(st, args, stdin)
}

// commandName is the program that a command word starts, whatever folder and letter case it is written in.
func commandName(word string) string {
	return strings.TrimSuffix(strings.ToLower(path.Base(word)), ".exe")
}

// namedAfterHole reports whether only the folder of a program is not known.
func namedAfterHole(word string) bool {
	i := lastHoleIndex(word)
	slash := strings.LastIndexByte(word, '/')
	return slash > i && slash+1 < len(word)
}

// unknownCommand is a command whose name is not known. It is let pass when its words make no sense to git or a forge.
func (c *checker) unknownCommand(args []string) {
	const why = "the command cannot be known from the line, and it may be a merge"
	if mayBeSeveral(args[0]) || anyHole(args[1:]) || slices.ContainsFunc(args[1:], mergeWord) {
		c.unreadable(args, why)
	}
}

// mergeWord reports whether a word is a subcommand that could merge or ship.
func mergeWord(w string) bool {
	switch w {
	case "pr", "mr", "api", "release", "publish", "config":
		return true
	}
	_, moves := gitVerb(w)
	return moves
}

// declared runs functions and aliases that the line itself declared. A function may carry the name of a real command; then
// both are looked at.
func (c *checker) declared(st *state, args []string, stdin *string) (*state, bool) {
	name := args[0]
	if text, is := st.aliases[name]; is && c.depth < maxDepth*3 {
		in := st.clone()
		delete(in.aliases, name)
		in.args, in.argsOK = args[1:], true
		return st.adopt(c.source(in, args, text+` "$@"`)), true
	}
	body, is := st.funcs[name]
	if !is {
		return st, false
	}
	in := st.clone()
	delete(in.funcs, name)
	in.args, in.argsOK = args[1:], true
	out := join2(c.stmt(in, body, stdin)).clone()
	out.args, out.argsOK = st.args, st.argsOK
	out.funcs[name] = body
	return out, commandName(name) != "git" && commandName(name) != "gh"
}

// quotes are commands whose words are data. Anything else that has "git merge" among its words is taken for a wrapper.
var quotes = map[string]bool{
	"echo": true, "printf": true, "grep": true, "egrep": true, "fgrep": true, "rg": true, "ag": true, "sed": true, "awk": true,
	"cat": true, "ls": true, "which": true, "whereis": true, "man": true, "tldr": true, "apropos": true, "info": true,
	"type": true, "hash": true, "help": true, "test": true, "[": true, "[[": true, "true": true, "false": true, ":": true,
	"mkdir": true, "rm": true, "cp": true, "mv": true, "touch": true, "jq": true, "head": true, "tail": true, "wc": true,
	"apt": true, "apt-get": true, "brew": true, "dnf": true, "pip": true, "go": true, "notify-send": true, "logger": true,
	"ferrox": true, "ferrox-tools": true, "set": true, "shift": true, "return": true, "exit": true, "history": true,
}

// unknownWrapper takes a command that nobody here knows for a wrapper when one of its words starts a command that
// would merge or ship.
func (c *checker) unknownWrapper(st *state, args []string, stdin *string) (ok, fail *state) {
	for i := 1; i < len(args); i++ {
		if hasHole(args[i]) {
			continue
		}
		switch b := commandName(args[i]); {
		case b == "git" || b == "gh" || b == "glab" || b == "hub":
			o, f := c.run(st, args[i:], stdin)
			return join(st, o), join(st, f)
		case shells[b] && slices.Contains(args[i:], "-c"):
			o, f := c.run(st, args[i:], stdin)
			return join(st, o), join(st, f)
		}
	}
	return st, st
}
