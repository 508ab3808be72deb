package change

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"unicode/utf8"
)

// Digest takes in what a file holds, part by part.
type Digest struct {
	Size int64
	// Plain holds while every byte is ASCII: then no character in it can hide another, and
	// who looks for such need not read the file once more.
	Plain bool
	sum   hash.Hash
}

// NewDigest is the digest of an empty file.
func NewDigest() *Digest { return &Digest{Plain: true, sum: sha256.New()} }

// Write takes in the next part. It never fails.
func (d *Digest) Write(b []byte) (int, error) {
	d.sum.Write(b)
	d.Size += int64(len(b))
	d.Plain = d.Plain && ascii(b)
	return len(b), nil
}

// Hash is the SHA-256 of all that came, hexadecimal.
func (d *Digest) Hash() string {
	var sum [sha256.Size]byte
	return hex.EncodeToString(d.sum.Sum(sum[:0]))
}

func ascii(b []byte) bool {
	for ; len(b) >= 8; b = b[8:] {
		if binary.LittleEndian.Uint64(b)&0x8080808080808080 != 0 {
			return false
		}
	}
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
