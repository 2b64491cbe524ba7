package guard

import "strings"

// gitVerb returns the reading of a git command that can move a branch, or change what a later one would move.
func gitVerb(name string) (func(gitCall) (ok, fail *state), bool) {
	f, is := map[string]func(gitCall) (ok, fail *state){
		"merge": gitCall.merge, "pull": gitCall.pull, "rebase": gitCall.rebase, "cherry-pick": gitCall.cherryPick,
		"am": gitCall.mail, "reset": gitCall.reset, "update-ref": gitCall.updateRef, "symbolic-ref": gitCall.symbolicRef,
		"fetch": gitCall.fetch, "branch": gitCall.branch, "checkout": gitCall.checkout, "switch": gitCall.switchBranch,
		"worktree": gitCall.worktree, "push": gitCall.push, "send-pack": gitCall.push, "tag": gitCall.tag,
		"config": gitCall.config, "remote": gitCall.remote, "submodule": gitCall.submodule, "bisect": gitCall.bisect,
		"fast-import": gitCall.rewrite, "filter-branch": gitCall.rewrite, "subtree": gitCall.subtree, "svn": gitCall.svn,
		"stash": gitCall.stash, "for-each-repo": gitCall.forEachRepo,
	}[name]
	return f, is
}

// gitExtension returns the reading of a command beside git that merges or ships.
func gitExtension(name string) (func(gitCall) (ok, fail *state), bool) {
	switch name {
	case "filter-repo":
		return gitCall.rewrite, true
	case "flow", "town", "machete", "sync", "land", "ship", "spr", "pr":
		return gitCall.extension, true
	}
	return nil, false
}

// gitReaders are the commands of git that move no branch. Git never looks for an alias of such a name.
var gitReaders = setOf(`add annotate apply archive blame bugreport bundle cat-file check-attr check-ignore check-mailmap
check-ref-format checkout-index cherry citool clean clone column commit commit-graph commit-tree count-objects credential
credential-cache credential-store describe diagnose diff diff-files diff-index diff-tree difftool fast-export fetch-pack
fmt-merge-msg for-each-ref format-patch fsck fsmonitor--daemon gc get-tar-commit-id grep gui hash-object help hook
http-backend imap-send index-pack init init-db instaweb interpret-trailers log ls-files ls-remote ls-tree mailinfo
mailsplit maintenance merge-base merge-file merge-index merge-one-file merge-tree mergetool mktag mktree
multi-pack-index mv name-rev notes pack-objects pack-redundant pack-refs patch-id prune prune-packed
range-diff read-tree reflog repack replace replay request-pull rerere restore rev-list rev-parse revert rm send-email
shortlog show show-branch show-index show-ref sh-setup sparse-checkout stage status stripspace unpack-file unpack-objects
update-index update-server-info upload-archive upload-pack var verify-commit verify-pack verify-tag version whatchanged
write-tree lfs`)

func setOf(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

func (g gitCall) merge() (ok, fail *state) {
	o := parseOptions(g.args, "m", "F", "s", "X", "strategy", "strategy-option", "message", "file", "into-name", "cleanup")
	if !o.exact("--abort", "--quit", "-h", "--help") {
		g.onHead(KindMerge, "merges into")
	}
	return g.done()
}

func (g gitCall) pull() (ok, fail *state) {
	o := parseOptions(g.args, "s", "X", "o", "j", "strategy", "strategy-option", "upload-pack", "depth", "deepen", "jobs", "refmap")
	if o.exact("-h", "--help") {
		return g.done()
	}
	g.onHead(KindMerge, "merges into")
	g.fetched(o)
	return g.done()
}

func (g gitCall) rebase() (ok, fail *state) {
	o := parseOptions(g.args, "x", "s", "X", "C", "onto", "exec", "strategy", "strategy-option", "whitespace", "empty")
	for _, x := range o.given {
		if x.name == "-x" || x.name == "--exec" {
			g.st = g.st.adopt(g.source(g.st.clone(), g.shown, x.value))
		}
	}
	if o.exact("--abort", "--continue", "--skip", "--quit", "--edit-todo", "--show-current-patch", "-h", "--help") {
		return g.done()
	}
	named := 2
	if o.could("--root") {
		named = 1
	}
	if len(o.pos) < named || anySeveral(o.pos) {
		g.onHead(KindMerge, "rebases")
		return g.done()
	}
	g.onRef(KindMerge, o.pos[named-1], "rebases")
	next := g.st.switchTo(o.pos[named-1])
	return next, join(g.st, next)
}

func (g gitCall) cherryPick() (ok, fail *state) {
	o := parseOptions(g.args, "m", "X", "mainline", "strategy", "strategy-option", "cleanup")
	if !o.exact("--abort", "--quit", "-h", "--help") {
		g.onHead(KindMerge, "picks commits onto")
	}
	return g.done()
}

func (g gitCall) mail() (ok, fail *state) {
	o := parseOptions(g.args, "patch-format", "directory", "exclude", "include", "whitespace", "resolvemsg")
	if !o.exact("--abort", "--quit", "--show-current-patch", "-h", "--help") {
		g.onHead(KindMerge, "applies commits to")
	}
	return g.done()
}

// reset moves the branch unless it names no commit, HEAD, or paths.
func (g gitCall) reset() (ok, fail *state) {
	o := parseOptions(g.args, "pathspec-from-file")
	commits := o.pos
	if o.dash >= 0 {
		commits = o.pos[:o.dash]
	}
	paths := o.dash >= 0 && o.dash < len(o.pos)
	moves := len(commits) == 1 && commits[0] != "HEAD" && commits[0] != "@" && !paths || anySeveral(commits)
	if moves && !o.exact("-p", "--patch", "-h", "--help") {
		g.onHead(KindMerge, "moves")
	}
	return g.done()
}

func (g gitCall) updateRef() (ok, fail *state) {
	o := parseOptions(g.args, "m")
	switch {
	case o.could("--stdin"):
		g.unreadable(g.shown, "the refs that it moves come from its input")
	case len(o.pos) == 0:
	case o.pos[0] == "HEAD":
		g.onHead(KindMerge, "moves")
	case strings.HasPrefix(o.pos[0], "refs/heads/") || hasHole(o.pos[0]):
		g.onRef(KindMerge, o.pos[0], "moves")
	}
	return g.done()
}

func (g gitCall) symbolicRef() (ok, fail *state) {
	o := parseOptions(g.args, "m")
	if len(o.pos) == 0 || len(o.pos) == 1 && !o.exact("-d", "--delete") {
		return g.done()
	}
	if o.pos[0] == "HEAD" && len(o.pos) > 1 {
		b, _ := branchOf(o.pos[1])
		next := g.st.switchTo(b)
		return next, join(g.st, next)
	}
	g.onRef(KindMerge, o.pos[0], "redirects")
	return g.done()
}

func (g gitCall) fetch() (ok, fail *state) {
	o := parseOptions(g.args, "o", "j", "upload-pack", "depth", "deepen", "shallow-since", "shallow-exclude", "jobs",
		"refmap", "negotiation-tip", "server-option", "filter", "recurse-submodules-default")
	if !o.exact("--dry-run", "-h", "--help") {
		g.fetched(o)
	}
	return g.done()
}

// fetched looks at where the refspecs of fetch and pull put what they bring.
func (g gitCall) fetched(o options) {
	if o.could("--stdin") {
		g.unreadable(g.shown, "the refs that it moves come from its input")
	}
	for i, spec := range o.pos {
		if i == 0 && !mayBeSeveral(spec) || strings.HasPrefix(spec, "^") {
			continue
		}
		_, dst, has := strings.Cut(spec, ":")
		switch {
		case mayBeSeveral(spec):
			g.unreadable(g.shown, "the refs that it moves cannot be known from the line (an unquoted expansion)")
		case has && dst != "":
			g.onRef(KindMerge, strings.ReplaceAll(dst, "*", hole), "moves")
		case hasHole(spec):
			g.unreadable(g.shown, "the refs that it moves cannot be known from the line")
		}
	}
}

// rewrite is for commands that write refs as their input says.
func (g gitCall) rewrite() (ok, fail *state) {
	if g.verb == "fast-import" {
		g.unreadable(g.shown, "the refs that it moves come from its input")
		return g.done()
	}
	g.onHead(KindMerge, "rewrites")
	for _, a := range g.args {
		if a == "--all" || a == "--branches" {
			g.add(Finding{Kind: KindMerge, Command: show(g.shown), Why: "rewrites every branch"})
		}
	}
	return g.done()
}
