package hook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"ferrox/gates/guard"
)

// gitLimit bounds one call of git.
const gitLimit = 3 * time.Second

// GitFacts reads the facts of a repository by asking git. It runs no hook and asks nobody anything.
type GitFacts struct{}

var _ Repository = GitFacts{}

// Facts implements Repository.
func (GitFacts) Facts(ctx context.Context, dir string, env []string) (guard.Facts, error) {
	g := git{ctx, dir, env}
	head, err := g.out("symbolic-ref", "-q", "HEAD")
	var exit *exec.ExitError
	if notRepository(err) {
		return guard.Facts{Nowhere: true}, nil
	}
	if detached := errors.As(err, &exit) && exit.ExitCode() == 1; err != nil && !detached {
		return guard.Facts{}, fmt.Errorf("read the branch of %s: %w", dir, err)
	}
	f := guard.Facts{Branch: strings.TrimPrefix(strings.TrimSpace(string(head)), "refs/heads/")}
	config, err := g.out("config", "--list", "-z")
	if err != nil {
		return guard.Facts{}, fmt.Errorf("read the git settings of %s: %w", dir, err)
	}
	readConfig(&f, config)
	refs, err := g.out("for-each-ref", "--format=%(refname) %(symref)", "refs/heads", "refs/tags", "refs/remotes/*/HEAD", "refs/remotes/*/*/HEAD")
	if err != nil {
		return guard.Facts{}, fmt.Errorf("read the refs of %s: %w", dir, err)
	}
	readRefs(&f, refs)
	f.Known = true
	return f, nil
}

// notRepository reports whether git says that there is no repository; any other failure is something that cannot be read.
func notRepository(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == 128 && strings.Contains(string(exit.Stderr), "not a git repository")
}

// MainCheckout returns the folder of the main checkout that dir belongs to, or dir itself outside of a repository.
func (GitFacts) MainCheckout(ctx context.Context, dir string, env []string) (string, error) {
	out, err := git{ctx, dir, env}.out("rev-parse", "--path-format=absolute", "--git-common-dir")
	if notRepository(err) {
		return dir, nil
	}
	if err != nil {
		return "", fmt.Errorf("find the main checkout of %s: %w", dir, err)
	}
	common := strings.TrimRight(string(out), "\n")
	if filepath.Base(common) != ".git" {
		return dir, nil // a bare repository, or a checkout whose git folder lives elsewhere
	}
	return filepath.Dir(common), nil
}

// git is where and with what environment git runs.
type git struct {
	ctx context.Context
	dir string
	env []string
}

func (g git) out(args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(g.ctx, gitLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"}, args...)...)
	if info, err := os.Stat(g.dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("enter %s: it is no folder", g.dir)
	}
	cmd.Dir = g.dir
	cmd.Env = append(append([]string(nil), g.env...), "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0")
	cmd.WaitDelay = time.Second
	return cmd.Output()
}

// readConfig takes from "git config --list -z" what decides where commands go: aliases, upstreams, refspecs, push settings.
func readConfig(f *guard.Facts, list []byte) {
	f.Aliases, f.Upstream, f.PushRefspecs = map[string]string{}, map[string]string{}, map[string][]string{}
	var candidates [3]string // pushRemote of the branch, remote.pushDefault, remote of the branch: the first one counts
	var remotes []string
	for _, entry := range bytes.Split(list, []byte{0}) {
		key, value, _ := strings.Cut(string(entry), "\n")
		section, rest, _ := strings.Cut(key, ".")
		i := strings.LastIndexByte(rest, '.')
		name, last := "", rest
		if i >= 0 {
			name, last = rest[:i], rest[i+1:]
		}
		switch {
		case section == "alias" && last == "command" && i > 0:
			f.Aliases[strings.ToLower(name)] = value
		case section == "alias":
			f.Aliases[strings.ToLower(rest)] = value
		case section == "branch" && last == "merge":
			f.Upstream[name] = value
		case section == "branch" && name == f.Branch && last == "pushremote":
			candidates[0] = value
		case section == "branch" && name == f.Branch && last == "remote":
			candidates[2] = value
		case section == "remote" && last == "push":
			f.PushRefspecs[name] = append(f.PushRefspecs[name], value)
		case section == "remote" && last == "mirror" && truth(value):
			f.Mirror = append(f.Mirror, name)
		case section == "remote" && last == "url":
			remotes = append(remotes, name)
		case key == "remote.pushdefault":
			candidates[1] = value
		case key == "push.default":
			f.PushDefault = value
		case key == "push.followtags":
			f.FollowTags = truth(value)
		}
	}
	f.PushRemote = pushRemote(append(candidates[:], remotes...), len(remotes) == 1)
}

// pushRemote is the remote of a push that names none: what settings say, the only remote, or origin.
func pushRemote(candidates []string, only bool) string {
	for i, c := range candidates {
		if c != "" && (i < 3 || only) {
			return c
		}
	}
	return "origin"
}

// truth reads a boolean of git; a key without a value is true.
func truth(v string) bool {
	switch strings.ToLower(v) {
	case "false", "no", "off", "0":
		return false
	}
	return true
}

func readRefs(f *guard.Facts, list []byte) {
	for line := range strings.Lines(string(list)) {
		ref, target, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		if b, is := strings.CutPrefix(ref, "refs/heads/"); is {
			f.Branches = append(f.Branches, b)
		}
		if t, is := strings.CutPrefix(ref, "refs/tags/"); is {
			f.Tags = append(f.Tags, t)
		}
		if remote, is := strings.CutSuffix(ref, "/HEAD"); is && target != "" {
			f.Defaults = append(f.Defaults, strings.TrimPrefix(target, remote+"/"))
		}
	}
}
