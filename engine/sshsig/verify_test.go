package sshsig

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"ferrox/engine"
	"ferrox/mailbox"
)

// line returns an allowed-signers line.
func line(who string, key ssh.PublicKey) string {
	return who + " " + string(ssh.MarshalAuthorizedKey(key))
}

func newSigner(t *testing.T) ssh.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ssh.NewSignerFromSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func signed(t *testing.T, s ssh.Signer) string {
	t.Helper()
	text, err := signWith(s, statement)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestVerify_Allowed: which lines of the file make the key's owner one who may rule.
func TestVerify_Allowed(t *testing.T) {
	t.Parallel()
	s := newSigner(t)
	other, signature := newSigner(t), signed(t, s)
	for name, tc := range map[string]struct{ signers, who, why string }{
		"operator":          {line("operator/alice", s.PublicKey()), "operator/alice", ""},
		"an address":        {line("operator/alice@example.org", s.PublicKey()), "operator/alice@example.org", ""},
		"supervisor":        {line("supervisor/bob", s.PublicKey()), "supervisor/bob", ""},
		"most authority":    {line("bob@example.org,supervisor/bob,operator/bob", s.PublicKey()), "operator/bob", ""},
		"two lines":         {line("operator/a", s.PublicKey()) + line("supervisor/a", s.PublicKey()), "operator/a", ""},
		"comments":          {"# who may rule\n\n  \t\n" + line("operator/a", other.PublicKey()) + line("operator/b", s.PublicKey()), "operator/b", ""},
		"quoted":            {line(`"operator/alice smith"`, s.PublicKey()), "operator/alice smith", ""},
		"namespace":         {line(`operator/a namespaces="git,ferrox-*"`, s.PublicKey()), "operator/a", ""},
		"in time":           {line(`operator/a valid-after="20260101",valid-before="20270101Z"`, s.PublicKey()), "operator/a", ""},
		"old line, new one": {line(`operator/a valid-before="20200101"`, s.PublicKey()) + line("supervisor/a", s.PublicKey()), "supervisor/a", ""},

		"nobody":            {"", "", "not among the allowed"},
		"unknown":           {line("operator/a", other.PublicKey()), "", "not among the allowed"},
		"no role":           {line("alice@example.org", s.PublicKey()), "", "operator/NAME"},
		"everybody":         {line("*", s.PublicKey()), "", "operator/NAME"},
		"worker":            {line("worker/a", s.PublicKey()), "", "operator/NAME"},
		"letter case":       {line("Operator/a", s.PublicKey()), "", "operator/NAME"},
		"other namespace":   {line(`operator/a namespaces="git,file"`, s.PublicKey()), "", "namespaces"},
		"namespace is out":  {line(`operator/a namespaces="*,!ferrox-ruling"`, s.PublicKey()), "", "namespaces"},
		"expired":           {line(`operator/a valid-before="20260506070808Z"`, s.PublicKey()), "", "expired"},
		"not yet valid":     {line(`operator/a valid-after="202605060709Z"`, s.PublicKey()), "", "not valid before"},
		"a broken line":     {line("operator/a", s.PublicKey()) + "operator/b ssh-ed25519\n", "", "line 2"},
		"certificates":      {line("operator/a cert-authority", s.PublicKey()), "", "cert-authority"},
		"all the operators": {line("operator/*", s.PublicKey()), "", "one person"},
		"nameless":          {line("operator/", s.PublicKey()), "", "one person"},
	} {
		who, err := Verifier{}.Verify(tc.signers, signature, statement, now)
		switch {
		case tc.why == "" && (err != nil || who.Principal != tc.who || string(who.Role)+"/" != tc.who[:strings.Index(tc.who, "/")+1]):
			t.Errorf("%s: %+v, %v", name, who, err)
		case tc.why != "" && (err == nil || !strings.Contains(err.Error(), tc.why)):
			t.Errorf("%s: %+v, error is %v, want %q", name, who, err, tc.why)
		}
	}
}

// TestVerify_ValidLikeSSHKeygen: the first and the last second of a key's time are in it.
func TestVerify_ValidLikeSSHKeygen(t *testing.T) {
	t.Parallel()
	s := newSigner(t)
	signers := line(`operator/a valid-after="20260506070809Z",valid-before="20260506070810Z"`, s.PublicKey())
	for offset, ok := range map[time.Duration]bool{-time.Second: false, 0: true, time.Second: true, 2 * time.Second: false} {
		if _, err := (Verifier{}).Verify(signers, signed(t, s), statement, now.Add(offset)); (err == nil) != ok {
			t.Errorf("at %v: %v", offset, err)
		}
	}
}

// TestVerify_Envelope: a good key's signature in a wrong envelope is none.
func TestVerify_Envelope(t *testing.T) {
	t.Parallel()
	s := newSigner(t)
	signers := line("operator/a", s.PublicKey())
	seal := func(change func(e *envelope)) string {
		e := envelope{key: s.PublicKey(), namespace: engine.RulingNamespace, hash: signingHash}
		change(&e)
		data, err := e.signed(statement)
		if err != nil {
			data = statement
		}
		signature, err := s.Sign(rand.Reader, data)
		if err != nil {
			t.Fatal(err)
		}
		e.signature = *signature
		return e.close()
	}
	good := seal(func(*envelope) {})
	if _, err := (Verifier{}).Verify(signers, good, statement, now); err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode([]byte(good))
	raw := func(change func([]byte) []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: armor, Bytes: change(append([]byte(nil), block.Bytes...))}))
	}
	for name, signature := range map[string]string{
		"git's":             seal(func(e *envelope) { e.namespace = "git" }),
		"no namespace":      seal(func(e *envelope) { e.namespace = "" }),
		"sha1":              seal(func(e *envelope) { e.hash = "sha1" }),
		"another one's key": seal(func(e *envelope) { e.key = newSigner(t).PublicKey() }),
		"nothing":           "",
		"no armor":          "approve",
		"twice":             good + good,
		"with a preface":    "hello\n" + good,
		"with an addition":  good + "hello",
		"with headers":      strings.Replace(good, "-----\n", "-----\nA: b\n\n", 1),
		"another armor":     strings.ReplaceAll(good, armor, "SSH MESSAGE"),
		"version 2":         raw(func(b []byte) []byte { b[9] = 2; return b }),
		"no magic":          raw(func(b []byte) []byte { b[0] = 'X'; return b }),
		"cut off":           raw(func(b []byte) []byte { return b[:len(b)-1] }),
		"longer":            raw(func(b []byte) []byte { return append(b, 0) }),
		"a bit elsewhere":   raw(func(b []byte) []byte { b[len(b)-1] ^= 1; return b }),
		"much too long":     strings.Repeat(good, 1000),
	} {
		if who, err := (Verifier{}).Verify(signers, signature, statement, now); err == nil {
			t.Errorf("%s: %+v", name, who)
		}
	}
}

// TestVerify_SHA1: an RSA key that signs the old way does not count, whatever the file allows.
func TestVerify_SHA1(t *testing.T) {
	t.Parallel()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ssh.NewSignerFromSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	for format, ok := range map[string]bool{ssh.KeyAlgoRSA: false, ssh.KeyAlgoRSASHA256: true, ssh.KeyAlgoRSASHA512: true} {
		e := envelope{key: s.PublicKey(), namespace: engine.RulingNamespace, hash: "sha256"}
		data, _ := e.signed(statement)
		signature, err := s.(ssh.AlgorithmSigner).SignWithAlgorithm(rand.Reader, data, format)
		if err != nil {
			t.Fatal(err)
		}
		e.signature = *signature
		if _, err := (Verifier{}).Verify(line("operator/a", s.PublicKey()), e.close(), statement, now); (err == nil) != ok {
			t.Errorf("%s: %v", format, err)
		}
	}
}

// token is a security key in software: it signs the application, its flags, a counter and the digest of the data.
type token struct {
	kind    string
	private crypto.Signer
	public  ssh.PublicKey
	flags   byte
}

func newTokens(t *testing.T) []token {
	t.Helper()
	pub, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := ecKey.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	ed := ssh.Marshal(struct {
		Kind string
		Key  []byte
		App  string
	}{ssh.KeyAlgoSKED25519, pub, "ssh:"})
	ec := ssh.Marshal(struct {
		Kind, Curve string
		Point       []byte
		App         string
	}{ssh.KeyAlgoSKECDSA256, "nistp256", point, "ssh:"})
	tokens := []token{{kind: ssh.KeyAlgoSKED25519, private: edKey}, {kind: ssh.KeyAlgoSKECDSA256, private: ecKey}}
	for i, blob := range [][]byte{ed, ec} {
		if tokens[i].public, err = ssh.ParsePublicKey(blob); err != nil {
			t.Fatal(err)
		}
		tokens[i].flags = 1
	}
	return tokens
}

func (k token) PublicKey() ssh.PublicKey { return k.public }

// sign makes a signature over data with a counter, which may be said differently than it is signed.
func (k token) sign(t *testing.T, data []byte, counter, said uint32) ssh.Signature {
	t.Helper()
	app, sum := sha256.Sum256([]byte("ssh:")), sha256.Sum256(data)
	tail := func(n uint32) []byte {
		return ssh.Marshal(struct {
			Flags   byte
			Counter uint32
		}{k.flags, n})
	}
	blob := append(append(append([]byte(nil), app[:]...), tail(counter)...), sum[:]...)
	s := ssh.Signature{Format: k.kind, Rest: tail(said)}
	if edKey, ok := k.private.(ed25519.PrivateKey); ok {
		s.Blob = ed25519.Sign(edKey, blob)
		return s
	}
	inner := sha256.Sum256(blob)
	r, v, err := ecdsa.Sign(rand.Reader, k.private.(*ecdsa.PrivateKey), inner[:])
	if err != nil {
		t.Fatal(err)
	}
	s.Blob = ssh.Marshal(struct{ R, S *big.Int }{r, v})
	return s
}

func TestVerify_SecurityKeys(t *testing.T) {
	t.Parallel()
	for _, k := range newTokens(t) {
		seal := func(k token, counter, said uint32) string {
			e := envelope{key: k.public, namespace: engine.RulingNamespace, hash: signingHash}
			data, err := e.signed(statement)
			if err != nil {
				t.Fatal(err)
			}
			e.signature = k.sign(t, data, counter, said)
			return e.close()
		}
		signers := line("operator/a", k.public)
		good := seal(k, 7, 7)
		if who, err := (Verifier{}).Verify(signers, good, statement, now); err != nil || who.Role != mailbox.RoleOperator {
			t.Errorf("%s: %+v, %v", k.kind, who, err)
		}
		if err := keygenVerify(t, signers, "operator/a", good, statement); err != nil {
			t.Errorf("%s: ssh-keygen: %v", k.kind, err)
		}
		untouched := k
		untouched.flags = 0
		for name, bad := range map[string]string{"another counter": seal(k, 7, 8), "not touched": seal(untouched, 7, 7)} {
			if _, err := (Verifier{}).Verify(signers, bad, statement, now); err == nil {
				t.Errorf("%s: %s: accepted", k.kind, name)
			}
		}
		if _, err := (Verifier{}).Verify(signers, good, []byte("another"), now); err == nil {
			t.Errorf("%s: good for another text", k.kind)
		}
	}
}

func TestCheckSigners(t *testing.T) {
	t.Parallel()
	s := newSigner(t)
	for name, tc := range map[string]struct {
		text string
		keys int
		bad  string
	}{
		"nothing":      {"", 0, ""},
		"one":          {line("operator/a", s.PublicKey()), 1, ""},
		"for git only": {line("a@example.org", s.PublicKey()) + line(`operator/a namespaces="git"`, s.PublicKey()), 0, ""},
		"no key":       {"operator/a\n", 0, "line 1"},
		"open quote":   {"\n\"operator/a ssh-ed25519 AAAA\n", 0, "line 2"},
		"bare value":   {line("operator/a valid-after=20200101", s.PublicKey()), 0, "double quotes"},
		"bad instant":  {line(`operator/a valid-after="20201301"`, s.PublicKey()), 0, "YYYYMMDD"},
		"a word":       {line("operator/a restrict", s.PublicKey()), 0, "not known"},
		"an authority": {line(`operator/a CERT-authority,namespaces="git"`, s.PublicKey()), 0, "list the keys"},
	} {
		keys, err := Verifier{}.CheckSigners(tc.text)
		if keys != tc.keys || (err != nil) != (tc.bad != "") || err != nil && !strings.Contains(err.Error(), tc.bad) {
			t.Errorf("%s: %d, %v", name, keys, err)
		}
	}
}

func TestMatchList(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		list string
		ok   bool
	}{
		{"ferrox-ruling", true},
		{"git,ferrox-ruling", true},
		{"*", true},
		{"ferrox*", true},
		{"f?rrox-*g", true},
		{"*ruling*", true},
		{"*-*-*", false},
		{"", false},
		{"ferrox-rulin", false},
		{"ferrox-ruling?", false},
		{"*,!ferrox-*", false},
		{"!git", false},
		{"Ferrox-ruling", false},
	} {
		if got := matchList("ferrox-ruling", tc.list); got != tc.ok {
			t.Errorf("%q: %v", tc.list, got)
		}
	}
}
