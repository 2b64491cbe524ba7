//go:build linux

package process

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ferrox/engine"
)

// open starts a worker that waits to be ended and returns once its socket is there.
func openBench(t *testing.T, change func(*bench)) *bench {
	t.Helper()
	b := newBench(t, `echo ready >ready; exec sleep 1000`)
	if change != nil {
		change(b)
	}
	b.start()
	b.see("ready", 1)
	return b
}

func (b *bench) call(env func(string) string, req engine.WorkerRequest) (engine.WorkerAnswer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return Call(ctx, env, req)
}

// with replaces one variable of the environment.
func (b *bench) with(name, value string) func(string) string {
	return func(n string) string {
		if n == name {
			return value
		}
		return b.env(n)
	}
}

func TestCallCommitsBeforeItAnswers(t *testing.T) {
	t.Parallel()
	b := openBench(t, nil)
	a, err := b.call(b.env, engine.WorkerRequest{ID: "id-1", Verb: "ack", ReplyTo: "r-1"})
	ok(t, err)
	if a.Exit != 0 || a.Result != `"id-1"` || a.Text != "ack" {
		t.Errorf("answer = %+v", a)
	}
	if got := b.stored("id-1"); got.ReplyTo != "r-1" || got.Token != b.spec.Token {
		t.Errorf("stored = %+v", got)
	}
	a, err = b.call(b.env, engine.WorkerRequest{Verb: "ack"})
	if ok(t, err); len(a.Result) < 10 {
		t.Errorf("no id was chosen: %+v", a)
	}
	info, err := os.Stat(b.spec.Socket)
	if ok(t, err); info.Mode().Perm() != 0o600 {
		t.Errorf("socket mode %o", info.Mode().Perm())
	}
}

func TestCallWithAnotherToken(t *testing.T) {
	t.Parallel()
	for name, socket := range map[string]string{"socket": "", "spool": "/nowhere"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := openBench(t, nil)
			env := func(n string) string {
				if n == "FERROX_TOKEN" {
					return "guess"
				}
				return b.with("FERROX_SOCKET", socket+b.spec.Socket)(n)
			}
			a, err := b.call(env, engine.WorkerRequest{ID: "id-1", Verb: "escalate"})
			ok(t, err)
			if a.Exit != 4 || errorCode(t, a) != "not-a-worker" {
				t.Errorf("answer = %+v", a)
			}
			if exists(filepath.Join(b.spec.Store, "id-1")) {
				t.Error("it was carried out")
			}
		})
	}
}

func TestCallOutsideOfAWorker(t *testing.T) {
	t.Parallel()
	for _, missing := range []string{"FERROX_TOKEN", "FERROX_SOCKET"} {
		env := func(n string) string {
			if n == missing {
				return ""
			}
			return "x"
		}
		if _, err := Call(context.Background(), env, engine.WorkerRequest{}); !errors.Is(err, ErrNotWorker) || !strings.Contains(err.Error(), "not-a-worker") {
			t.Errorf("without %s: %v", missing, err)
		}
	}
}

func TestCallWithoutSockets(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(b *bench) string{
		"no socket there": func(b *bench) string { return b.tree("nothing") },
		"not a socket":    func(b *bench) string { return b.spec.Prompt },
		"nobody listens": func(b *bench) string {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: b.tree("dead"), Net: "unix"})
			ok(b, err)
			l.SetUnlinkOnClose(false)
			ok(b, l.Close())
			return b.tree("dead")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := openBench(t, nil)
			a, err := b.call(b.with("FERROX_SOCKET", spoil(b)), engine.WorkerRequest{ID: "id-1", Verb: "escalate", Text: "?"})
			ok(t, err)
			if a.Exit != 0 || b.stored("id-1").Text != "?" {
				t.Errorf("answer = %+v", a)
			}
			left, err := os.ReadDir(b.spec.Spool)
			if ok(t, err); len(left) > 0 {
				t.Errorf("left in the spool: %v", left)
			}
			if b.read(".ferrox/.gitignore") != "*\n" {
				t.Error("the spool could be committed")
			}
		})
	}
}

func TestCallFromAnotherPIDNamespace(t *testing.T) {
	t.Parallel()
	b := newBench(t, `unshare --pid --fork --mount-proc true || exit 99
		unshare --pid --fork --mount-proc "$T" call escalate id-1 -`)
	exit := b.finish()
	if exit.Code == 99 {
		t.Skip("no right to make a pid namespace")
	}
	if exit.Code != 0 || b.stored("id-1").Verb != "escalate" {
		t.Errorf("exit = %+v", exit)
	}
}

func TestSocketPathAboveTheKernelsLimit(t *testing.T) {
	t.Parallel()
	b := openBench(t, func(b *bench) {
		deep := filepath.Join(filepath.Dir(b.spec.Dir), strings.Repeat("d", 120))
		ok(b, os.Mkdir(deep, 0o700))
		b.spec.Socket = filepath.Join(deep, "shim.sock")
		b.spec.Env = append(b.spec.Env, "FERROX_SOCKET="+b.spec.Socket)
	})
	a, err := b.call(b.with("FERROX_WORKTREE", ""), engine.WorkerRequest{ID: "id-1", Verb: "ack"})
	if ok(t, err); a.Exit != 0 {
		t.Errorf("answer = %+v", a)
	}
}

func TestSilentAndSlowClientsHoldUpNobody(t *testing.T) {
	t.Parallel()
	b := openBench(t, nil)
	for range 40 {
		c, err := net.Dial("unix", b.spec.Socket)
		ok(t, err)
		defer c.Close()
		_, err = io.WriteString(c, `{"id":`)
		ok(t, err)
	}
	slow := make(chan error, 1)
	go func() {
		_, err := b.call(b.env, engine.WorkerRequest{ID: "slow", Verb: "block", Text: "go"})
		slow <- err
	}()
	begun := time.Now()
	a, err := b.call(b.env, engine.WorkerRequest{ID: "quick", Verb: "ack"})
	if ok(t, err); a.Exit != 0 || time.Since(begun) > requestTime/2 {
		t.Errorf("answer = %+v after %s", a, time.Since(begun))
	}
	if exists(filepath.Join(b.spec.Store, "slow")) {
		t.Error("the slow one was not slow")
	}
	ok(t, os.WriteFile(filepath.Join(b.spec.Store, "go"), nil, 0o600))
	ok(t, <-slow)
}

func TestSameIDOneAfterTheOther(t *testing.T) {
	t.Parallel()
	entered, leave := make(chan struct{}, 2), make(chan struct{})
	d := newDesk("t", func(context.Context, engine.WorkerRequest) (engine.WorkerAnswer, error) {
		entered <- struct{}{}
		<-leave
		return engine.WorkerAnswer{}, nil
	})
	done := make(chan engine.WorkerAnswer, 3)
	ask := func(id string) {
		a, _ := d.answer(context.Background(), []byte(`{"id":"`+id+`","token":"t"}`))
		done <- a
	}
	go ask("same")
	<-entered
	go ask("same")
	go ask("other")
	<-entered // the other one; the same one must wait
	if len(d.busy) != 2 || len(entered) != 0 {
		t.Errorf("%d in work, %d more entered", len(d.busy), len(entered))
	}
	close(leave)
	for range 3 {
		if a := <-done; a.Exit != 0 {
			t.Errorf("answer = %+v", a)
		}
	}
	if len(entered) != 1 || len(d.busy) != 0 {
		t.Errorf("%d entered, %d in work", len(entered), len(d.busy))
	}
}

// F091: what cannot be read is answered with an error, and the shim goes on.
func TestF091_RequestsThatCannotBeTaken(t *testing.T) {
	t.Parallel()
	b := openBench(t, nil)
	for name, c := range map[string]struct {
		line, code string
		exit       int
	}{
		"not JSON":  {"nonsense\n", "bad-request", 2},
		"no id":     {`{"token":"` + b.spec.Token + `"}` + "\n", "bad-request", 2},
		"no token":  {"{}\n", "not-a-worker", 4},
		"too large": {strings.Repeat("x", maxRequest+10) + "\n", "too-large", 2},
		"no commit": {`{"id":"1","verb":"fail","token":"` + b.spec.Token + `"}` + "\n", "failed", 1},
	} {
		a, err := callSocket(context.Background(), b.spec.Socket, []byte(strings.TrimSuffix(c.line, "\n")))
		if ok(t, err); a.Exit != c.exit || errorCode(t, a) != c.code {
			t.Errorf("%s: %+v", name, a)
		}
	}
	a, err := b.call(b.env, engine.WorkerRequest{Verb: "ack", Text: strings.Repeat("x", maxRequest)})
	if ok(t, err); a.Exit != 2 || !strings.Contains(a.Text, "8388608") {
		t.Errorf("answer = %+v", a)
	}
}

// F024: what a worker puts into the spool is not trusted to be a small regular file.
func TestHostileSpool(t *testing.T) {
	t.Parallel()
	b := openBench(t, func(b *bench) {
		ok(b, os.MkdirAll(b.spec.Spool, 0o700))
		at := func(n string) string { return filepath.Join(b.spec.Spool, n) }
		ok(b, unix.Mkfifo(at("1.req.json"), 0o600))
		ok(b, os.Symlink("/dev/zero", at("2.req.json")))
		ok(b, os.WriteFile(at("3.req.json"), []byte("{"), 0o600))
		ok(b, os.MkdirAll(at("4.req.json/x"), 0o700))
		ok(b, os.WriteFile(at("5.req.json"), make([]byte, maxRequest+10), 0o600))
	})
	a, err := b.call(b.with("FERROX_SOCKET", "/nowhere"), engine.WorkerRequest{ID: "id-1", Verb: "ack"})
	if ok(t, err); a.Exit != 0 {
		t.Errorf("answer = %+v", a)
	}
}

// A request that was spooled in the worker's last moment counts, and its answer is not left lying about.
func TestSpoolIsDrainedAtTheEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t, `mkdir -p .ferrox/spool; cd .ferrox/spool
		printf '{"id":"last","verb":"escalate","token":"%s"}' "$FERROX_TOKEN" >t; mv t 1.req.json`)
	if exit := b.finish(); exit.Code != 0 {
		t.Fatalf("exit = %+v", exit)
	}
	if b.stored("last").Verb != "escalate" {
		t.Error("not carried out")
	}
	if left, _ := os.ReadDir(b.spec.Spool); len(left) > 0 {
		t.Errorf("left in the spool: %v", left)
	}
}

func TestDrainSpoolKeepsWhatFailed(t *testing.T) {
	t.Parallel()
	spool, ctx := t.TempDir(), context.Background()
	put := func(stem, id, token string) {
		ok(t, os.WriteFile(filepath.Join(spool, stem+requestSuffix), []byte(`{"id":"`+id+`","token":"`+token+`"}`), 0o600))
	}
	put("2", "b", "t")
	put("1", "a", "t")
	put("3", "c", "another")
	var got []string
	full := errors.New("disk is full")
	fn := func(r engine.WorkerRequest) (engine.WorkerAnswer, error) {
		got = append(got, r.ID)
		if r.ID == "b" {
			return engine.WorkerAnswer{}, full
		}
		return engine.WorkerAnswer{}, nil
	}
	r := new(Runner)
	if err := r.DrainSpool(ctx, spool, "t", fn); !errors.Is(err, full) {
		t.Errorf("DrainSpool: %v", err)
	}
	full = nil
	ok(t, r.DrainSpool(ctx, spool, "t", func(q engine.WorkerRequest) (engine.WorkerAnswer, error) {
		got = append(got, q.ID)
		return engine.WorkerAnswer{}, nil
	}))
	if strings.Join(got, " ") != "a b b" {
		t.Errorf("order: %q", got)
	}
	if left, _ := os.ReadDir(spool); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	ok(t, r.DrainSpool(ctx, filepath.Join(spool, "none"), "t", fn))
}

func errorCode(t *testing.T, a engine.WorkerAnswer) string {
	t.Helper()
	var e struct {
		Error struct{ Code string }
	}
	ok(t, json.Unmarshal([]byte(a.Error), &e))
	return e.Error.Code
}
