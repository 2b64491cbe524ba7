package guard

import (
	"strings"
	"testing"
)

const cwd = "/r"

// repo is a repository with one topic branch, one lane's worktree and every kind of alias.
func repo(branch string) map[string]Facts {
	f := Facts{
		Known:    true,
		Branch:   branch,
		Branches: []string{"main", "topic", "topic/main-menu", "release/1.2", "trunk", "1.x"},
		Tags:     []string{"v1.2", "nightly"},
		Aliases: map[string]string{
			"m": "merge --no-ff", "co": "checkout", "st": "status -sb", "shipit": "!git checkout main && git merge", "mm": "m", "loop": "loop",
			"say": "!echo merged", "p": "-c x.y=z push", "sq": `!f() { git push origin "$1":main; }; f`,
			"bad": "!git merge '",
		},
		Upstream:     map[string]string{"topic": "refs/heads/main"},
		PushRefspecs: map[string][]string{"deploy": {"refs/heads/topic:refs/heads/release/9"}},
		PushRemote:   "origin",
		Defaults:     []string{"trunk"},
		Protected:    []string{"main", "master", "release/*"},
	}
	lane := f
	lane.Branch = "topic/lane"
	onMain := f
	onMain.Branch = "main"
	return map[string]Facts{cwd: f, "/r/lane": lane, "/lane": lane, "/r/main": onMain, "/r/.git": f, "/r/sub": f}
}

func findings(t *testing.T, branch, line string) []Finding {
	t.Helper()
	r, err := Check(line, cwd, repo(branch))
	if err != nil {
		t.Fatalf("Check(%q): %v", line, err)
	}
	return r.Findings
}

// blocked lists lines that merge or ship, by the branch that they start on.
var blocked = map[string][]string{
	"main": {
		"bash -c \"$(cat <<'EOF'\ngit merge x\nEOF\n)\"", "ls > >(git merge x)", "script -qc 'git merge x' /dev/null", ". <(echo git merge x)", "bash <(echo git merge x)", "source /dev/stdin <<< 'git merge x'",
		"cd $PWD && git merge x", `cd "$(git rev-parse --show-toplevel)" && git merge x`, "git merge topic 2>&1 | tee log", "env -S\"git merge x\"", "echo b | while read b; do git merge $b; done", "su -c 'git merge x' bob", "git -C $PWD/. merge x",
		"git -c alias.x='!sh -c \"git merge y\"' x", "mkdir x && cd x && git init && git pull", "git clone u d && cd d && git merge x", "git {merge,x}", "git me{1..3}", "git co topic; git merge x",
		// plain
		"git merge x", "git merge --no-ff topic", "git merge --continue", "git merge --squash topic", "git pull", "git pull origin main",
		"git pull --rebase", "git rebase topic", "git rebase --onto topic x", "git cherry-pick abc", "git cherry-pick --continue",
		"git am < p.mbox", "git am -3 0001.patch", "git reset --hard topic", "git reset topic", "git reset --soft HEAD~2",
		"git update-ref HEAD topic", "git filter-branch --all", "git subtree pull --prefix=x r main",
		// global options
		"git -C . merge x", "git -c k=v merge x", "git --no-pager merge x", "git --git-dir=.git merge x", "git --git-dir .git merge x",
		"git -c a=b -C sub --work-tree=. -p merge x", "git -C /r merge x", "git -C lane -C .. merge x", "git -C /elsewhere merge x",
		"GIT_DIR=/r/.git git merge x", "export GIT_DIR=.git; git merge x", "cd sub && git merge x", "pushd sub; git merge x",
		"cd lane && cd .. && git merge x", "cd $SOMEWHERE && git merge x", "(cd lane); git merge x", "cd gone || git merge x", "cd gone; git merge x",
		// several commands
		"true; git merge x", "true && git merge x", "false || git merge x", "true | git merge x", "git merge x &", "ls\ngit merge x\n",
		"git merge x; git merge-base a b", "git rebase --abort; git merge x", "(git merge x)", "{ git merge x; }", "! git merge x",
		"if true; then git merge x; fi", "if git merge x; then :; fi", "if a; then b; elif git merge x; then c; fi", "if a; then b; else git merge x; fi",
		"for i in 1 2; do git merge $i; done", "while git merge x; do :; done", "until false; do git merge x; done",
		"for ((i=0;i<2;i++)); do git merge x; done", "select x in a; do git merge $x; done",
		"case x in x) git merge x;; esac", "case $(git merge x) in x) ;; esac", "f() { git merge x; }; f", "function f { git merge x; }", "time git merge x",
		"coproc git merge x", "[[ -n $(git merge x) ]]", "x=$(git merge x)", "x=`git merge x`", "echo $(git merge x)", `echo "$(git merge x)"`,
		"cat <(git merge x)", "cat <<EOF\n$(git merge x)\nEOF", "echo ${x:-$(git merge x)}", "echo $((1 + $(git merge x)))", "a=($(git merge x))",
		"local x=$(git merge x)", "cat < $(git merge x)",
		// wrappers
		"env X=1 git merge x", "env -i git merge x", "env -u A B=2 git merge x", "env -S 'git merge x'", "env -C sub git merge x", "sudo git merge x",
		"sudo -u bob git merge x", "sudo -nE -- git merge x", "command git merge x", "command -p git merge x", "exec git merge x",
		"builtin command git merge x", "nohup git merge x &", "nice -n 5 git merge x", "timeout 5 git merge x", "timeout -s KILL 5 git merge x",
		"stdbuf -oL git merge x", "setsid git merge x", "time -p git merge x", "/usr/bin/time -f %e git merge x", "X=1 git merge x", "xargs git merge x",
		"echo x | xargs git merge", "echo merge x | xargs git", "xargs -I{} git merge {}", "xargs -n 1 sh -c 'git merge x'", "find . -exec git merge x \\;",
		"find . -exec sh -c 'git merge x' +", "flock /tmp/l git merge x", "flock /tmp/l -c 'git merge x'", "strace -f git merge x", "watch -n 1 git merge x",
		"somewrapper --flag git merge x", "poetry run git merge x", "parallel git merge ::: x", "nice sudo env A=b command git merge x",
		// shells in shells
		"sh -c 'git merge x'", `bash -lc "git merge x"`, "bash -c -e 'git merge x'", "/bin/sh -c 'git merge x'", "zsh -ic 'git merge x'", "su bob -c 'git merge x'",
		`sh -c 'sh -c "git merge x"'`, `sh -c '"$@"' _ git merge x`, `sh -c 'git $1 x' _ merge`, "eval git merge x", `eval "git merge x"`, "eval 'git' merge x",
		"bash <<EOF\ngit merge x\nEOF", "bash <<'EOF'\ngit merge x\nEOF", "bash <<< 'git merge x'", "bash -s <<EOF\ngit merge x\nEOF",
		"echo 'git merge x' | sh", "echo git merge x | bash -s", "printf 'git %s x' merge | sh", "true | echo 'git merge x' | sh", "echo 'git merge x' | cat | sh", "nohup echo 'git merge x' | sh &", "{ echo ls; echo git merge x; } | bash", "(echo git merge x) | sh", `printf 'ls\ngit merge x\n' | sh`, "cat <<EOF | sh\ngit merge x\nEOF",
		`echo -e 'ls\ngit merge x' | bash`, "trap 'git merge x' EXIT", "sudo bash -c 'git merge x'", "bash -o pipefail -c 'git merge x'",
		// spelling
		`g"i"t me'r'ge x`, `\git merge x`, `git mer\ge x`, "/usr/bin/git merge x", "/usr/lib/git-core/git-merge x", "git-merge x", "'git' 'merge' x", `$'\x67it' merge x`,
		`$'\147it' $'m\u0065rge' x`, "GIT merge x", "git.exe merge x", "git \\\n merge x", "git mer{ge,} x", "{git,merge,x}", `$(echo git) merge x`, "$(which git) merge x",
		"$(echo -n git) merge x", `g=git; $g merge x`, `c="git merge x"; $c`, `m=merge; git $m x`, "x=git; x+=' merge y'; $x", "for c in merge pull; do git $c; done",
		`"$(command -v git)" merge x`, "alias gm='git merge'; gm x", "git() { command git \"$@\"; }; git merge x", `g() { git "$@"; }; g merge x`,
		`run() { "$@"; }; run git merge x`, "git merge x # fine", "IFS=:; c=git:merge:x; $c", "set -- git merge x; \"$@\"", "set -- merge; git $1 x",
		// aliases of the repository
		"git m x", "git mm x", "git M x", "git shipit topic", "git -C sub m x", "git -c alias.zz=merge zz x", "git -c alias.zz='!git merge' zz x",
		"git --config-env=alias.zz=V zz x", "git config alias.zz merge && git zz x", "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.q GIT_CONFIG_VALUE_0=merge git q x",
		"git loop", "git bad x", "git p origin main",
		// not knowable
		"$CMD", "$CMD merge x", `"$CMD" merge x`, "git $SUB x", `git "$SUB"`, "git $OPTS merge x", "eval $CMD", `eval "$CMD"`, `sh -c "$CMD"`, "$(cat cmd)", "git${IFS}merge${IFS}x",
		"g?t merge x", "/usr/bin/g* merge x", "read c; $c x", "c=ls; read c; $c", "~/bin/$TOOL merge x",
		// switching in the line
		"git checkout topic; git merge x", "git checkout topic || git merge x", "git checkout README.md && git merge x", "git checkout topic && git checkout - && git merge x",
		"git switch topic & git merge x", "git checkout -- topic && git merge x", "git checkout topic file && git merge x", "(git switch topic) ; git merge x",
		"git bisect run git merge x", "git rebase -x 'git merge y' topic", "git submodule foreach 'git merge x'", "git for-each-repo --config=a.b merge x",
		// pushes of what is checked out
		"git push", "git push origin", "git push origin HEAD", "git push -u origin @", "git push origin HEAD:HEAD", "git push --force", "git push --force-with-lease origin",
		`git push origin "$(git branch --show-current)"`, "git push origin $(git rev-parse --abbrev-ref HEAD)",
	},
	"topic": {
		"git checkout main && git merge x", "git switch main && git merge topic", "git checkout main; git merge topic", "git checkout -q main\ngit merge topic",
		"git checkout trunk && git merge x", "git checkout release/1.2 && git merge x", "git checkout - && git merge x", "git checkout $B && git merge x", "git switch -c master && git merge x",
		"(git checkout main) && git merge x", "sh -c 'git checkout main'; git merge x", "git checkout main | cat; git merge topic", "f() { git checkout main; }; f; git merge x",
		"git -C main merge x", "cd main && git merge x", "cd ../unknown && git merge x", "git --git-dir=/elsewhere/.git merge x",
		"git worktree add ../w main && cd ../w && git merge topic", "git worktree add -B main ../w", "git symbolic-ref HEAD refs/heads/main && git merge x",
		"git shipit topic",
		// refs by name
		"git branch -f main x", "git branch -f main", "git branch --force main x", "git branch -M main", "git branch -m topic main", "git branch -m main old", "git branch -D main",
		"git branch -d topic release/1.2", "git branch -C topic main", "git branch main x", "git branch release/9 x", "git branch -f trunk x", "git branch -f $B x", "git branch -f \"release/$V\" x",
		"git checkout -B main", "git checkout -B main topic", "git checkout -Bmain topic", "git checkout -b release/3", "git switch -C main x", "git switch --force-create=main x", "git switch --force-c main x",
		"git fetch . topic:main", "git fetch origin +topic:refs/heads/main", "git fetch o x:main", "git fetch origin '*:*'", "git fetch origin 'refs/heads/*:refs/heads/*'",
		"git fetch . topic:$B", "git fetch origin $SPEC", "git pull origin topic:main", "git pull . topic:master", "git update-ref refs/heads/main x", "git update-ref -d refs/heads/main",
		"git update-ref -m why refs/heads/release/1.2 x", "git update-ref --stdin < f", "git update-ref $R x", "git symbolic-ref refs/heads/main refs/heads/topic", "git rebase topic main", "git rebase --onto a b main",
		"git rebase --root main", "git fast-import < dump", "git stash branch main",
		// pushes
		"git push origin main", "git push origin HEAD:main", "git push -u origin HEAD:main", "git push origin topic:release/1.2", "git push origin topic:refs/heads/main", "git push origin topic:heads/main",
		"git push origin +topic:main", "git push origin :main", "git push origin --delete main", "git push -d origin main", "git push --dele origin main", "git push --all", "git push --mirror origin",
		"git push --mir origin", "git push origin :", "git push origin 'refs/heads/*'", "git push origin 'refs/heads/*:refs/heads/*'", "git push --branches", "git push origin topic main", "git push origin topic:trunk",
		"git push origin release/2.1", "git push origin release/a/b", "git push git@h:o/r.git topic:main", "git push ../other topic:main", "git push --repo=origin --all", "git push -o ci.skip origin main", "git push origin -- main",
		"git send-pack origin topic:main", "git push deploy", "git push deploy topic", "git -c push.default=matching push", "git -c remote.origin.push=topic:main push origin", "git config push.default matching; git push",
		"git push origin $B", `git push origin "$B"`, `git push origin "HEAD:$B"`, `git push $ARGS`, `git push origin topic:"$B"`, `B=main; git push origin $B`, `for b in topic main; do git push origin $b; done`,
		`git push origin "release/$V"`, "git push origin {topic,main}", "git push --recurse-submodules=check origin main", "git push --receive-pack=x origin main", "git subtree push --prefix=x origin main",
		"env -C main git push", "git push origin HEAD:refs/heads/main", "git push origin 'HEAD:main'", "git commit -am x && git push origin HEAD:main", "git push --force-with-lease=main origin topic:main", "git svn dcommit",
		"git push --stdin",
		// tags
		"git push --tags", "git push origin --tags", "git push --follow-tags", "git push --follow origin topic", "git push origin v1.2", "git push origin tag v1.2", "git push origin refs/tags/v1.2", "git push origin nightly",
		"git push --delete origin v1.2", "git push origin :refs/tags/v1.2", "git tag fresh && git push origin fresh", "git tag -a fresh -m x; git push origin fresh", "git push origin v9.9.9", "git push origin 2.0.1", "git push origin topic:refs/tags/x",
		// forges
		"gh pr merge", "gh pr merge 12 --squash", "gh -R o/r pr merge 12", "gh pr -R o/r merge", "gh pr merge --auto 12", "gh --repo=o/r pr merge 1", "GH_TOKEN=x gh pr merge 1", "sudo gh pr merge 1",
		"gh api -X PUT repos/o/r/pulls/1/merge", "gh api --method=put /repos/o/r/pulls/1/merge", "gh api repos/o/r/merges -f base=main -f head=x", "gh api repos/o/r/git/refs/heads/main -X PATCH -f sha=1",
		"gh api repos/o/r/git/refs -f ref=refs/heads/main -f sha=1", "gh api graphql -f query='mutation { mergePullRequest(input: {}) { x } }'", "gh api graphql -f query='mutation{updateRefs(input:{}){x}}'", "gh api graphql -F query=@q.graphql",
		"gh api graphql --input q.json", `gh api graphql -f query="$Q"`, `gh api -X PUT "$URL"`, "gh api -X PUT repos/o/r/contents/f -f message=x", "gh api -X POST repos/o/r/releases -f tag_name=v1", "gh release create v1", "gh release edit v1 --draft=false",
		"gh repo sync o/r", "gh land", "gh $X merge 1", "gh pr $X 1", "gh alias set zz 'pr merge' && gh zz 1",
		"hub merge https://github.com/o/r/pull/1 && hub checkout main && hub merge x", "hub push origin main", "glab mr merge 3", "glab mr accept", "glab -R g/p mr merge 3", "glab api -X PUT projects/1/merge_requests/2/merge", "glab release create v1", "tea pulls merge 4",
		"az repos pr update --id 1 --status completed", "curl -X PUT https://api.github.com/repos/o/r/pulls/1/merge", "curl -d '{}' https://api.github.com/repos/o/r/merges", "curl --request PUT https://git.x/api/v4/projects/1/merge_requests/2/merge",
		// releases
		"npm publish", "npm --access public publish", "pnpm publish", "yarn npm publish", "cargo publish", "goreleaser release --clean", "goreleaser", "twine upload dist/*", "poetry publish --build", "uv publish", "gem push x.gem", "mvn -B clean deploy", "./gradlew :lib:publish",
		"npx semantic-release", "semantic-release", "dotnet nuget push x", "cd pkg && npm publish", "npx -y np",
	},
	"": {
		"git push origin HEAD:main", "git checkout main && git merge x", "git branch -f main HEAD",
	},
}

// allowed lists lines that must pass.
var allowed = map[string][]string{
	"main": {
		"", "# git merge x", "ls -la", "git status", "git commit -m wip", `git commit -m "git merge notes"`, "git commit -m 'git push origin main'", "git log main..x", "git fetch origin main", "git fetch", "git fetch --all --prune", "git fetch origin +refs/heads/main:refs/remotes/origin/main",
		"git fetch origin 'refs/heads/*:refs/remotes/origin/*'", "git merge --abort", "git merge --quit", "git rebase --abort", "git rebase --continue", "git rebase --skip", "git cherry-pick --abort", "git am --abort", "git merge-base a b", "git merge-tree a b", "git merge --help",
		`echo "git merge main"`, "echo git pull", "echo 'git merge x' > notes", "grep 'git push' file", "grep -r git merge .", "rg 'git merge' docs", "man git merge", "printf 'git merge x'", "cat <<EOF\ngit merge x\nEOF", "cat <<'EOF' > f.sh\ngit merge x\nEOF",
		": 'git merge x'", "sed -i 's/git merge/x/' f", "git log --grep='git merge'", "git log --merges", "git branch", "git branch --list main", "git branch -a", "git branch --show-current", "git branch --contains main", "git branch --merged main", "git branch topic/new", "git branch -d topic", "git branch -u origin/main",
		"git branch --set-upstream-to origin/main main", "git reset", "git reset HEAD", "git reset --hard", "git reset --hard HEAD", "git reset -- file", "git reset HEAD file", "git reset x -- file", "git diff main", "git show main", "git worktree add ../w topic", "git worktree list", "git stash", "git stash pop", "git tag v9", "git tag -l", "git revert HEAD",
		"git push origin topic", "git push --dry-run", "git push --dry-run origin main", "git push -n", "git push origin topic:topic", "git push origin topic/main-menu", "git push origin feature/foo", "git push origin --delete topic", "git push origin HEAD:topic", "git push origin HEAD:refs/heads/topic", "git push origin HEAD:refs/for/main",
		"git checkout topic && git merge main", "git switch topic && git pull", "git checkout -b feature && git merge main", "git switch -c feature && git cherry-pick x", "git checkout -b feature && git push -u origin HEAD", "git checkout --detach && git merge x", "git -C lane merge main", "cd lane && git merge main", "(cd lane && git pull)", "git -C ../lane merge x",
		"cd lane && git push", "cd lane; git merge main", "cd lane\ngit pull", "git worktree add ../w topic && cd ../w && git merge main", "git st", "git say", "git ls-files | xargs git add", "find . -name '*.go' -exec git add {} +", "f() { echo git merge x; }; f", "alias gm='git merge'", "which git", "command -v git", "type git", "for f in *.go; do gofmt -l $f; done", `"$HOME/bin/tool" x`, "$GOPATH/bin/gofumpt -l .",
		`echo "$CMD"`, "make test", "go test ./...", "npm install", "npm run build", "npm publish --dry-run", "cargo build", "goreleaser build", "goreleaser release --snapshot", "goreleaser check", "bash script.sh", "sh -c 'git status'", "eval 'git status'", "echo ls | sh", "gh pr view 12", "gh pr create --title 'git merge x'", "gh pr list", "gh pr checks", "gh issue create --body 'gh pr merge'",
		"gh api repos/o/r/pulls/1", "gh api repos/o/r/pulls/1/merge", "gh api graphql -f query='query { viewer { login } }'", "gh api repos/o/r/issues/1/comments -f body='merge it'", "gh release list", "gh release view v1", "gh repo view", "gh pr merge --help", "gh pr merge --disable-auto 3", "glab mr view 3", "glab mr list", "curl -X POST https://example.org/merges", "curl https://api.github.com/repos/o/r/pulls/1/merge",
		"git bisect start", "git submodule update --init", "git config user.name x", "git remote -v", "git remote add x y", "git rev-parse --abbrev-ref HEAD", `x=$(git branch --show-current); echo "$x"`, "if git diff --quiet; then echo clean; fi", "git -c core.pager=cat log", "git --no-pager log", "git update-ref refs/ferrox/x HEAD", "git symbolic-ref HEAD", "git symbolic-ref --short HEAD",
		"git apply p.diff", "git format-patch main", "python3 merge.py", "git help merge", "docker push x", "git commit --amend --no-edit", "git push origin HEAD:topic --force-with-lease", "[ -f x ] && echo y", "git log -- main", "git rm --cached main", "git archive main", "git describe --tags", "git ls-remote origin main",
		"git push origin 1.x",
		"git commit -m \"$(cat <<'EOF'\nMerge notes: git merge x\nEOF\n)\"", "gh pr create --title x --body \"$(cat <<'EOF'\ngit push origin main\nEOF\n)\"", "git co topic && git merge main", "cd ~/other && git push origin topic", `cd "$X" && git push origin topic`, "git push origin main:topic", "git push origin v1.2:refs/heads/topic",
		"git push origin refs/heads/topic", `gh api "repos/$R/pulls/1/comments" -f body=hi`, `gh api -X POST "repos/$R/issues/1/comments" -f body=x`, "python3 - <<'EOF'\nprint('git merge x')\nEOF", "cat > f.sh <<'EOF'\ngit push origin main\nEOF", "git diff $(git merge-base main HEAD)..HEAD", "git log --oneline | head -5", "mkdir -p {a,b}/{c,d}",
		"GIT_EDITOR=true git rebase --continue", "export PATH=$PATH:/x; make", "source .venv/bin/activate && pytest", "source $VENV/bin/activate", "curl -fsSL https://x.y/i.sh | bash", "tar czf - . | ssh h 'cat > x'", "docker compose up -d", "git show HEAD:main", "time | cat", "time", "if [ \"$(git branch --show-current)\" = main ]; then echo no; fi",
	},
	"topic": {
		`B=$(git branch --show-current) && git push -u origin "$B"`, "git push -u origin HEAD 2>&1 | tail -5", "git fetch origin && git rebase origin/main && git push --force-with-lease", `cd "$(git rev-parse --show-toplevel)" && git push`, `git -C "$PWD" push`, `cd $(pwd) && git pull`,
		"git merge main", "git merge x", "git pull", "git pull origin main", "git pull --rebase origin main", "git rebase main", "git rebase origin/main", "git rebase -i HEAD~3", "git cherry-pick x", "git am p", "git reset --hard origin/main", "git reset --hard HEAD~1", "git push", "git push origin", "git push -u origin HEAD", "git push --force-with-lease",
		`git push origin "$(git branch --show-current)"`, "git push origin $(git rev-parse --abbrev-ref HEAD)", "git push origin topic", "git push origin topic/main-menu", "git push origin mainline", "git push origin main-menu", "git push origin maintenance", "git push origin releases/1", "git push origin pre-release/1", "git push origin Main",
		`git push origin "topic/$NAME"`, `B=topic; git push origin $B`, "for b in topic topic/main-menu; do git push origin $b; done", `git push origin "HEAD:topic-$N"`, "git branch -f other x", "git checkout -B other", "git switch -C other", "git branch -m better", "git fetch . x:other", "git fetch origin main:refs/remotes/o/m", "git update-ref refs/heads/other x", "git rebase main topic",
		"git checkout main -- file", "git checkout main file && git merge x", "git checkout -p main", "git m x", "git subtree pull --prefix=x r main", "git stash branch other", "gh pr create --base main --head topic", "gh api repos/o/r/git/refs -f ref=refs/heads/topic -f sha=1", "gh api -X PATCH repos/o/r/git/refs/heads/topic -f sha=1",
		"git checkout main && ls", "git checkout main && git checkout topic && git merge x", "git checkout main && git log", "hub merge x", "git push origin HEAD", "git push origin @", "git update-ref HEAD x", "git merge --continue", "git filter-branch --tree-filter x",
	},
	"": {"git merge x", "git rebase main", "git reset --hard x", "git push origin topic", "git cherry-pick x", "git commit -m x"},
}

func TestBlocked(t *testing.T) {
	t.Parallel()
	for branch, lines := range blocked {
		for _, line := range lines {
			if len(findings(t, branch, line)) == 0 {
				t.Errorf("on %q, passed: %s", branch, line)
			}
		}
	}
}

func TestAllowed(t *testing.T) {
	t.Parallel()
	for branch, lines := range allowed {
		for _, line := range lines {
			for _, f := range findings(t, branch, line) {
				t.Errorf("on %q, blocked: %s\n\t%+v", branch, line, f)
			}
		}
	}
}

func TestUnparsableLineIsAnError(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"git status '", "if true; then", "$(", "echo ${", "cat <<EOF\nx", "a \x00 b", strings.Repeat("x", maxLine+1)} {
		if r, err := Check(line, cwd, repo("topic")); err == nil {
			t.Errorf("Check(%.20q) = %+v, want an error", line, r)
		}
	}
}

// TestHostileLinesAreBlockedSoon gives lines that grow without end when they are followed naively.
func TestHostileLinesAreBlockedSoon(t *testing.T) {
	t.Parallel()
	deep := func(open, in, end string, n int) string { return strings.Repeat(open, n) + in + strings.Repeat(end, n) }
	for name, line := range map[string]string{
		"substitutions": deep("echo $(", "git merge x", ")", 300),
		"doubling":      "x=aa; " + strings.Repeat("x=$x$x; ", 500) + "git push origin $x",
		"loops":         deep("for i in 1 2; do ", "git merge x", "; done", 100),
		"braces":        "git " + strings.Repeat("{a,b}", 2000) + " merge",
		"recursion":     "f() { f; git merge x; f; }; f",
		"many":          strings.Repeat("git -C /x st; ", 6000),
		"subshells":     deep("(", "git merge x", ")", 500),
	} {
		if len(findings(t, "main", line)) == 0 {
			t.Errorf("%s passed", name)
		}
	}
}
