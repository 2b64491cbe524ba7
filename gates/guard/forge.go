package guard

import (
	"strings"
)

// forgeCall is one command of a forge's own program: gh, glab, hub, tea, az, curl.
type forgeCall struct {
	*checker
	st    *state
	shown []string
	pos   []string
	opts  options
}

// forgeValued are the options of gh and glab that take the next word.
var forgeValued = []string{
	"R", "repo", "hostname", "X", "method", "f", "F", "H", "raw-field", "field", "header", "input", "q", "jq", "t", "template",
	"b", "body", "body-file", "subject", "match-head-commit", "A", "author-email", "B", "base", "source", "branch", "g", "group",
}

// forge reports whether base is a forge's program, and looks at what it does.
func (c *checker) forge(st *state, base string, args []string) bool {
	g := forgeCall{checker: c, st: st, shown: args}
	switch base {
	case "gh":
		g.opts = parseOptions(args[1:], forgeValued...)
		g.pos = g.opts.pos
		g.github()
	case "glab":
		g.opts = parseOptions(args[1:], forgeValued...)
		g.pos = g.opts.pos
		g.gitlab()
	case "tea", "berg", "fj":
		g.named("pulls merge", "pull merge", "pr merge", "releases create", "release create")
	case "az":
		if strings.Contains(strings.Join(args, " "), "repos pr ") && (contains(args, "--auto-complete") || contains(args, "completed") || contains(args, "--status=completed")) {
			g.finds(KindMerge, "completes a pull request")
		}
	case "bb", "gcloud":
		g.named("pr merge", "deploy")
	case "curl", "wget", "http", "https", "xh", "curlie":
		g.web(base)
	default:
		return false
	}
	return true
}

func (g forgeCall) finds(kind Kind, why string) {
	g.add(Finding{Kind: kind, Command: show(g.shown), Why: why})
}

// named looks for words that follow one another.
func (g forgeCall) named(phrases ...string) {
	words := " " + strings.Join(g.shown[1:], " ") + " "
	for _, p := range phrases {
		if strings.Contains(words, " "+p+" ") {
			g.finds(KindMerge, "runs "+p+" on the forge")
		}
	}
}

func (g forgeCall) word(i int) string {
	if i < len(g.pos) {
		return g.pos[i]
	}
	return ""
}

// githubCommands are gh's own; any other first word is an alias or an extension.
var githubCommands = setOf(`agent-task alias api attestation auth browse cache codespace completion config copilot extension
gist gpg-key help issue label org pr preview project release repo ruleset run search secret ssh-key status variable version
workflow extensions repos prs issues`)

func (g forgeCall) github() {
	if len(g.pos) == 0 {
		return
	}
	top, sub := g.word(0), g.word(1)
	switch {
	case hasHole(top) || hasHole(sub) && (top == "pr" || top == "release" || top == "repo"):
		g.unreadable(g.shown, "the command of gh cannot be known from the line")
	case top == "pr" && sub == "merge":
		if !g.opts.exact("--disable-auto", "--help", "-h") {
			g.finds(KindMerge, "merges a pull request")
		}
	case top == "pr" && sub == "update-branch":
	case top == "release" && contains([]string{"create", "new", "edit", "upload", "delete", "delete-asset"}, sub):
		g.finds(KindRelease, "changes a release")
	case top == "repo" && sub == "sync":
		g.finds(KindPush, "moves a branch to its source's")
	case top == "api":
		g.api(g.word(1))
	case !githubCommands[top]:
		g.unreadable(g.shown, "it may be an alias or an extension of gh")
	}
}

func (g forgeCall) gitlab() {
	top, sub := g.word(0), g.word(1)
	switch {
	case hasHole(top) || hasHole(sub) && (top == "mr" || top == "release"):
		g.unreadable(g.shown, "the command of glab cannot be known from the line")
	case top == "mr" && (sub == "merge" || sub == "accept"):
		g.finds(KindMerge, "merges a merge request")
	case top == "release" && (sub == "create" || sub == "upload" || sub == "delete"):
		g.finds(KindRelease, "changes a release")
	case top == "api":
		g.api(g.word(1))
	}
}

// writesOnForge matches the addresses of requests that merge, move refs or release, on GitHub, GitLab and Gitea.
var writesOnForge = pattern(`(?i)(/pulls/[^/]+/merge|/merge_requests/[^/]+/(merge|approve_and_merge)|/merges|/merge-upstream|/git/refs|/branches/[^/]+/(rename|merge)|/contents/|/repository/(files|commits|branches|tags)|/releases)`)

// writesByQuery matches the GraphQL mutations that do the same.
var writesByQuery = pattern(`(?i)\b(merge(PullRequest|Branch)|enablePullRequestAutoMerge|enqueuePullRequest|(update|create|delete)Refs?|createCommitOnBranch|mergeRequestAccept|commitCreate|branch(Create|Delete)|tag(Create|Delete)|release(Create|Update))\b`)

// topicRef matches what a request says when it is about a ref that is spelled out.
var topicRef = pattern(`(?:^|[/="' ])refs/heads/([^\s"'&,}]+)|git/refs/heads/([^\s"'?]+)|^branch=(.+)$`)

// api looks at a request that a forge's program makes. Fields turn the method into POST unless one is given.
func (g forgeCall) api(endpoint string) {
	method, given := g.opts.value("-X", "--method")
	fields := g.fields()
	_, input := g.opts.value("--input")
	if !given {
		method = "GET"
		if len(fields) > 0 || input {
			method = "POST"
		}
	}
	g.request(method, endpoint, fields, input)
}

func (g forgeCall) fields() []string {
	var out []string
	for _, o := range g.opts.given {
		switch o.name {
		case "-f", "-F", "--field", "--raw-field":
			out = append(out, o.value)
		}
	}
	return out
}

// request decides on one request by its method, address and body.
func (g forgeCall) request(method, endpoint string, fields []string, input bool) {
	body := strings.Join(fields, "\n")
	if strings.HasSuffix(strings.TrimRight(endpoint, "/"), "graphql") || strings.Contains(endpoint, "/graphql?") {
		switch {
		case writesByQuery().MatchString(body):
			g.finds(KindMerge, "asks the forge to merge or to move a ref")
		case input || hasHole(body) || strings.Contains(body, "query=@"):
			g.unreadable(g.shown, "the query cannot be read from the line")
		}
		return
	}
	if strings.EqualFold(method, "GET") || strings.EqualFold(method, "HEAD") {
		return
	}
	if mayBeSeveral(endpoint) || hasHole(method) || strings.HasSuffix(endpoint, hole) && !strings.Contains(endpoint, "/issues") {
		g.unreadable(g.shown, "the request cannot be known from the line")
		return
	}
	// An unknown part that more follows after is the owner, the repository or a number. A leading slash lets short
	// addresses, "merges", match as well.
	endpoint = strings.ReplaceAll(endpoint, hole, "x")
	if writesOnForge().MatchString("/"+endpoint) && !g.topicOnly(append(fields, endpoint)) {
		g.finds(KindMerge, "asks the forge to merge, to move a ref or to release")
	}
}

// topicOnly reports whether a request spells out the branch that it is about and the branch is not protected.
func (g forgeCall) topicOnly(texts []string) bool {
	named := false
	for _, t := range texts {
		for _, m := range topicRef().FindAllStringSubmatch(t, -1) {
			named = true
			for _, d := range g.st.dirs {
				if branch := m[1] + m[2] + m[3]; g.policy(g.at(d)).Protects(branch) {
					return false
				}
			}
		}
	}
	return named
}

// web looks at a request made with a plain HTTP client to what looks like a forge's API.
func (g forgeCall) web(base string) {
	g.opts = parseOptions(g.shown[1:], "X", "d", "H", "T", "o", "u", "F", "A", "b", "e", "request", "data", "data-raw", "data-binary", "json",
		"header", "upload-file", "output", "user", "form", "post-data", "method", "body-data", "url")
	method, given := g.opts.value("-X", "--request", "--method")
	var fields []string
	words := g.opts.pos
	for _, o := range g.opts.given {
		switch o.name {
		case "-d", "--data", "--data-raw", "--data-binary", "--data-urlencode", "--json", "--post-data", "--body-data", "-T", "--upload-file":
			fields = append(fields, o.value)
		case "--url":
			words = append(words, o.value)
		}
	}
	if !given && len(fields) > 0 {
		method = "POST"
	}
	for _, w := range words {
		switch {
		case contains([]string{"POST", "PUT", "PATCH", "DELETE"}, strings.ToUpper(w)) && base != "curl" && base != "wget":
			method = w
		case isForgeAPI(w) && method != "":
			input := len(fields) > 0 && strings.HasPrefix(fields[0], "@")
			g.request(method, w, fields, input)
		}
	}
}

func isForgeAPI(address string) bool {
	for _, p := range []string{"api.github.com", "/api/v3/", "/api/v4/", "/api/v1/repos", "/api/graphql"} {
		if strings.Contains(address, p) {
			return true
		}
	}
	return false
}
