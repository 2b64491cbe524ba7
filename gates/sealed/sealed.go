// Package sealed names the objects of the sealed store and draws mutants from a pool (verbs.md 8).
//
// It reads and writes no object: it says what an object is called, whether bytes are the ones that were sealed, and which
// mutants a run has to catch.
package sealed

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"path"
	"slices"
	"strings"
)

// Hash is the sha256 of an object in lower-case hex; it is the object's name.
type Hash string

// Code says why an object can't be sealed or trusted.
type Code string

// The failures of gate.seal and gate.verify-seal. They are decisions, not errors.
const (
	CodeRead     Code = "E_SEAL_READ"
	CodeWrite    Code = "E_SEAL_WRITE"
	CodeUnsealed Code = "E_UNSEALED_FIXTURE"
	CodeMissing  Code = "E_SEALED_OBJECT_MISSING"
	CodeCorrupt  Code = "E_SEALED_OBJECT_CORRUPT"
)

const scheme = "sealed:sha256:"

// HashOf names the bytes.
func HashOf(data []byte) Hash {
	sum := sha256.Sum256(data)
	return Hash(hex.EncodeToString(sum[:]))
}

// ParseURI reads "sealed:sha256:<hash>" or a bare hash. Only lower-case hex is a hash.
func ParseURI(uri string) (Hash, bool) {
	h := strings.TrimPrefix(uri, scheme)
	if len(h) != sha256.Size*2 || strings.Trim(h, "0123456789abcdef") != "" {
		return "", false
	}
	return Hash(h), true
}

// URI is the long form of the name.
func (h Hash) URI() string { return scheme + string(h) }

// Path is the object's place in the store, with slashes.
func (h Hash) Path() string { return path.Join("sha256", string(h[:2]), string(h)) }

// Mutant is a member of a pool. Hash is a sealed object's name.
type Mutant struct {
	ID   string `json:"id"`
	Hash Hash   `json:"hash"`
}

// DefaultDraw is how many mutants a run draws when nobody says.
const DefaultDraw = 2

// Sample draws k mutants for a run and a gate, without putting them back. The same run, gate and pool draw the same ones,
// in whatever order the pool is listed. k below 1, or not a number, is DefaultDraw.
func Sample(runID, gateID string, pool []Mutant, k float64) []Mutant {
	if !(k >= 1) {
		k = DefaultDraw
	}
	left := slices.Clone(pool)
	slices.SortFunc(left, func(a, b Mutant) int {
		return cmp.Or(strings.Compare(string(a.Hash), string(b.Hash)), strings.Compare(a.ID, b.ID))
	})

	seed := sha256.Sum256([]byte(runID + ":" + gateID))
	drawn := []Mutant{}
	for i := uint32(0); float64(len(drawn)) < math.Floor(k) && len(left) > 0; i++ {
		sum := sha256.Sum256(binary.BigEndian.AppendUint32(seed[:], i))
		at := int(binary.BigEndian.Uint64(sum[:8]) % uint64(len(left)))
		drawn = append(drawn, left[at])
		left = slices.Delete(left, at, at+1)
	}
	return drawn
}
