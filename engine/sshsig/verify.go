package sshsig

import (
	"crypto/rsa"
	"fmt"
	"slices"
	"time"

	"golang.org/x/crypto/ssh"

	"ferrox/engine"
)

// Verifier checks signatures under rulings. It keeps nothing.
type Verifier struct{}

var _ engine.Signatures = Verifier{}

// CheckSigners implements engine.Signatures.
func (Verifier) CheckSigners(signers string) (keys int, err error) {
	entries, err := parseSigners(signers)
	for _, s := range entries {
		if _, ok := s.signer(); ok && s.forRulings() {
			keys++
		}
	}
	return keys, err
}

// Verify implements engine.Signatures.
func (Verifier) Verify(signers, signature string, message []byte, at time.Time) (engine.Signer, error) {
	e, err := open(signature)
	if err != nil {
		return engine.Signer{}, err
	}
	if e.namespace != engine.RulingNamespace {
		return engine.Signer{}, fmt.Errorf("it was made for the namespace %q, not for %q", e.namespace, engine.RulingNamespace)
	}
	entries, err := parseSigners(signers)
	if err != nil {
		return engine.Signer{}, err
	}
	who, err := find(entries, e.key, at)
	if err != nil {
		return engine.Signer{}, err
	}
	return who, e.verify(message)
}

// verify checks the signature itself.
func (e envelope) verify(message []byte) error {
	if err := usable(e.key); err != nil {
		return err
	}
	if !slices.Contains(formats[e.key.Type()], e.signature.Format) {
		return fmt.Errorf("a %s key signed with %q; %v is wanted", e.key.Type(), e.signature.Format, formats[e.key.Type()])
	}
	if len(e.signature.Rest) > 0 && !hardware(e.key.Type()) {
		return fmt.Errorf("the signature has %d bytes too many", len(e.signature.Rest))
	}
	data, err := e.signed(message)
	if err != nil {
		return err
	}
	if err := e.key.Verify(data, &e.signature); err != nil {
		return fmt.Errorf("key %s did not sign this: %w", ssh.FingerprintSHA256(e.key), err)
	}
	return nil
}

// formats lists the kinds of keys that may sign, and for each the signatures that count. SHA-1 is in none.
var formats = map[string][]string{
	ssh.KeyAlgoED25519:    {ssh.KeyAlgoED25519},
	ssh.KeyAlgoECDSA256:   {ssh.KeyAlgoECDSA256},
	ssh.KeyAlgoECDSA384:   {ssh.KeyAlgoECDSA384},
	ssh.KeyAlgoECDSA521:   {ssh.KeyAlgoECDSA521},
	ssh.KeyAlgoRSA:        {ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSASHA512},
	ssh.KeyAlgoSKED25519:  {ssh.KeyAlgoSKED25519},
	ssh.KeyAlgoSKECDSA256: {ssh.KeyAlgoSKECDSA256},
}

// hardware reports whether a kind of key lives on a security token, whose signatures carry flags and a counter.
func hardware(kind string) bool { return kind == ssh.KeyAlgoSKED25519 || kind == ssh.KeyAlgoSKECDSA256 }

// shortestRSA is the size in bits below which an RSA key proves nothing.
const shortestRSA = 2048

// usable refuses keys that may not sign.
func usable(key ssh.PublicKey) error {
	if formats[key.Type()] == nil {
		return fmt.Errorf("a key of the kind %s may not sign; use ssh-ed25519, ecdsa-sha2-nistp…, ssh-rsa or a security key", key.Type())
	}
	k, ok := key.(ssh.CryptoPublicKey)
	if !ok {
		return nil
	}
	if r, ok := k.CryptoPublicKey().(*rsa.PublicKey); ok && r.N.BitLen() < shortestRSA {
		return fmt.Errorf("the RSA key has %d bits, and %d are the least", r.N.BitLen(), shortestRSA)
	}
	return nil
}
