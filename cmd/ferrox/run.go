package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"ferrox/engine"
	"ferrox/engine/gitcli"
	"ferrox/engine/process"
	"ferrox/engine/sqlite"
	"ferrox/engine/sshsig"
	"ferrox/engine/verbs"
	"ferrox/engine/watch"
	"ferrox/lanes"
)

// run is the program as a function of its surroundings. Verbs and the shim are told apart before any command tree is
// built, because agents call them often.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, env: env}
	if code, done := a.early(args); done {
		return code
	}
	ctx, stop := signal.NotifyContext(context.Background(), hangups...)
	defer stop()
	cmd := a.commands()
	cmd.SetArgs(args[1:])
	cmd.SetIn(stdin)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	at, err := cmd.ExecuteContextC(ctx)
	if errors.As(err, new(usageError)) {
		a.at, a.json = at.CommandPath(), a.json || slices.Contains(args, "--json") // parsing may have ended before it
	}
	return a.finish(err)
}

// hangups are the signals that end a command. An engine parks at the first one instead.
var hangups = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// app is one call of the program.
type app struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	env    []string

	repo    string // --repo
	json    bool
	plain   bool
	request string // --request-id
	at      string // the command whose usage is wrong, for its help
}

func (a *app) getenv(name string) string {
	for _, kv := range a.env {
		if n, v, ok := strings.Cut(kv, "="); ok && n == name {
			return v
		}
	}
	return ""
}

// opened is an engine with what has to be closed after it.
type opened struct {
	*engine.Engine
	store *sqlite.Store
	watch *watch.Watcher
}

func (o *opened) close() error {
	var errs []error
	if o.watch != nil {
		errs = append(errs, o.watch.Close())
	}
	if o.store != nil {
		errs = append(errs, o.store.Close())
	}
	return errors.Join(errs...)
}

// open wires an engine for the repository that the call is about. It is the one place that names concrete types.
func (a *app) open(ctx context.Context) (*opened, error) {
	git, info, err := a.openRepo(ctx)
	if err != nil {
		return nil, err
	}
	home := filepath.Join(info.CommonDir, "ferrox")
	e, err := a.wire(ctx, home, info.Root)
	if err != nil {
		return nil, err
	}
	e.Git = git
	return e, nil
}

// signLimit bounds one signature. It is set when the program is built; nothing changes it after.
var signLimit = "1m"

func (a *app) openRepo(ctx context.Context) (*gitcli.Repo, engine.RepoInfo, error) {
	dir := a.repo
	if dir == "" {
		dir = "."
	}
	limit, err := time.ParseDuration(signLimit)
	if err != nil {
		return nil, engine.RepoInfo{}, fmt.Errorf("this ferrox was built with the sign limit %q: %w", signLimit, err)
	}
	git, err := gitcli.Open(ctx, dir, gitcli.WithSignLimit(limit))
	if err != nil {
		return nil, engine.RepoInfo{}, noRepository(dir, err)
	}
	info, err := git.Inspect(ctx)
	return git, info, err
}

// noRepository says what is the matter where no repository could be opened: there is none, git does not trust its owner, or
// git cannot read the one that is there.
func noRepository(dir string, err error) error {
	if abs, absErr := filepath.Abs(dir); absErr == nil {
		dir = abs
	}
	top := dir
	for ; !exists(filepath.Join(top, ".git")); top = filepath.Dir(top) {
		if top == filepath.Dir(top) {
			top = ""
			break
		}
	}
	var said *engine.GitError
	switch {
	case errors.Is(err, engine.ErrUntrusted):
		return &engine.Error{
			Exit: engine.ExitUsage, Code: "untrusted-repository", Message: fmt.Sprintf("%s belongs to another user, and git does not trust it", cmp.Or(top, dir)),
			Next: "git config --global --add safe.directory " + cmp.Or(top, dir),
		}
	case !errors.Is(err, engine.ErrNotRepository):
		return err
	case top != "" && errors.As(err, &said):
		return &engine.Error{
			Exit: engine.ExitUsage, Code: "broken-repository", Message: fmt.Sprintf("git cannot read the repository in %s: %v", top, said),
			Next: "git -C " + top + " status",
		}
	}
	return &engine.Error{Exit: engine.ExitUsage, Code: "not-a-repository", Message: fmt.Sprintf("%s is not in a git repository", dir), Next: "git init"}
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// wire builds an engine over a state folder.
func (a *app) wire(ctx context.Context, home, root string) (*opened, error) {
	lock := process.NewLock(filepath.Join(home, "engine.lock"))
	store, err := openStore(ctx, home, lock)
	if err != nil {
		return nil, err
	}
	self, err := process.Self()
	if err != nil {
		self = lanes.Identity{} // who this is cannot be known: it may look, and do nothing that needs authority
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	clock := a.clock()
	log := slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	bell := filepath.Join(home, "bell")
	e := &engine.Engine{
		Store: engine.NewWall(store, sshsig.Verifier{}, clock), Signatures: sshsig.Verifier{}, Planning: verbs.Planning{Root: root}, ShipGate: a.shipGate(root), Workers: &process.Runner{Exe: exe}, Clock: clock, Lock: lock, Self: self, Home: home, Root: root,
		Exe: exe, Env: a.env, Limit: engine.CommandLimit, User: userName(), NewID: engine.NewID, Ring: func() { _ = watch.Ring(bell) }, Logger: log,
	}
	return &opened{Engine: e, store: store}, nil
}

// openStore opens the state. Only a start without a live engine brings the schema up to date.
func openStore(ctx context.Context, home string, lock *process.Lock) (*sqlite.Store, error) {
	held, err := lock.Held()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, fmt.Errorf("make the state folder: %w (%w)", engine.ErrDisk, err)
	}
	return sqlite.Open(ctx, filepath.Join(home, "ferrox.db"), sqlite.Options{Migrate: !held})
}

// attend makes an opened engine one that can run a batch: it hears the doorbell and adopts orphans.
func (o *opened) attend() error {
	o.watch = watch.New(watch.Poll, o.Logger)
	o.Watch = o.watch
	bell := filepath.Join(o.Home, "bell")
	if err := watch.Ring(bell); err != nil {
		return err
	}
	return errors.Join(o.watch.Watch(bell), process.BecomeSubreaper())
}

func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}
