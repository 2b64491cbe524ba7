package gitcli

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"ferrox/engine"
	"ferrox/lanes"
)

// Limits of one git call unless an option says otherwise.
const (
	defaultLimit     = 2 * time.Minute
	defaultSignLimit = time.Minute
	defaultPatience  = 15 * time.Second
)

// Repo is one git repository, reached through its common directory, so it works the same from every worktree.
type Repo struct {
	common    string // absolute common directory
	root      string // absolute top of the main checkout; "" when there is none or it is not known
	bare      bool
	version   string
	limit     time.Duration
	signLimit time.Duration
	patience  time.Duration // how long a foreign lock file is waited for

	worktrees sync.Mutex // git's own worktree commands trip over each other
	landed    lineage    // of the branch that this process lands on
	objects   reader
	related   relations
	deflaters sync.Pool // of *zlib.Writer

	mu      sync.Mutex
	config  *config  // nil until it was looked up
	persons *persons // nil until they were looked up
}

var _ engine.Git = (*Repo)(nil)

// Option changes a limit.
type Option func(*Repo)

// WithLimit bounds one git call; 2 minutes by default.
func WithLimit(d time.Duration) Option { return func(r *Repo) { r.limit = d } }

// WithSignLimit bounds one call that signs; 1 minute by default.
func WithSignLimit(d time.Duration) Option { return func(r *Repo) { r.signLimit = d } }

// WithPatience bounds how long a lock file of another git process is waited for; 15 seconds by default.
func WithPatience(d time.Duration) Option { return func(r *Repo) { r.patience = d } }

// Open finds the repository that dir belongs to: a checkout, a folder in one, a linked worktree or a bare repository. It
// returns engine.ErrNotRepository when there is none.
func Open(ctx context.Context, dir string, opts ...Option) (*Repo, error) {
	r := &Repo{limit: defaultLimit, signLimit: defaultSignLimit, patience: defaultPatience}
	for _, opt := range opts {
		opt(r)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open repository %s: %w", dir, err)
	}
	if err := r.find(ctx, abs); err != nil {
		return nil, fmt.Errorf("open repository %s: %w", abs, err)
	}
	return r, nil
}

func (r *Repo) find(ctx context.Context, dir string) error {
	out, err := r.run(ctx, call{
		cwd:  dir,
		args: []string{"rev-parse", "--path-format=absolute", "--is-bare-repository", "--git-dir", "--git-common-dir"},
	})
	if err != nil {
		return notRepository(err)
	}
	bare, rest, _ := bytes.Cut(out, []byte("\n"))
	gitDir, common, err := splitDirs(string(rest))
	if err != nil {
		return err
	}
	r.common = filepath.Clean(common)
	if err := r.readVersion(ctx); err != nil {
		return err
	}
	return r.findRoot(ctx, dir, filepath.Clean(gitDir), string(bare) == "true")
}

// splitDirs takes apart two paths that git printed a line each. A path with a line break in it cannot be told from two.
func splitDirs(s string) (gitDir, common string, err error) {
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	if len(lines) != 2 {
		return "", "", fmt.Errorf("%w: the path of the git directory has a line break; move the repository", engine.ErrNotRepository)
	}
	return lines[0], lines[1], nil
}

// findRoot settles where the main checkout is. Seen from it, git says; seen from elsewhere, the worktree list does.
func (r *Repo) findRoot(ctx context.Context, dir, gitDir string, bare bool) error {
	if !bare && gitDir == r.common && !within(dir, r.common) {
		out, err := r.run(ctx, call{cwd: dir, args: []string{"rev-parse", "--path-format=absolute", "--show-toplevel"}})
		if err != nil {
			return notRepository(err)
		}
		r.root = filepath.Clean(strings.TrimSuffix(string(out), "\n"))
		return nil
	}
	records, err := r.worktreeRecords(ctx)
	if err != nil {
		return err
	}
	if len(records) == 0 || records[0].bare {
		r.bare = true
		return nil
	}
	if r.root = records[0].Dir; r.root == r.common {
		r.root, err = r.movedRoot(ctx)
	}
	return err
}

// movedRoot is the checkout of a repository whose git directory lies elsewhere, as a submodule's does; "" when the
// repository does not say where.
func (r *Repo) movedRoot(ctx context.Context) (string, error) {
	out, err := r.run(ctx, call{args: []string{"config", "--get", "core.worktree"}, okExit: 1})
	path := strings.TrimSuffix(string(out), "\n")
	if err != nil || path == "" || filepath.IsAbs(path) {
		return path, err
	}
	return filepath.Join(r.common, path), nil
}

func (r *Repo) readVersion(ctx context.Context) error {
	out, err := r.git(ctx, "version")
	if err != nil {
		return err
	}
	r.version = strings.TrimPrefix(strings.TrimSpace(string(out)), "git version ")
	return nil
}

// Inspect looks at the repository as it is now.
func (r *Repo) Inspect(ctx context.Context) (engine.RepoInfo, error) {
	out, err := r.git(ctx, "rev-parse", "--is-shallow-repository")
	if err != nil {
		return engine.RepoInfo{}, fmt.Errorf("inspect repository: %w", notRepository(err))
	}
	records, err := r.worktreeRecords(ctx)
	if err != nil {
		return engine.RepoInfo{}, fmt.Errorf("inspect repository: %w", err)
	}
	info := engine.RepoInfo{
		Root:      r.root,
		CommonDir: r.common,
		Bare:      r.bare,
		Shallow:   strings.TrimSpace(string(out)) == "true",
		Version:   r.version,
	}
	return r.inspectHead(ctx, info, records)
}

// inspectHead adds what HEAD of the main checkout says. The worktree list leaves it out for a bare repository.
func (r *Repo) inspectHead(ctx context.Context, info engine.RepoInfo, records []worktreeRecord) (engine.RepoInfo, error) {
	if len(records) > 0 && !records[0].bare {
		info.Head, info.Branch = records[0].Head, records[0].Branch
	} else {
		head, branch, err := r.head(ctx, call{})
		if err != nil {
			return info, fmt.Errorf("inspect repository: %w", err)
		}
		info.Head, info.Branch = head, branch
	}
	info.Unborn = info.Head == ""
	info.Detached = info.Branch == "" && !info.Unborn
	return info, nil
}

// head reads HEAD where c runs: the commit ("" when unborn) and the branch ("" when detached).
func (r *Repo) head(ctx context.Context, c call) (lanes.Commit, string, error) {
	c.okExit = 1
	c.args = []string{"rev-parse", "--verify", "--quiet", "HEAD^{commit}"}
	out, err := r.run(ctx, c)
	if err != nil {
		return "", "", err
	}
	c.args = []string{"symbolic-ref", "--quiet", "HEAD"}
	ref, err := r.run(ctx, c)
	if err != nil {
		return "", "", err
	}
	branch := strings.TrimPrefix(strings.TrimSpace(string(ref)), "refs/heads/")
	return lanes.Commit(strings.TrimSpace(string(out))), branch, nil
}
