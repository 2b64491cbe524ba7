package engine

import (
	"time"

	"ferrox/mailbox"
)

// RulingNamespace is what signatures under rulings are made for. One made for anything else, as for git, is no ruling.
const RulingNamespace = "ferrox-ruling"

// Signer is whose key made a signature.
type Signer struct {
	Principal string       // as the allowed-signers file names it: "operator/alice"
	Role      mailbox.Role // what the principal may act as at most
}

// Signatures reads allowed-signers files and checks signatures against them.
type Signatures interface {
	// CheckSigners reads an allowed-signers file and counts the keys that may rule. Its error names the line.
	CheckSigners(signers string) (keys int, err error)
	// Verify says whose signature over message it is: of an allowed key, for RulingNamespace, valid at an instant. Its
	// error says why it is nobody's.
	Verify(signers, signature string, message []byte, at time.Time) (Signer, error)
}
