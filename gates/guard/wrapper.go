package guard

import "strings"

// wrapper is a program that runs the command in its own arguments.
type wrapper struct {
	valued     string   // short options that take a value
	long       []string // long options that take a value in the next word
	skip       int      // words before the command
	assigns    bool     // NAME=value words come first
	chdir      string   // options that change the folder
	silent     []string // options with which nothing runs
	text       []string // options whose value is code
	appends    bool     // more words come from elsewhere
	substitute string   // option that names a placeholder
}

var wrappers = map[string]wrapper{
	"sudo": {valued: "ughpCrtTUDR", long: []string{"user", "group", "host", "prompt", "chdir", "chroot"}, assigns: true, chdir: "-D --chdir"},
	"doas": {valued: "uC"},
	"env": {
		valued: "uCS", long: []string{"unset", "chdir", "split-string"}, assigns: true, chdir: "-C --chdir",
		text: []string{"-S", "--split-string"},
	},
	"command": {silent: []string{"-v", "-V"}},
	"builtin": {}, "exec": {valued: "a"}, "nohup": {}, "setsid": {}, "time": {valued: "fo"},
	"nice": {valued: "n", long: []string{"adjustment"}}, "ionice": {valued: "cnp"}, "chronic": {}, "unbuffer": {}, "caffeinate": {valued: "tw"},
	"timeout": {valued: "ks", long: []string{"signal", "kill-after"}, skip: 1},
	"stdbuf":  {valued: "ioe", long: []string{"input", "output", "error"}},
	"flock":   {valued: "wE", long: []string{"timeout", "wait", "conflict-exit-code"}, skip: 1, text: []string{"-c", "--command"}},
	"strace":  {valued: "oepsuEP"}, "ltrace": {valued: "oepsuEP"}, "taskset": {skip: 1}, "chrt": {skip: 1}, "busybox": {},
	"script": {text: []string{"-c", "--command"}}, "noglob": {}, "nocorrect": {},
	"xargs": {
		valued: "IiEnPLldas", appends: true, substitute: "-I",
		long: []string{"max-args", "max-procs", "max-lines", "delimiter", "arg-file", "max-chars", "replace"},
	},
	"direnv": {skip: 2}, "npx": {valued: "pc", long: []string{"package"}}, "bunx": {}, "uvx": {}, "pnpx": {},
}

// wrapped takes the options of a wrapper off and runs the command that is left.
func (c *checker) wrapped(st *state, w wrapper, args []string, stdin *string) (ok, fail *state) {
	rest, placeholder := args[1:], ""
	in := st
	for len(rest) > 0 {
		a := rest[0]
		name, value, glued := splitOption(a)
		switch {
		case mayBeSeveral(a):
			c.unknownCommand(rest)
			return st, st
		case contains(w.silent, a):
			return st, st
		case w.assigns && isAssignment(a):
			in = c.environment(in, a)
			rest = rest[1:]
			continue
		case a == "--":
			rest = rest[1:]
			return c.wrappedRun(st, in, w, args, skipWords(rest, w.skip), placeholder, stdin)
		case len(a) < 2 || a[0] != '-':
			return c.wrappedRun(st, in, w, args, skipWords(rest, w.skip), placeholder, stdin)
		}
		if last := "-" + a[len(a)-1:]; glued && isShort(a) && contains(w.text, last) && !strings.Contains(w.valued, a[1:2]) {
			name, glued = last, false // "-qc TEXT"
			a = last
		}
		takes := !glued && w.takes(a)
		if takes && len(rest) > 1 {
			value, rest = rest[1], rest[1:]
		}
		rest = rest[1:]
		switch {
		case contains(w.text, name):
			return c.wrappedText(st, in, args, value, rest)
		case w.chdir != "" && contains(strings.Fields(w.chdir), name):
			in = in.enter(value)
		case w.substitute == name || w.substitute != "" && strings.HasPrefix(name, "--replace"):
			placeholder = value
			if placeholder == "" {
				placeholder = "{}"
			}
		}
	}
	return st, st
}

// wrappedText runs code given as an option's value; what follows it are its further words.
func (c *checker) wrappedText(st, in *state, args []string, text string, rest []string) (ok, fail *state) {
	in = in.clone()
	in.args, in.argsOK = rest, true
	return same(st.adopt(c.source(in, args, text+` "$@"`)))
}

func (c *checker) wrappedRun(st, in *state, w wrapper, args, cmd []string, placeholder string, stdin *string) (ok, fail *state) {
	if len(cmd) == 0 {
		return st, st
	}
	if w.skip > 0 && len(cmd) > 1 && contains(w.text, cmd[0]) {
		return c.wrappedText(st, in, args, cmd[1], nil)
	}
	switch {
	case placeholder != "":
		cmd = replaced(cmd, placeholder)
	case w.appends:
		cmd = append(append([]string(nil), cmd...), splitHole)
		stdin = nil
	}
	ok, fail = c.run(in, cmd, stdin)
	if in == st {
		return ok, fail
	}
	ok, fail = ok.clone(), fail.clone()
	ok.dirs, fail.dirs, ok.vars, fail.vars = st.dirs, st.dirs, st.vars, st.vars
	return ok, fail
}

func skipWords(rest []string, n int) []string { return rest[min(n, len(rest)):] }

// splitOption takes "--name=value" and "-Xvalue" apart.
func splitOption(a string) (name, value string, glued bool) {
	if strings.HasPrefix(a, "--") {
		return strings.Cut(a, "=")
	}
	if isShort(a) && len(a) > 2 {
		return a[:2], a[2:], true
	}
	return a, "", false
}

// takes reports whether option a, written alone, is followed by its value.
func (w wrapper) takes(a string) bool {
	if long, is := strings.CutPrefix(a, "--"); is {
		return contains(w.long, long)
	}
	return len(a) == 2 && strings.IndexByte(w.valued, a[1]) >= 0 || contains(w.text, a)
}

func isAssignment(a string) bool {
	name, _, ok := strings.Cut(a, "=")
	return ok && name != "" && !strings.ContainsAny(name, "-/ ") && !hasHole(name)
}

func (c *checker) environment(st *state, assignment string) *state {
	name, value, _ := strings.Cut(assignment, "=")
	if hasHole(value) {
		return st.set(name)
	}
	return st.set(name, value)
}
