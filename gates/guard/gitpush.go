package guard

import (
	"slices"
	"strings"
)

// push looks at where git push puts what it sends, written out or configured.
func (g gitCall) push() (ok, fail *state) {
	o := parseOptions(g.args, "o", "push-option", "receive-pack", "exec", "repo", "recurse-submodules-default")
	if o.exact("--dry-run", "-n", "-h", "--help") && g.verb == "push" || o.exact("--dry-run") {
		return g.done()
	}
	switch {
	case anySeveral(g.args):
		g.unreadable(g.shown, "what it pushes cannot be known from the line (an unquoted expansion)")
		return g.done()
	case o.could("--mirror", "--all", "--branches"):
		g.ship(KindPush, "pushes every branch")
	case o.could("--stdin"):
		g.unreadable(g.shown, "the refs that it pushes come from its input")
	}
	if o.could("--tags", "--follow-tags") {
		g.ship(KindTag, "pushes tags")
	}
	remote, specs := "", []string(nil)
	if len(o.pos) > 0 {
		remote, specs = o.pos[0], o.pos[1:]
	}
	if r, is := o.value("--repo"); is && remote == "" {
		remote = r
	}
	g.pushConfig(remote, len(specs) == 0)
	deletes := o.exact("-d") || o.could("--delete")
	for i := 0; i < len(specs); i++ {
		if specs[i] == "tag" && i+1 < len(specs) {
			i++
			g.shipTag(specs[i])
			continue
		}
		g.pushSpec(remote, specs[i], deletes)
	}
	if len(specs) == 0 && !o.could("--tags", "--mirror", "--all", "--branches") {
		g.pushDefault(remote)
	}
	return g.done()
}

func (g gitCall) ship(kind Kind, why string) {
	g.add(Finding{Kind: kind, Command: show(g.shown), Why: why})
}

func (g gitCall) shipTag(name string) {
	g.add(Finding{Kind: KindTag, Command: show(g.shown), Ref: strings.TrimPrefix(name, "refs/tags/"), Why: "publishes or removes the tag " + show([]string{name})})
}

// pushConfig looks at settings that add to what is written out.
func (g gitCall) pushConfig(remote string, bare bool) {
	for _, d := range g.st.dirs {
		f := g.at(d)
		if f.FollowTags {
			g.ship(KindTag, "pushes tags, as push.followTags says")
		}
		if slices.Contains(f.Mirror, remote) || remote == "" && slices.Contains(f.Mirror, f.PushRemote) {
			g.ship(KindPush, "pushes every ref, as the remote is a mirror")
		}
	}
	if g.st.config && bare {
		g.unreadable(g.shown, "the line changes settings that decide where the push goes")
	}
}

// pushSpec looks at one refspec.
func (g gitCall) pushSpec(remote, spec string, deletes bool) {
	spec = strings.TrimPrefix(spec, "+")
	if strings.HasPrefix(spec, "^") {
		return
	}
	if spec == ":" {
		g.ship(KindPush, "pushes every branch that both sides have")
		return
	}
	src, dst, has := strings.Cut(spec, ":")
	if deletes || !has {
		dst = src
	}
	if !has && hasHole(dst) && !deletes && !strings.Contains(dst, "/") {
		g.unreadable(g.shown, "the ref that it pushes cannot be known from the line")
		return
	}
	if !has && !deletes {
		g.pushSame(remote, src)
		return
	}
	g.pushTo(dst, src)
}

// pushSame is a refspec without a colon: the same name there, unless settings map it elsewhere.
func (g gitCall) pushSame(remote, src string) {
	if g.st.config {
		g.unreadable(g.shown, "the line changes settings that decide where the push goes")
	}
	for _, name := range g.resolveHead(src) {
		if mapped := g.mapped(remote, name); len(mapped) > 0 {
			for _, m := range mapped {
				g.pushTo(m, name)
			}
			continue
		}
		g.pushTo(name, name)
	}
}

// resolveHead gives the branch names that "HEAD" may stand for; any other name stands for itself.
func (g gitCall) resolveHead(name string) []string {
	if name != "HEAD" && name != "@" {
		return []string{name}
	}
	var out []string
	for _, h := range g.heads(g.st) {
		switch {
		case !h.known:
			out = union(out, []string{hole})
		case h.branch != "":
			out = union(out, []string{h.branch})
		}
	}
	return out
}

// mapped gives the names that remote.<name>.push, or push.default=upstream, give to a branch.
func (g gitCall) mapped(remote, branch string) []string {
	var out []string
	branch = strings.TrimPrefix(strings.TrimPrefix(branch, "refs/"), "heads/")
	full := "refs/heads/" + branch
	for _, d := range g.st.dirs {
		f := g.at(d)
		for _, spec := range f.PushRefspecs[remote] {
			src, dst, has := strings.Cut(strings.TrimPrefix(spec, "+"), ":")
			pre, post, glob := strings.Cut(src, "*")
			switch {
			case !has || dst == "":
			case src == full || src == branch || src == "HEAD" && branch == f.Branch:
				out = append(out, dst)
			case glob && strings.HasPrefix(full, pre) && strings.HasSuffix(full, post) && len(full) >= len(pre)+len(post):
				out = append(out, strings.Replace(dst, "*", full[len(pre):len(full)-len(post)], 1))
			}
		}
		if up := f.Upstream[branch]; up != "" && (f.PushDefault == "upstream" || f.PushDefault == "tracking") {
			out = append(out, up)
		}
	}
	return out
}

// pushTo looks at the name that a push gives on the other side.
func (g gitCall) pushTo(dst, src string) {
	dst = strings.ReplaceAll(dst, "*", hole)
	if dst == "HEAD" || dst == "@" {
		for _, name := range g.resolveHead(dst) {
			g.onRef(KindPush, name, "pushes to")
		}
		return
	}
	if strings.HasPrefix(dst, "refs/tags/") || strings.HasPrefix(dst, "tags/") || g.isTag(dst) || src != dst && strings.HasPrefix(src, "refs/tags/") {
		g.shipTag(dst)
		return
	}
	g.onRef(KindPush, dst, "pushes to")
}

// isTag reports whether a bare name means a tag: one that is there, one that the line made, or a name that is no branch and
// looks like a version.
func (g gitCall) isTag(name string) bool {
	if strings.HasPrefix(name, "refs/") {
		return false
	}
	if g.st.tags[name] {
		return true
	}
	for _, d := range g.st.dirs {
		f := g.at(d)
		if slices.Contains(f.Tags, name) || looksLikeVersion(name) && !slices.Contains(f.Branches, name) {
			return true
		}
	}
	return false
}

// looksLikeVersion reports whether a name is "v1", "1.2", "v1.2.3-rc1".
func looksLikeVersion(name string) bool {
	v := strings.TrimPrefix(name, "v")
	if v == "" || v[0] < '0' || v[0] > '9' || strings.Contains(v, "/") {
		return false
	}
	return strings.Contains(v, ".") || v != name && strings.Trim(v, "0123456789") == ""
}

// pushDefault is a push that names no ref: settings decide.
func (g gitCall) pushDefault(remote string) {
	for _, h := range g.heads(g.st) {
		f := h.facts
		if !h.known || !f.Known {
			g.unreadable(g.shown, "the branch that it pushes cannot be read")
			continue
		}
		name := remote
		if name == "" {
			name = f.PushRemote
		}
		if specs := f.PushRefspecs[name]; len(specs) > 0 {
			for _, s := range specs {
				g.pushSpec("", s, false)
			}
			continue
		}
		switch f.PushDefault {
		case "matching":
			g.ship(KindPush, "pushes every branch that both sides have, as push.default says")
		case "nothing":
		case "upstream", "tracking":
			if up := f.Upstream[h.branch]; up != "" {
				g.pushTo(up, h.branch)
			}
		default:
			if h.branch != "" {
				g.onRef(KindPush, h.branch, "pushes to")
			}
		}
	}
}
