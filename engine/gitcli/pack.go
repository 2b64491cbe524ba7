package gitcli

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1" // git's object ids, not a secret
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
)

// hasher returns the hash that makes ids of that many digits.
func hasher(digits int) hash.Hash {
	if digits == 64 {
		return sha256.New()
	}
	return sha1.New()
}

// oid is the id that git gives an object.
func (o object) oid(digits int) string {
	h := hasher(digits)
	fmt.Fprintf(h, "%s %d\x00", o.kind, len(o.data))
	h.Write(o.data)
	return hex.EncodeToString(h.Sum(nil))
}

// packCode is the number of an object kind in a pack.
func packCode(kind string) byte {
	return map[string]byte{"commit": 1, "tree": 2, "blob": 3, "tag": 4}[kind]
}

// unpack hands objects to git in one pack, which it unpacks: one process for any number of them.
func (r *Repo) unpack(ctx context.Context, objects []object, digits int) error {
	var pack bytes.Buffer
	pack.WriteString("PACK")
	pack.Write(binary.BigEndian.AppendUint32(nil, 2))
	pack.Write(binary.BigEndian.AppendUint32(nil, uint32(len(objects))))
	for _, o := range objects {
		pack.Write(packHeader(packCode(o.kind), len(o.data)))
		z := zlib.NewWriter(&pack)
		if _, err := z.Write(o.data); err != nil {
			return fmt.Errorf("compress an object: %w", err)
		}
		if err := z.Close(); err != nil {
			return fmt.Errorf("compress an object: %w", err)
		}
	}
	sum := hasher(digits)
	sum.Write(pack.Bytes())
	pack.Write(sum.Sum(nil))
	_, err := r.run(ctx, call{args: []string{"unpack-objects", "-q"}, stdin: pack.Bytes()})
	return err
}

// packHeader is an object's kind and size: four bits of the size beside the kind, then seven a byte, low bits first.
func packHeader(code byte, size int) []byte {
	b := code<<4 | byte(size&0x0f)
	var out []byte
	for size >>= 4; size > 0; size >>= 7 {
		out = append(out, b|0x80)
		b = byte(size & 0x7f)
	}
	return append(out, b)
}
