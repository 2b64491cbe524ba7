package gitcli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sethvargo/go-retry"

	"ferrox/engine"
	"ferrox/engine/crash"
)

// killGrace is how long git may take to drop its lock files after it was told to end.
const killGrace = 2 * time.Second

// call is one run of git. The zero value of every field means "as usual".
type call struct {
	args     []string
	cwd      string // the common directory when empty
	gitDir   string // the common directory when empty and cwd is empty too
	workTree string
	index    string // another index file
	stdin    []byte
	env      []string // added last
	config   []string // further key=value settings
	limit    time.Duration
	okExit   int // an exit code that is an answer, not a failure (besides 0)
}

// git runs a command that needs neither work tree nor input and changes nothing but objects and refs.
func (r *Repo) git(ctx context.Context, args ...string) ([]byte, error) {
	return r.run(ctx, call{args: args})
}

// run runs git and returns its standard output. Failures are *engine.GitError.
func (r *Repo) run(ctx context.Context, c call) ([]byte, error) {
	out, _, err := r.exit(ctx, c)
	return out, err
}

// halfMade bounds how long the entry of a worktree may be half-made. Git fails on one that another process is making just
// now; an entry that stays so is damaged.
const halfMade = time.Second

// errHalfMade is git's failure to read such an entry. Whatever looks through the worktrees meets it before it has changed
// anything, but `worktree add` has made its branch by then.
var errHalfMade = errors.New("the entry of a worktree cannot be read")

// exit is run for callers that need the exit code as well.
func (r *Repo) exit(ctx context.Context, c call) (out []byte, code int, err error) {
	b := retry.WithMaxDuration(halfMade, retry.NewConstant(firstWait))
	err = retry.Do(ctx, b, func(ctx context.Context) error {
		out, code, err = r.once(ctx, c)
		if errors.Is(err, errHalfMade) && !adds(c.args) {
			return retry.RetryableError(err)
		}
		return err
	})
	return out, code, err
}

func adds(args []string) bool { return len(args) > 1 && args[0] == "worktree" && args[1] == "add" }

// once is exit without another try.
func (r *Repo) once(ctx context.Context, c call) ([]byte, int, error) {
	limit := c.limit
	if limit == 0 {
		limit = r.limit
	}
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	var stdout, stderr bytes.Buffer
	cmd := r.command(bounded, c)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	after := around(c.args)
	err := cmd.Run()
	after()
	if bounded.Err() != nil && err != nil {
		endGroup(cmd)
	}
	code := exitCode(cmd, err)
	if err == nil || (code > 0 && code == c.okExit && bounded.Err() == nil) {
		return stdout.Bytes(), code, nil
	}
	return nil, code, &engine.GitError{
		Args: c.args, Dir: cmd.Dir, Exit: code, Stderr: stderr.String(), Err: cause(ctx, bounded, err, stderr.String(), limit),
	}
}

// cause settles which of the typed errors a failed run is.
func cause(parent, bounded context.Context, err error, stderr string, limit time.Duration) error {
	if parent.Err() != nil {
		return parent.Err()
	}
	if bounded.Err() != nil {
		return fmt.Errorf("%w: no end after %s", engine.ErrGitTimeout, limit)
	}
	if typed := classify(stderr); typed != nil {
		return typed
	}
	return err
}

// changing are the commands of git that leave something behind.
var changing = []string{"update-ref", "worktree", "commit-tree", "merge-tree", "merge", "reset", "unpack-objects", "write-tree", "update-index"}

// around names a command that leaves something behind for the crash points.
func around(args []string) (after func()) {
	if len(args) < 2 || !slices.Contains(changing, args[0]) || args[1] == "list" {
		return func() {}
	}
	name := "git " + args[0]
	if args[0] == "worktree" {
		name += " " + args[1]
	}
	return crash.Around(name)
}

func (r *Repo) command(ctx context.Context, c call) *exec.Cmd {
	args := hardening()
	for _, kv := range c.config {
		args = append(args, "-c", kv)
	}
	dir, gitDir := c.cwd, c.gitDir
	if dir == "" {
		dir = r.common
	}
	if gitDir == "" && c.cwd == "" {
		gitDir = r.common
	}
	if gitDir != "" {
		args = append(args, "--git-dir="+gitDir)
	}
	if c.workTree != "" {
		args = append(args, "--work-tree="+c.workTree)
	}

	cmd := exec.CommandContext(ctx, "git", append(args, c.args...)...)
	cmd.Dir = dir
	cmd.Env = environment(os.Environ(), c)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = killGrace
	if c.stdin != nil {
		cmd.Stdin = bytes.NewReader(c.stdin)
	}
	return cmd
}

// endGroup kills what a call left behind: a signing program or a filter that did not heed TERM.
func endGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}

func exitCode(cmd *exec.Cmd, err error) int {
	if cmd.ProcessState == nil {
		return -1
	}
	if err == nil || errors.As(err, new(*exec.ExitError)) {
		return cmd.ProcessState.ExitCode()
	}
	return -1
}

// hardening are the options in front of every command. They beat what any configuration file says.
func hardening() []string {
	args := []string{"--no-optional-locks", "--no-pager", "--literal-pathspecs", "--no-replace-objects"}
	for _, kv := range []string{
		"core.hooksPath=/dev/null",
		"core.fsmonitor=false",
		"core.quotePath=false",
		"core.editor=:",
		"sequence.editor=:",
		"core.filesRefLockTimeout=2000",
		"core.packedRefsTimeout=5000",
		"gc.auto=0",
		"maintenance.auto=false",
		"commit.gpgSign=false",
		"tag.gpgSign=false",
		"log.showSignature=false",
		"i18n.commitEncoding=UTF-8",
		"i18n.logOutputEncoding=UTF-8",
		"branch.autoSetupMerge=false",
		"branch.autoSetupRebase=never",
		"worktree.guessRemote=false",
		"submodule.recurse=false",
		"merge.renormalize=false",
		"merge.verbosity=2",     // conflicts are named
		"core.splitIndex=false", // a copied index must not leave parts of itself beside the original
		"advice.detachedHead=false",
		"advice.addEmbeddedRepo=false",
		"protocol.ext.allow=never",
	} {
		args = append(args, "-c", kv)
	}
	return args
}

// passed are the only variables of git that a caller's environment may hand on: who commits, and where git is installed.
var passed = [...]string{
	"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_EXEC_PATH",
}

// environment takes out every variable that could point git at another repository, index, object store or
// configuration, or make it speak, trace or ask.
func environment(base []string, c call) []string {
	env := make([]string, 0, len(base)+12)
	for _, kv := range base {
		if name, _, _ := strings.Cut(kv, "="); keeps(name) {
			env = append(env, kv)
		}
	}
	env = append(env,
		"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=:", "GIT_SEQUENCE_EDITOR=:", "GIT_PAGER=cat",
		"GIT_ASKPASS=true", "SSH_ASKPASS=true", "GIT_SSH_COMMAND=ssh -oBatchMode=yes", "GCM_INTERACTIVE=never",
	)
	if c.index != "" {
		env = append(env, "GIT_INDEX_FILE="+c.index)
	}
	return append(env, c.env...)
}

func keeps(name string) bool {
	for _, p := range passed {
		if name == p {
			return true
		}
	}
	return !strings.HasPrefix(name, "GIT_") && name != "LC_ALL" && name != "LANGUAGE" && name != "SSH_ASKPASS"
}
