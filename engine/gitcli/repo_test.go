package gitcli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ferrox/engine"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	lane := f.lane("lane-1")
	bare := filepath.Join(f.top, "bare.git")
	f.git(f.top, "clone", "-q", "--bare", f.dir, bare)

	for name, dir := range map[string]string{
		"main checkout": f.dir, "folder in it": filepath.Join(f.dir, "docs"), "linked worktree": filepath.Join(lane, "docs"),
		"git directory": filepath.Join(f.dir, ".git"),
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Open(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			info, err := r.Inspect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			want := engine.RepoInfo{Root: f.dir, CommonDir: filepath.Join(f.dir, ".git"), Head: f.base, Branch: "main", Version: info.Version}
			if info != want || !strings.HasPrefix(info.Version, "2.") {
				t.Errorf("got %+v, want %+v", info, want)
			}
		})
	}
	t.Run("bare", func(t *testing.T) {
		r, err := Open(t.Context(), bare)
		if err != nil {
			t.Fatal(err)
		}
		info, err := r.Inspect(t.Context())
		if err != nil || !info.Bare || info.Root != "" || info.Head != f.base || info.Branch != "main" {
			t.Errorf("got %+v, %v", info, err)
		}
	})
	t.Run("worktree of a submodule", func(t *testing.T) {
		outer := newFixture(t)
		outer.git(outer.dir, "submodule", "--quiet", "add", f.dir, "lib")
		sub, linked := filepath.Join(outer.dir, "lib"), filepath.Join(outer.top, "linked")
		outer.git(sub, "worktree", "add", "-q", "-b", "other", linked)
		for _, dir := range []string{sub, linked} {
			r, err := Open(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			if info, err := r.Inspect(t.Context()); err != nil || info.Bare || info.Root != sub {
				t.Errorf("from %s: got %+v, %v", dir, info, err)
			}
		}
	})
	for name, dir := range map[string]string{"no repository": f.top, "no such folder": filepath.Join(f.top, "none")} {
		t.Run(name, func(t *testing.T) {
			if _, err := Open(t.Context(), dir); !errors.Is(err, engine.ErrNotRepository) {
				t.Errorf("got %v, want ErrNotRepository", err)
			}
		})
	}
}

func TestInspect_HeadStates(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.git(f.dir, "checkout", "-q", "--detach")
	info, err := f.repo.Inspect(t.Context())
	if err != nil || !info.Detached || info.Unborn || info.Branch != "" || info.Head != f.base {
		t.Errorf("detached: got %+v, %v", info, err)
	}

	empty := filepath.Join(f.top, "empty")
	f.git(f.top, "init", "-q", "-b", "trunk", empty)
	r, err := Open(t.Context(), empty)
	if err != nil {
		t.Fatal(err)
	}
	info, err = r.Inspect(t.Context())
	if err != nil || !info.Unborn || info.Detached || info.Head != "" || info.Branch != "trunk" {
		t.Errorf("unborn: got %+v, %v", info, err)
	}

	shallow := filepath.Join(f.top, "shallow")
	f.commit(f.dir, "second")
	f.git(f.top, "clone", "-q", "--depth=1", "file://"+f.dir, shallow)
	r, err = Open(t.Context(), shallow)
	if err != nil {
		t.Fatal(err)
	}
	if info, err = r.Inspect(t.Context()); err != nil || !info.Shallow {
		t.Errorf("shallow: got %+v, %v", info, err)
	}
}

func TestEnvironment_ScrubsWhatPointsElsewhere(t *testing.T) {
	t.Parallel()
	env := environment([]string{
		"HOME=/h", "GIT_DIR=/x", "GIT_WORK_TREE=/x", "GIT_INDEX_FILE=/x", "GIT_OBJECT_DIRECTORY=/x", "GIT_CONFIG_GLOBAL=/x",
		"GIT_CONFIG_COUNT=1", "GIT_ALTERNATE_OBJECT_DIRECTORIES=/x", "GIT_NAMESPACE=x", "GIT_TRACE=1", "LC_ALL=de_DE",
		"GIT_AUTHOR_NAME=Ann", "GIT_EDITOR=vi",
	}, call{index: "/i"})
	for _, kv := range env {
		if strings.HasSuffix(kv, "=/x") || strings.Contains(kv, "TRACE") || kv == "GIT_EDITOR=vi" || kv == "LC_ALL=de_DE" || strings.HasPrefix(kv, "GIT_CONFIG") {
			t.Errorf("%s is handed on", kv)
		}
	}
	for _, kv := range []string{"HOME=/h", "GIT_AUTHOR_NAME=Ann", "GIT_INDEX_FILE=/i", "LC_ALL=C", "GIT_TERMINAL_PROMPT=0"} {
		if !slices.Contains(env, kv) {
			t.Errorf("%s is missing", kv)
		}
	}
}

// Not parallel: it changes the environment of this process.
func TestOpen_IgnoresCallersRepository(t *testing.T) {
	f := newFixture(t)
	other := newFixture(t)
	other.write(other.dir, "other.txt", "x")
	other.commit(other.dir, "other")
	t.Setenv("GIT_DIR", filepath.Join(other.dir, ".git"))
	t.Setenv("GIT_INDEX_FILE", filepath.Join(other.dir, ".git", "index"))
	r, err := Open(t.Context(), f.dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Resolve(t.Context(), "main"); err != nil || got != f.base {
		t.Errorf("main is %s, %v; want %s", got, err, f.base)
	}
}

// Not parallel: it takes the configuration away from this process.
func TestCommit_WithoutConfiguredIdentity(t *testing.T) {
	f := newFixture(t)
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	commit := func(repo *Repo) string {
		c, err := repo.CommitFiles(t.Context(), f.base, []engine.File{{Path: "x", Mode: "100644", Data: []byte("x")}}, "x", at, false)
		if err != nil {
			t.Fatal(err)
		}
		return f.git(f.dir, "show", "-s", "--format=%an <%ae> %cn <%ce> %at", string(c))
	}
	if got, want := commit(f.repo), "ferrox <ferrox@localhost> ferrox <ferrox@localhost> 1772366400"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	f.git(f.dir, "config", "user.name", "Configured")
	again, err := Open(t.Context(), f.dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := commit(again), "Configured <ferrox@localhost> Configured <ferrox@localhost> 1772366400"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRun_TimeLimit(t *testing.T) {
	t.Parallel()
	f := newFixture(t, WithLimit(300*time.Millisecond))
	f.git(f.dir, "config", "alias.hang", "!trap '' TERM; sleep 1000")
	start := time.Now()
	_, err := f.repo.git(t.Context(), "hang")
	if !errors.Is(err, engine.ErrGitTimeout) {
		t.Errorf("got %v, want ErrGitTimeout", err)
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("it took %s", d)
	}
	var g *engine.GitError
	if !errors.As(err, &g) || g.Args[0] != "hang" {
		t.Errorf("got %#v, want a GitError without the hardening options", err)
	}
}

func TestRun_CancelledByCaller(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := f.repo.Resolve(ctx, "main")
	if !errors.Is(err, context.Canceled) || errors.Is(err, engine.ErrGitTimeout) || errors.Is(err, engine.ErrNoSuchRevision) {
		t.Errorf("got %v, want context.Canceled alone", err)
	}
}

// hook leaves a mark when git runs it.
func (f *fixture) hook(name string) (mark string) {
	f.t.Helper()
	mark = filepath.Join(f.top, "ran-"+name)
	path := filepath.Join(f.dir, ".git", "hooks", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\ntouch '"+mark+"'\nexit 1\n"), 0o755); err != nil {
		f.t.Fatal(err)
	}
	return mark
}

func TestHooksDoNotRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	marks := []string{f.hook("post-checkout"), f.hook("reference-transaction"), f.hook("post-index-change")}
	f.git(f.dir, "config", "core.fsmonitor", filepath.Join(f.dir, ".git", "hooks", "post-checkout"))
	dir := filepath.Join(f.top, "lanes", "x")
	if err := f.repo.AddWorktree(t.Context(), dir, "ferrox/b/x", f.base); err != nil {
		t.Fatal(err)
	}
	if _, err := f.repo.Status(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	for _, mark := range marks {
		if _, err := os.Stat(mark); err == nil {
			t.Errorf("%s: a hook ran", filepath.Base(mark))
		}
	}
}
