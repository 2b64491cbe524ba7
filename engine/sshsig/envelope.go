package sshsig

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"
)

const (
	armor         = "SSH SIGNATURE" // between -----BEGIN and -----
	magic         = "SSHSIG"
	version       = 1
	signingHash   = "sha512"
	longestArmour = 64 << 10 // bytes; the largest RSA key needs a tenth of it
)

// envelope is a signature with everything that it says about itself. Nothing in it is to be believed before Verify.
type envelope struct {
	key       ssh.PublicKey
	namespace string
	reserved  string
	hash      string
	signature ssh.Signature
}

// wire is the envelope's layout behind the magic.
type wire struct {
	Version   uint32
	Key       []byte
	Namespace string
	Reserved  string
	Hash      string
	Signature []byte
}

// signedWire is the layout of what the key signs, behind the magic.
type signedWire struct {
	Namespace string
	Reserved  string
	Hash      string
	Digest    []byte
}

// open reads an armored signature. It takes exactly one, with nothing before or behind it.
func open(armored string) (envelope, error) {
	if len(armored) > longestArmour {
		return envelope{}, fmt.Errorf("read the signature: it has %d bytes, and %d are the most", len(armored), longestArmour)
	}
	text := strings.TrimSpace(armored)
	block, rest := pem.Decode([]byte(text + "\n"))
	if block == nil || block.Type != armor || len(block.Headers) > 0 || len(bytes.TrimSpace(rest)) > 0 || !strings.HasPrefix(text, "-----BEGIN ") {
		return envelope{}, errors.New("read the signature: it is not one armored SSH signature, as ssh-keygen -Y sign writes it")
	}
	body, ok := bytes.CutPrefix(block.Bytes, []byte(magic))
	if !ok {
		return envelope{}, errors.New("read the signature: it does not begin with " + magic)
	}
	var w wire
	if err := ssh.Unmarshal(body, &w); err != nil {
		return envelope{}, fmt.Errorf("read the signature: %w", err)
	}
	if w.Version != version {
		return envelope{}, fmt.Errorf("read the signature: its format has the version %d, and %d is the only one", w.Version, version)
	}
	e := envelope{namespace: w.Namespace, reserved: w.Reserved, hash: w.Hash}
	var err error
	if e.key, err = ssh.ParsePublicKey(w.Key); err != nil {
		return envelope{}, fmt.Errorf("read the signature's key: %w", err)
	}
	if err := ssh.Unmarshal(w.Signature, &e.signature); err != nil {
		return envelope{}, fmt.Errorf("read the signature: %w", err)
	}
	return e, nil
}

// close armors an envelope.
func (e envelope) close() string {
	body := ssh.Marshal(wire{
		Version: version, Key: e.key.Marshal(), Namespace: e.namespace, Reserved: e.reserved, Hash: e.hash, Signature: ssh.Marshal(e.signature),
	})
	return string(pem.EncodeToMemory(&pem.Block{Type: armor, Bytes: append([]byte(magic), body...)}))
}

// signed returns the bytes that the key signs for a message.
func (e envelope) signed(message []byte) ([]byte, error) {
	w := signedWire{Namespace: e.namespace, Reserved: e.reserved, Hash: e.hash}
	switch e.hash {
	case "sha256":
		sum := sha256.Sum256(message)
		w.Digest = sum[:]
	case "sha512":
		sum := sha512.Sum512(message)
		w.Digest = sum[:]
	default:
		return nil, fmt.Errorf("the signature is over a %q of the message; sha256 or sha512 is wanted", e.hash)
	}
	return append([]byte(magic), ssh.Marshal(w)...), nil
}
