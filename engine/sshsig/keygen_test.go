package sshsig

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ferrox/engine"
	"ferrox/mailbox"
)

// now is the instant of most tests.
var now = time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)

var statement = mailbox.Statement{Batch: "b1", Hold: "01H", Gate: "g", Verdict: "fix", Nonce: "n1", Text: "use\nthe second"}.Bytes()

// kinds are the keys that ssh-keygen makes without a token.
var kinds = map[string][]string{
	"ed25519":  {"-t", "ed25519"},
	"nistp256": {"-t", "ecdsa", "-b", "256"},
	"nistp384": {"-t", "ecdsa", "-b", "384"},
	"nistp521": {"-t", "ecdsa", "-b", "521"},
	"rsa":      {"-t", "rsa", "-b", "2048"},
}

// keygen makes a key and returns its file.
func keygen(t *testing.T, args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if out, err := exec.Command("ssh-keygen", append([]string{"-q", "-N", "", "-C", "x", "-f", file}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v: %s", err, out)
	}
	return file
}

// public returns the line of a key's public file.
func public(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// keygenSign signs with ssh-keygen -Y sign.
func keygenSign(t *testing.T, file, namespace string, message []byte, more ...string) string {
	t.Helper()
	cmd := exec.Command("ssh-keygen", append([]string{"-Y", "sign", "-f", file, "-n", namespace}, more...)...)
	cmd.Stdin = bytes.NewReader(message)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("ssh-keygen -Y sign: %v", err)
	}
	return string(out)
}

// keygenVerify asks ssh-keygen -Y verify.
func keygenVerify(t *testing.T, signers, principal, signature string, message []byte) error {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"signers": signers, "sig": signature} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("ssh-keygen", "-Y", "verify", "-f", filepath.Join(dir, "signers"), "-I", principal,
		"-n", engine.RulingNamespace, "-s", filepath.Join(dir, "sig"))
	cmd.Stdin = bytes.NewReader(message)
	return cmd.Run()
}

// TestBothWays: what we sign ssh-keygen verifies, and what it signs we verify, for every kind of key and both hashes.
func TestBothWays(t *testing.T) {
	t.Parallel()
	for name, args := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := keygen(t, args...)
			signers := "supervisor/bob " + public(t, file) + "\n"
			ours, err := Sign(t.Context(), file, "", statement)
			if err != nil {
				t.Fatal(err)
			}
			if err := keygenVerify(t, signers, "supervisor/bob", ours, statement); err != nil {
				t.Errorf("ssh-keygen refuses our signature: %v", err)
			}
			if err := keygenVerify(t, signers, "supervisor/bob", ours, append(bytes.Clone(statement), 'x')); err == nil {
				t.Error("ssh-keygen takes our signature for another text")
			}
			for _, signature := range []string{
				ours, keygenSign(t, file, engine.RulingNamespace, statement),
				keygenSign(t, file, engine.RulingNamespace, statement, "-O", "hashalg=sha256"),
			} {
				who, err := Verifier{}.Verify(signers, signature, statement, now)
				if err != nil || who.Principal != "supervisor/bob" || who.Role != mailbox.RoleSupervisor {
					t.Errorf("%+v, %v", who, err)
				}
				if _, err := (Verifier{}).Verify(signers, signature, append([]byte("x"), statement...), now); err == nil {
					t.Error("good for another text")
				}
			}
		})
	}
}

// startAgent runs a real ssh-agent until the test ends.
func startAgent(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	cmd := exec.Command("ssh-agent", "-D", "-a", socket)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	})
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 2000 {
		if c, err := net.Dial("unix", socket); err == nil {
			_ = c.Close()
			return socket
		}
		<-tick.C
	}
	t.Fatal("no agent in 10 s")
	return ""
}

// TestAgent: a key that the agent has signs by its public file, by its fingerprint, and by its encrypted private file.
func TestAgent(t *testing.T) {
	t.Parallel()
	socket := startAgent(t)
	for _, args := range kinds {
		file := keygen(t, args...)
		add := exec.Command("ssh-add", "-q", file)
		add.Env = append(os.Environ(), "SSH_AUTH_SOCK="+socket)
		if out, err := add.CombinedOutput(); err != nil {
			t.Fatalf("ssh-add: %v: %s", err, out)
		}
		if out, err := exec.Command("ssh-keygen", "-q", "-p", "-P", "", "-N", "secret", "-f", file).CombinedOutput(); err != nil {
			t.Fatalf("encrypt: %v: %s", err, out)
		}
		listed, err := exec.Command("ssh-keygen", "-l", "-f", file+".pub").Output()
		if err != nil {
			t.Fatal(err)
		}
		signers := "operator/al " + public(t, file)
		for _, name := range []string{file, file + ".pub", strings.Fields(string(listed))[1]} {
			signature, err := Sign(t.Context(), name, socket, statement)
			if err != nil {
				t.Fatalf("%v, %s: %v", args, name, err)
			}
			if _, err := (Verifier{}).Verify(signers, signature, statement, now); err != nil {
				t.Errorf("%v, %s: %v", args, name, err)
			}
			if err := keygenVerify(t, signers, "operator/al", signature, statement); err != nil {
				t.Errorf("%v, %s: ssh-keygen: %v", args, name, err)
			}
		}
	}
}

func TestSign_Refused(t *testing.T) {
	t.Parallel()
	socket, file := startAgent(t), keygen(t, "-t", "ed25519")
	small := keygen(t, "-t", "rsa", "-b", "1024")
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	gone, stop := context.WithCancel(t.Context())
	stop()
	for what, tc := range map[string]struct {
		ctx          context.Context
		name, socket string
		want         string
	}{
		"no such file":        {t.Context(), file + "x", socket, "give a private key file"},
		"no key in it":        {t.Context(), text, socket, "read the key"},
		"not in the agent":    {t.Context(), file + ".pub", socket, "ssh-add"},
		"unknown fingerprint": {t.Context(), "SHA256:abc", socket, "ssh-add"},
		"no agent":            {t.Context(), file + ".pub", "", "SSH_AUTH_SOCK"},
		"agent gone":          {t.Context(), file + ".pub", socket + "x", "reach the ssh-agent"},
		"short RSA":           {t.Context(), small, "", "2048"},
		"given up":            {gone, file + ".pub", socket, "cancel"},
	} {
		if s, err := Sign(tc.ctx, tc.name, tc.socket, statement); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %q, %v", what, s, err)
		}
	}
}
