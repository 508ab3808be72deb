package state

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
)

// idAlphabet is Crockford's base 32: no letter that looks like a digit.
const idAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"

const idLen = 10 // 50 bits: no two sessions of one user meet

// NewID returns a random name for a session.
func NewID() string {
	var b [idLen]byte
	rand.Read(b[:]) // never fails: without randomness the program ends
	for i := range b {
		b[i] = idAlphabet[b[i]%32]
	}
	return string(b[:])
}

const keyLen = 16

// Key names a project by the canonical root of its main repository, or by its
// canonical workspace when there is no repository.
func Key(root string) string {
	sum := sha256.Sum256([]byte(root))
	return hex.EncodeToString(sum[:])[:keyLen]
}

func isKey(name string) bool {
	for i := range len(name) {
		if c := name[i]; !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return false
		}
	}
	return len(name) == keyLen
}
