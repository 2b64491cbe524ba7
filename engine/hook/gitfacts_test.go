package hook

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// quietEnv keeps the machine's own git settings out.
func quietEnv(dir string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir),
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
	}
}

func gitIn(t *testing.T, dir string, env []string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// realRepo makes a repository with a remote, a lane's worktree, aliases and odd settings.
func realRepo(t *testing.T) (root string, env []string) {
	t.Helper()
	top := t.TempDir()
	env = quietEnv(top)
	root = filepath.Join(top, "repo")
	if err := os.MkdirAll(filepath.Join(root, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"commit", "-q", "--allow-empty", "-m", "one"},
		{"init", "-q", "--bare", "-b", "trunk", "../remote.git"},
		{"push", "-q", "../remote.git", "main:trunk"},
		{"remote", "add", "origin", "../remote.git"},
		{"fetch", "-q"},
		{"remote", "set-head", "origin", "trunk"},
		{"branch", "topic"},
		{"tag", "nightly"},
		{"worktree", "add", "-q", "-b", "lane-1", "../lane"},
		{"config", "alias.m", "merge --no-ff"},
		{"config", "alias.Ship", "!git checkout main && git merge"},
		{"config", "branch.lane-1.merge", "refs/heads/trunk"},
		{"config", "branch.lane-1.remote", "origin"},
		{"config", "remote.deploy.push", "refs/heads/lane-1:refs/heads/main"},
		{"config", "remote.deploy.url", "../remote.git"},
	} {
		gitIn(t, root, env, args...)
	}
	return root, env
}

func TestGitFacts(t *testing.T) {
	t.Parallel()
	root, env := realRepo(t)
	f, err := GitFacts{}.Facts(t.Context(), filepath.Join(root, "..", "lane"), env)
	if err != nil {
		t.Fatal(err)
	}
	if !f.Known || f.Branch != "lane-1" || f.PushRemote != "origin" || f.FollowTags || f.PushDefault != "" {
		t.Errorf("facts %+v", f)
	}
	if !slices.Equal(f.Branches, []string{"lane-1", "main", "topic"}) || !slices.Equal(f.Tags, []string{"nightly"}) || !slices.Equal(f.Defaults, []string{"trunk"}) {
		t.Errorf("refs %+v", f)
	}
	if f.Aliases["m"] != "merge --no-ff" || !strings.HasPrefix(f.Aliases["ship"], "!") || f.Upstream["lane-1"] != "refs/heads/trunk" || len(f.PushRefspecs["deploy"]) != 1 {
		t.Errorf("settings %+v", f)
	}
}

func TestGitFactsDetachedUnbornAndNone(t *testing.T) {
	t.Parallel()
	root, env := realRepo(t)
	gitIn(t, root, env, "checkout", "-q", "--detach")
	if f, err := (GitFacts{}).Facts(t.Context(), root, env); err != nil || !f.Known || f.Branch != "" {
		t.Errorf("detached: %+v, %v", f, err)
	}
	unborn := filepath.Join(root, "sub")
	gitIn(t, unborn, env, "init", "-q", "-b", "main")
	if f, err := (GitFacts{}).Facts(t.Context(), unborn, env); err != nil || f.Branch != "main" {
		t.Errorf("unborn: %+v, %v", f, err)
	}
	none := filepath.Dir(root)
	if f, err := (GitFacts{}).Facts(t.Context(), none, env); err != nil || f.Known || !f.Nowhere {
		t.Errorf("no repository: %+v, %v", f, err)
	}
	if f, err := (GitFacts{}).Facts(t.Context(), filepath.Join(root, "gone"), env); err == nil || f.Known || f.Nowhere {
		t.Errorf("no folder: %+v, %v", f, err)
	}
}

func TestMainCheckout(t *testing.T) {
	t.Parallel()
	root, env := realRepo(t)
	for dir, want := range map[string]string{
		root: root, filepath.Join(root, "sub"): root, filepath.Join(root, "..", "lane"): root, filepath.Dir(root): filepath.Dir(root),
	} {
		got, err := GitFacts{}.MainCheckout(t.Context(), filepath.Clean(dir), env)
		if err != nil || !sameFolder(got, want) {
			t.Errorf("MainCheckout(%s) = %s, %v", dir, got, err)
		}
	}
}

func sameFolder(a, b string) bool {
	ia, erra := os.Stat(a)
	ib, errb := os.Stat(b)
	return erra == nil && errb == nil && os.SameFile(ia, ib)
}

// TestRealRepository asks the whole hook, with a real repository and a gate that refuses.
func TestRealRepository(t *testing.T) {
	t.Parallel()
	root, env := realRepo(t)
	lane := filepath.Join(root, "..", "lane")
	cases := []struct {
		dir, line string
		block     bool
	}{
		{root, "git merge topic", true},
		{root, "git -C ../lane merge main", false},
		{root, "cd ../lane && git merge main && git push origin HEAD", false},
		{root, "cd sub && git merge topic", true},
		{root, "git push", true},
		{root, "git checkout topic && git merge main", false},
		{root, "git checkout -q topic; git merge main", true},
		{lane, "git merge main", false},
		{lane, "git m main", false},
		{lane, "git ship lane-1", true},
		{lane, "git -C ../repo m lane-1", true},
		{lane, "git push", false},
		{lane, "git push origin lane-1:trunk", true},
		{lane, "git push deploy", true},
		{lane, "git -c push.default=upstream push", true},
		{lane, "git push origin nightly", true},
		{lane, "git branch -f ferrox/b1/integration HEAD", true},
		{lane, "git branch -f ferrox/b1/lane-1 HEAD", false},
		{lane, "git -C ../gone merge x", true},
		{lane, "git unknownword x", false},
		{lane, "git --git-dir=../repo/.git update-ref HEAD topic", true},
	}
	d := Deps{Repository: GitFacts{}, Gate: byFolder{}, Protected: func(string) ([]string, error) { return []string{"main", "master", "release/*"}, nil }}
	for _, tc := range cases {
		var out, errs bytes.Buffer
		event := fmt.Sprintf(`{"hook_event_name":"PreToolUse","cwd":%q,"tool_name":"Bash","tool_input":{"command":%q}}`, tc.dir, tc.line)
		code := Main("pre-tool-use", strings.NewReader(event), &out, &errs, env, root, d)
		if (code == 2) != tc.block {
			t.Errorf("%s: exit %d\n%s", tc.line, code, errs.String())
		}
	}
}

func TestPushSettings(t *testing.T) {
	t.Parallel()
	root, env := realRepo(t)
	for _, args := range [][]string{
		{"config", "push.default", "matching"},
		{"config", "push.followTags", "true"},
		{"config", "remote.pushDefault", "deploy"},
		{"config", "remote.deploy.mirror", "true"},
	} {
		gitIn(t, root, env, args...)
	}
	f, err := GitFacts{}.Facts(context.Background(), root, env)
	if err != nil || f.PushDefault != "matching" || !f.FollowTags || f.PushRemote != "deploy" || !slices.Equal(f.Mirror, []string{"deploy"}) {
		t.Errorf("facts %+v, %v", f, err)
	}
}
