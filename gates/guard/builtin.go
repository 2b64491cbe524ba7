package guard

import "strings"

// shells are the programs that run their -c argument, or their input.
var shells = map[string]bool{
	"sh": true, "bash": true, "zsh": true, "dash": true, "ksh": true, "mksh": true, "ash": true, "fish": true, "rbash": true, "su": true,
}

// shell runs sh -c TEXT and a shell fed with text. A script file is not opened.
func (c *checker) shell(st *state, args []string, stdin *string) *state {
	rest := args[1:]
	for len(rest) > 0 {
		a := rest[0]
		switch {
		case a == splitHole && stdin != nil:
			return st.adopt(c.source(st.clone(), args, *stdin))
		case onlyHole(a) && len(rest) > 1 || mayBeSeveral(a):
			c.unreadable(args, "the options of the shell cannot be known from the line")
			return st
		case a == "--command" && len(rest) > 1, a == "-c" && len(rest) > 1:
			return c.shellText(st, args, afterOptions(rest[1:]))
		case strings.HasPrefix(a, "--command="):
			return c.shellText(st, args, append([]string{strings.TrimPrefix(a, "--command=")}, rest[1:]...))
		case isShort(a) && strings.Contains(a, "c") && len(rest) > 1:
			return c.shellText(st, args, afterOptions(rest[1:]))
		case a == "-o" || a == "+o" || a == "-O" || a == "+O" || a == "--rcfile" || a == "--init-file":
			rest = rest[min(2, len(rest)):]
			continue
		case a == "-s" || a == "-" || a == "-i" || a == "-l" || isShort(a) || strings.HasPrefix(a, "--") || strings.HasPrefix(a, "+"):
			rest = rest[1:]
			continue
		case commandName(args[0]) == "su" || a == "/dev/stdin":
			rest = rest[1:]
			continue
		}
		if !contains(args[1:], "-s") {
			return st // a script file
		}
		break
	}
	if stdin == nil {
		return st
	}
	in := st.clone()
	in.argsOK = false
	return st.adopt(c.source(in, args, *stdin))
}

// shellText runs what follows -c: the text, the name, the arguments.
func (c *checker) shellText(st *state, shown, text []string) *state {
	if len(text) == 0 {
		return st
	}
	in := st.clone()
	in.args, in.argsOK = nil, true
	if len(text) > 2 {
		in.args = text[2:]
	}
	if contains(shown, "-") && commandName(shown[0]) == "su" {
		in.dirs = []string{nowhere}
	}
	return st.adopt(c.source(in, shown, text[0]))
}

func isShort(a string) bool { return len(a) > 1 && a[0] == '-' && a[1] != '-' }

// afterOptions skips what may stand between -c and its text: "bash -c -e TEXT".
func afterOptions(rest []string) []string {
	for len(rest) > 1 && (isShort(rest[0]) || rest[0] == "--") {
		rest = rest[1:]
	}
	return rest
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// builtin runs the shell's own commands that change what later words mean, or that run text.
func (c *checker) builtin(st *state, base string, args []string, stdin *string) (*state, bool) {
	rest := args[1:]
	switch base {
	case "eval":
		if len(rest) > 0 && rest[0] == "--" {
			rest = rest[1:]
		}
		return c.source(st, args, strings.Join(rest, " ")), true
	case "trap", "watch", "parallel":
		return c.runsText(st, base, args), true
	case "alias":
		return aliased(st, rest), true
	case "read", "mapfile", "readarray", "unset", "getopts", "let", "wait":
		return forget(st, rest), true
	case "printf":
		if len(rest) > 1 && rest[0] == "-v" {
			return forget(st, rest[1:2]), true
		}
	case "source", ".":
		return c.sourced(st, args, stdin), true
	case "set", "shift":
		st = st.clone()
		st.argsOK = false
		if base == "set" && len(rest) > 0 && rest[0] == "--" {
			st.args, st.argsOK = rest[1:], !anyHole(rest)
		}
		return st, true
	case "find", "fd", "fdfind":
		return c.find(st, args, stdin), true
	}
	return st, false
}

// runsText is for commands that join their words into code, or take code as one word.
func (c *checker) runsText(st *state, base string, args []string) *state {
	rest := args[1:]
	for len(rest) > 0 && isShort(rest[0]) {
		valued := base == "watch" && rest[0] == "-n" || base == "parallel" && (rest[0] == "-j" || rest[0] == "-N" || rest[0] == "-a")
		rest = rest[1:]
		if valued && len(rest) > 0 {
			rest = rest[1:]
		}
	}
	if len(rest) == 0 {
		return st
	}
	switch base {
	case "trap":
		return join(st, c.source(st, args, rest[0]))
	case "parallel":
		text, items, _ := strings.Cut(strings.Join(rest, " "), ":::")
		text = strings.ReplaceAll(text, "{}", hole)
		return st.adopt(c.source(st.clone(), args, text+" "+strings.TrimSpace(items)+" "+splitHole))
	}
	return st.adopt(c.source(st.clone(), args, strings.Join(rest, " ")))
}

// target is the folder of cd: its first word that is no option.
func target(rest []string) string {
	for _, a := range rest {
		if a == "--" || isShort(a) && a != "-" {
			continue
		}
		return a
	}
	return ""
}

// changeDir is cd and its like. It cannot fail where the folder is known to be there.
func (c *checker) changeDir(st *state, base string, rest []string) (ok, fail *state) {
	if base == "popd" {
		return st.enter(""), st
	}
	in := st.enter(target(rest))
	for _, d := range in.dirs {
		if !c.at(d).Known {
			return in, st
		}
	}
	return in, in
}

func aliased(st *state, rest []string) *state {
	st = st.clone()
	for _, a := range rest {
		if name, text, ok := strings.Cut(a, "="); ok {
			st.aliases[name] = text
		}
	}
	return st
}

// forget drops the values of variables that a command sets from elsewhere.
func forget(st *state, names []string) *state {
	st = st.clone()
	for _, n := range names {
		n, _, _ = strings.Cut(n, "=")
		if hasHole(n) {
			clear(st.vars)
			continue
		}
		delete(st.vars, n)
	}
	return st
}

// sourced is a script read into this shell. A file is not opened, and afterwards no variable is known.
func (c *checker) sourced(st *state, args []string, stdin *string) *state {
	if len(args) > 1 && stdin != nil && (args[1] == "/dev/stdin" || args[1] == splitHole) {
		return c.source(st, args, *stdin)
	}
	st = st.clone()
	clear(st.vars)
	return st
}

// find runs the commands after -exec and its like.
func (c *checker) find(st *state, args []string, stdin *string) *state {
	for i, a := range args {
		switch a {
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "--exec", "-X", "--exec-batch":
			end := i + 1
			for end < len(args) && args[end] != ";" && args[end] != "+" {
				end++
			}
			cmd := replaced(args[i+1:end], "{}")
			st = join(st, join2(c.run(st, cmd, stdin)))
		}
	}
	return st
}

// replaced puts an unknown text where a placeholder stands.
func replaced(args []string, placeholder string) []string {
	out := make([]string, 0, len(args))
	for _, a := range args {
		out = append(out, strings.ReplaceAll(a, placeholder, hole))
	}
	return out
}
