package sshsig

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"ferrox/engine"
)

// Sign signs a message for engine.RulingNamespace and returns the armored signature. name is a private key file, or a
// public key file or a SHA256: fingerprint of a key that the ssh-agent at socket has; an encrypted private key is taken
// from the agent too. It waits as long as the agent asks its owner, and ends with ctx.
func Sign(ctx context.Context, name, socket string, message []byte) (string, error) {
	signer, public, err := load(name)
	if err != nil {
		return "", err
	}
	if signer != nil {
		return signWith(signer, message)
	}
	conn, err := dial(ctx, socket)
	if err != nil {
		return "", fmt.Errorf("sign with %s: %w", name, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if signer, err = fromAgent(conn, name, public); err != nil {
		return "", fmt.Errorf("sign with %s: %w", name, err)
	}
	return signWith(signer, message)
}

// load reads what name stands for: a signer, or the public key of one that the agent has. Neither is returned for a
// fingerprint.
func load(name string) (ssh.Signer, ssh.PublicKey, error) {
	if strings.HasPrefix(name, "SHA256:") {
		return nil, nil, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, nil, fmt.Errorf("read the key: %w; give a private key file, a public key file or a SHA256: fingerprint", err)
	}
	if public, _, _, _, err := ssh.ParseAuthorizedKey(data); err == nil {
		return nil, public, nil
	}
	signer, err := ssh.ParsePrivateKey(data)
	if err == nil {
		return signer, nil, nil
	}
	var locked *ssh.PassphraseMissingError
	if errors.As(err, &locked) && locked.PublicKey != nil {
		return nil, locked.PublicKey, nil
	}
	// An old encrypted format, or a key on a security token: its public half lies beside it.
	if beside, readErr := os.ReadFile(name + ".pub"); readErr == nil {
		if public, _, _, _, err := ssh.ParseAuthorizedKey(beside); err == nil {
			return nil, public, nil
		}
	}
	return nil, nil, fmt.Errorf("read the key %s: %w", name, err)
}

func dial(ctx context.Context, socket string) (net.Conn, error) {
	if socket == "" {
		return nil, errors.New("this key needs an ssh-agent, and SSH_AUTH_SOCK is not set; start one and run ssh-add")
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("reach the ssh-agent: %w", err)
	}
	return conn, nil
}

// fromAgent finds the agent's key with a public half, or, without one, with the fingerprint name.
func fromAgent(conn net.Conn, name string, public ssh.PublicKey) (ssh.Signer, error) {
	signers, err := agent.NewClient(conn).Signers()
	if err != nil {
		return nil, fmt.Errorf("ask the ssh-agent for its keys: %w", err)
	}
	for _, s := range signers {
		key := s.PublicKey()
		if public != nil && bytes.Equal(key.Marshal(), public.Marshal()) || public == nil && ssh.FingerprintSHA256(key) == name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("the ssh-agent has %d keys, and not this one; run ssh-add", len(signers))
}

func signWith(signer ssh.Signer, message []byte) (string, error) {
	e := envelope{key: signer.PublicKey(), namespace: engine.RulingNamespace, hash: signingHash}
	if err := usable(e.key); err != nil {
		return "", fmt.Errorf("sign: %w", err)
	}
	data, err := e.signed(message)
	if err != nil {
		return "", err
	}
	signature, err := produce(signer, data)
	if err != nil {
		return "", fmt.Errorf("sign: %w", err)
	}
	e.signature = *signature
	return e.close(), nil
}

// produce signs; RSA with SHA-512, whatever the signer would choose.
func produce(signer ssh.Signer, data []byte) (*ssh.Signature, error) {
	able, ok := signer.(ssh.AlgorithmSigner)
	if signer.PublicKey().Type() == ssh.KeyAlgoRSA && ok {
		return able.SignWithAlgorithm(rand.Reader, data, ssh.KeyAlgoRSASHA512)
	}
	return signer.Sign(rand.Reader, data)
}
