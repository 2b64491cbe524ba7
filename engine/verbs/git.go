package verbs

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"time"

	"ferrox/gates/strength"
)

const gitLimit = 20 * time.Second

// git runs git in the project's folder, read-only and without anything that the repository could make it start.
func (c *call) git(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(c.ctx, gitLimit)
	defer cancel()

	hardened := []string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-optional-locks", "--no-pager", "-C", c.dir}
	cmd := exec.CommandContext(ctx, "git", append(hardened, args...)...)
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "GIT_") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	out, err := cmd.Output()
	return string(out), err
}

// inRepository says whether the project's folder is inside a git repository.
func (c *call) inRepository() bool {
	_, in := worktreeTop(c.dir)
	return in
}

// lookUp says whether a commit is known to the repository. Outside one, and where there is no git, nobody can say.
func (c *call) lookUp(commit string) strength.CommitLookup {
	if !c.inRepository() {
		return strength.CommitUnchecked
	}
	_, err := c.git("rev-parse", "--verify", "--quiet", "--end-of-options", strings.TrimSpace(commit)+"^{commit}")
	switch {
	case err == nil:
		return strength.CommitKnown
	case errors.Is(err, exec.ErrNotFound):
		return strength.CommitUnchecked
	default:
		return strength.CommitUnknown
	}
}

// head is the commit that the project's folder stands on; ok is false when nobody can say.
func (c *call) head() (commit string, ok bool) {
	out, err := c.git("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	return strings.TrimSpace(out), err == nil
}

// changedSince lists the files that differ from a ref; none when git can't tell.
func (c *call) changedSince(ref string) []string {
	out, err := c.git("diff", "--name-only", "-z", "--no-ext-diff", "--no-textconv", "--end-of-options", ref, "--")
	if err != nil {
		c.warn("--diff-base: git can't compare with %q; nothing was added", ref)
		return nil
	}
	return strings.FieldsFunc(out, func(r rune) bool { return r == 0 })
}
