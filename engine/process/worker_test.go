//go:build linux

package process

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ferrox/engine"
	"ferrox/lanes"
)

// long is 300 KB of text that no quoting survives.
func long() []byte {
	return bytes.Repeat([]byte("naïve \"quotes\" 'and' $(echo no) `no` \\ %s\t\r\n日本語 \x01\n"), 6000)[:300<<10]
}

func TestW44_LongPromptArrivesByteExact(t *testing.T) {
	t.Parallel()
	b := newBench(t, `cat >copy`)
	want := append(long(), 0, 0xff, 0xfe) // nor does it have to be text
	ok(t, os.WriteFile(b.spec.Prompt, want, 0o600))
	if exit := b.finish(); exit.Code != 0 {
		t.Fatalf("exit = %+v", exit)
	}
	if got := b.read("copy"); got != string(want) {
		t.Errorf("%d bytes arrived changed, of %d", len(got), len(want))
	}
}

func TestW44_LongPromptNobodyReads(t *testing.T) {
	t.Parallel()
	b := newBench(t, `exit 0`)
	ok(t, os.WriteFile(b.spec.Prompt, long(), 0o600))
	if exit := b.finish(); exit.Code != 0 {
		t.Errorf("exit = %+v", exit)
	}
}

func TestW44_LongEscalationArrivesByteExact(t *testing.T) {
	t.Parallel()
	for name, socket := range map[string]string{"socket": "", "spool": "FERROX_SOCKET=/nowhere/s"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, `exec "$T" call escalate id-1 text`)
			if socket != "" {
				b.spec.Env = append(b.spec.Env, socket)
			}
			text := strings.ToValidUTF8(string(long()), "")
			ok(t, os.WriteFile(b.tree("text"), []byte(text), 0o600))
			if exit := b.finish(); exit.Code != 0 || !strings.Contains(exit.Tail, `\"id-1\"`) {
				t.Fatalf("exit = %+v", exit)
			}
			if got := b.stored("id-1"); got.Text != text || got.Verb != "escalate" {
				t.Errorf("%d bytes arrived changed, of %d", len(got.Text), len(text))
			}
		})
	}
}

// stored is a request as the handler committed it.
func (b *bench) stored(id string) engine.WorkerRequest {
	b.Helper()
	var r engine.WorkerRequest
	ok(b, readJSON(filepath.Join(b.spec.Store, id), &r))
	return r
}

// A worker gets its three descriptors, blocking, and ordinary signals; nothing of ours or of our callers.
func TestWorkerInheritsNothingElse(t *testing.T) {
	t.Parallel()
	leak, err := os.Open("/dev/null")
	ok(t, err)
	defer leak.Close()
	// As a careless caller would have left it to us.
	fd, err := unix.FcntlInt(leak.Fd(), unix.F_DUPFD, 50)
	ok(t, err)
	defer unix.Close(fd)

	b := newBench(t, `ls /proc/$$/fd >fds; grep -h flags /proc/$$/fdinfo/1 /proc/$$/fdinfo/2 >flags
		env >env; exec grep -E 'SigIgn|SigBlk' /proc/self/status >signals`)
	if exit := b.finish(); exit.Code != 0 {
		t.Fatalf("exit = %+v", exit)
	}
	// The shell has its redirection open as well.
	if fds := strings.Fields(b.read("fds")); slices.Contains(fds, "50") || len(fds) > 4 {
		t.Errorf("descriptors %q", fds)
	}
	for _, f := range strings.Fields(strings.ReplaceAll(b.read("flags"), "flags:", "")) {
		if len(f) >= 4 && (f[len(f)-4]-'0')&4 != 0 { // O_NONBLOCK is 04000
			t.Errorf("output is not blocking: flags %s", f)
		}
	}
	for _, f := range strings.Fields(b.read("signals")) {
		// Signals 32 and 33 are the C library's own: a thread that it starts at the same moment has them blocked.
		const library = 1<<31 | 1<<32
		if set, err := strconv.ParseUint(f, 16, 64); err == nil && set&^library != 0 {
			t.Errorf("ignored or blocked signals: %s", f)
		}
	}
	if env := b.read("env"); strings.Contains(env, readyEnv) || strings.Contains(env, "HOME=") {
		t.Errorf("environment:\n%s", env)
	}
}

func TestAncestryStaysBelowTheShim(t *testing.T) {
	t.Parallel()
	b := newBench(t, `env -i "W=$W" "T=$T" PATH="$PATH" setsid sh -c '(setsid sh -c "\"$T\" ancestors \"$W/chain\"" &) ; exit'
		until test -e chain; do sleep 0.01; done`)
	id := b.start()
	if exit := b.wait(id); exit.Code != 0 {
		t.Fatalf("exit = %+v %s", exit, b.log())
	}
	var chain []lanes.Identity
	ok(t, json.Unmarshal([]byte(b.read("chain")), &chain))
	if !slices.Contains(chain, id) {
		t.Errorf("shim %+v is not above the worker: %+v", id, chain)
	}
	self, err := Self()
	ok(t, err)
	if !slices.Contains(chain, self) {
		t.Errorf("we are not above the worker: %+v", chain)
	}
}

func TestAncestorsOfOurselves(t *testing.T) {
	t.Parallel()
	self, err := Self()
	ok(t, err)
	chain, err := Ancestors(os.Getpid())
	ok(t, err)
	if chain[0] != self || chain[1].PID != os.Getppid() {
		t.Errorf("chain = %+v", chain)
	}
	ns, err := PIDNamespace(os.Getpid())
	ok(t, err)
	if ns == 0 || self.PIDNS != ns || self.Start == 0 || self.Boot == "" {
		t.Errorf("self = %+v", self)
	}
	if _, err := Ancestors(1 << 30); err == nil {
		t.Error("ancestry of nobody")
	}
	if _, err := IdentityOf(1 << 30); err == nil {
		t.Error("identity of nobody")
	}
}

func TestParseStatOfHostileNames(t *testing.T) {
	t.Parallel()
	line := "42 (a) S 1 (\n) R 7 42 43 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 81386 5124096 919 0"
	s, err := parseStat(line)
	ok(t, err)
	if s.pid != 42 || s.ppid != 7 || s.session != 43 || s.start != 81386 || s.state != 'R' {
		t.Errorf("stat = %+v", s)
	}
	if got := s.String(); got != `42 a) S 1 (\n` {
		t.Errorf("name = %q", got)
	}
	for _, bad := range []string{"", "42", "42 (x", "42 (x) R 1 2", ") ("} {
		if _, err := parseStat(bad); err == nil {
			t.Errorf("%q parsed", bad)
		}
	}
}
