package guard

import (
	"slices"
	"strings"
)

// branch looks at git branch. Making, moving, renaming and deleting a protected branch all count.
func (g gitCall) branch() (ok, fail *state) {
	o := parseOptions(g.args, "u", "set-upstream-to", "contains", "no-contains", "points-at", "sort", "format")
	lists := o.exact("-l", "--list", "-a", "--all", "-r", "--remotes", "--contains", "--no-contains", "--merged", "--no-merged",
		"--points-at", "--show-current", "--edit-description", "-u", "--set-upstream-to", "--unset-upstream", "-h", "--help")
	if lists || len(o.pos) == 0 {
		return g.done()
	}
	renames := o.exact("-m", "-M") || o.could("--move")
	copies := o.exact("-c", "-C") || o.could("--copy")
	names := o.pos[:1]
	switch {
	case o.exact("-d", "-D") || o.could("--delete"):
		names = o.pos
	case renames || copies:
		names = o.pos[len(o.pos)-1:]
		if renames && len(o.pos) == 1 {
			g.onHead(KindMerge, "renames")
		}
		if renames && len(o.pos) > 1 {
			names = o.pos
		}
	}
	for _, n := range names {
		g.onRef(KindMerge, "refs/heads/"+n, "moves")
	}
	if renames {
		next := g.st.switchTo(o.pos[len(o.pos)-1])
		return join(g.st, next), g.st
	}
	return g.done()
}

// checkout looks at git checkout: it may reset a branch, and it says what is checked out afterwards.
func (g gitCall) checkout() (ok, fail *state) {
	o := parseOptions(g.args, "b", "B", "orphan", "conflict", "pathspec-from-file")
	if name, is := o.value("-b", "-B", "--orphan"); is {
		return g.create(name)
	}
	// "checkout TREE -- PATH" and "checkout TREE PATH" leave HEAD alone.
	if len(o.pos) == 0 && o.dash < 0 && o.exact("-d", "--detach") {
		return g.st.switchTo(""), g.st
	}
	if o.dash >= 0 || len(o.pos) == 0 || len(o.pos) > 1 || o.exact("-p", "--patch") {
		if anySeveral(o.pos) {
			next := g.st.switchTo(hole)
			return join(g.st, next), g.st
		}
		return g.done()
	}
	return g.enterBranch(o.pos[0], o.exact("-d", "--detach"), false)
}

func (g gitCall) switchBranch() (ok, fail *state) {
	o := parseOptions(g.args, "c", "C", "create", "force-create", "orphan", "conflict")
	if name, is := o.value("-c", "-C", "--create", "--force-create", "--orphan"); is {
		return g.create(name)
	}
	detach := o.exact("-d", "--detach")
	if len(o.pos) == 0 && !detach {
		return g.done()
	}
	return g.enterBranch(append(o.pos, "HEAD")[0], detach, true)
}

// create is a new branch, or one that is reset, and then checked out.
func (g gitCall) create(name string) (ok, fail *state) {
	g.onRef(KindMerge, "refs/heads/"+name, "moves")
	return g.st.switchTo(name), g.st
}

// enterBranch says what is checked out after a switch. A name that is no branch may be a path or a commit; then HEAD may
// be as before, too.
func (g gitCall) enterBranch(name string, detach, surely bool) (ok, fail *state) {
	switch {
	case detach:
		return g.st.switchTo(""), g.st
	case name == "-" || hasHole(name) || strings.HasPrefix(name, "@{"):
		return g.st.switchTo(hole), g.st
	case surely || g.isBranch(name):
		return g.st.switchTo(name), g.st
	}
	return join(g.st, g.st.switchTo(name)), g.st
}

// isBranch reports whether name is a branch wherever the command may run.
func (g gitCall) isBranch(name string) bool {
	for _, d := range g.st.dirs {
		if !slices.Contains(g.at(d).Branches, name) {
			return false
		}
	}
	return len(g.st.dirs) > 0
}

// worktree looks at git worktree add, which may reset a branch, and remembers what the new folder has checked out.
func (g gitCall) worktree() (ok, fail *state) {
	if len(g.args) == 0 || g.args[0] != "add" {
		return g.done()
	}
	o := parseOptions(g.args[1:], "b", "B", "reason")
	name, made := o.value("-b", "-B")
	if made {
		g.onRef(KindMerge, "refs/heads/"+name, "moves")
	}
	if len(o.pos) == 0 {
		return g.done()
	}
	if !made && len(o.pos) > 1 {
		name = o.pos[1]
	}
	if name == "" && !o.exact("-d", "--detach") {
		name = lastElement(o.pos[0])
	}
	next := g.st.clone()
	for _, d := range g.st.dirs {
		if w := within(d, o.pos[0]); w != nowhere {
			next.heads[w] = []string{name}
		}
	}
	return next, g.st
}

func lastElement(p string) string {
	p = strings.TrimRight(p, "/")
	return p[strings.LastIndexByte(p, '/')+1:]
}

// tag publishes nothing by itself; a later push of the name does.
func (g gitCall) tag() (ok, fail *state) {
	o := parseOptions(g.args, "m", "F", "u", "n", "message", "file", "local-user", "cleanup", "sort", "format", "contains", "points-at")
	if len(o.pos) == 0 || o.exact("-l", "--list", "-d", "--delete", "-v", "--verify") {
		return g.done()
	}
	next := g.st.clone()
	next.tags[o.pos[0]] = true
	return next, next
}

// config takes note of settings that a later command of the line depends on.
func (g gitCall) config() (ok, fail *state) {
	o := parseOptions(g.args, "f", "file", "blob", "type", "default", "comment", "value")
	pos := o.pos
	if len(pos) > 0 && contains([]string{"set", "unset", "get", "list", "edit", "rename-section", "remove-section"}, pos[0]) {
		pos = pos[1:]
	}
	if len(pos) == 0 {
		return g.done()
	}
	value := hole
	if len(pos) > 1 {
		value = pos[1]
	}
	if len(pos) == 1 && !o.could("--unset", "--unset-all", "--add", "--replace-all") {
		return g.done()
	}
	next := g.st.setting(pos[0], value)
	return next, next
}

// remote can change where a push goes.
func (g gitCall) remote() (ok, fail *state) {
	if len(g.args) == 0 || !contains([]string{"add", "set-url", "rename", "set-branches"}, g.args[0]) {
		return g.done()
	}
	if contains(g.args, "--mirror=push") || contains(g.args, "--mirror") {
		next := g.st.clone()
		next.config = true
		return next, next
	}
	return g.done()
}

func (g gitCall) submodule() (ok, fail *state) {
	for i, a := range g.args {
		if a == "foreach" {
			in := g.st.enter("")
			rest := g.args[i+1:]
			for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
				rest = rest[1:]
			}
			return same(g.st.adopt(g.source(in, g.shown, strings.Join(rest, " "))))
		}
	}
	return g.done()
}

func (g gitCall) bisect() (ok, fail *state) {
	if len(g.args) > 1 && g.args[0] == "run" {
		return g.run(g.st, g.args[1:], nil)
	}
	return g.done()
}

func (g gitCall) forEachRepo() (ok, fail *state) {
	o := parseOptions(g.args, "config")
	return same(g.st.adopt(join2(g.git(g.st.enter(""), append([]string{"git"}, o.pos...)))))
}

// stash branch makes and enters a branch.
func (g gitCall) stash() (ok, fail *state) {
	if len(g.args) > 1 && g.args[0] == "branch" {
		return g.create(g.args[1])
	}
	return g.done()
}

func (g gitCall) subtree() (ok, fail *state) {
	o := parseOptions(g.args, "P", "prefix", "m", "message", "b", "branch", "onto", "annotate")
	if len(o.pos) == 0 {
		return g.done()
	}
	switch o.pos[0] {
	case "merge", "pull", "add":
		g.onHead(KindMerge, "merges into")
	case "push":
		if len(o.pos) > 2 {
			_, dst, has := strings.Cut(o.pos[2], ":")
			if !has {
				dst = o.pos[2]
			}
			g.onRef(KindPush, dst, "pushes to")
		}
	}
	return g.done()
}

func (g gitCall) svn() (ok, fail *state) {
	if contains(g.args, "dcommit") || contains(g.args, "commit-diff") {
		g.add(Finding{Kind: KindPush, Command: show(g.shown), Why: "commits to the Subversion repository"})
	}
	return g.done()
}

// extension is for commands that people add to git which merge or ship by their own rules.
func (g gitCall) extension() (ok, fail *state) {
	words := strings.Join(g.args, " ")
	for _, w := range []string{"finish", "ship", "sync", "merge", "land", "publish", "advance", "push"} {
		if strings.Contains(words, w) || g.verb == w || anyHole(g.args) {
			g.add(Finding{Kind: KindMerge, Command: show(g.shown), Why: "merges or pushes by rules of its own"})
			break
		}
	}
	return g.done()
}
