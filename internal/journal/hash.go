package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
)

// Hash is the SHA-256 of a line without its newline. Every line holds the hash of
// the line before it, so that the last one stands for all of them.
type Hash [sha256.Size]byte

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// UnmarshalText takes what String makes, and no other form of it.
func (h *Hash) UnmarshalText(b []byte) error {
	var out Hash
	if len(b) != hex.EncodedLen(len(out)) {
		return errors.New("not a SHA-256")
	}
	if _, err := hex.Decode(out[:], b); err != nil || out.String() != string(b) {
		return errors.New("not a SHA-256")
	}
	*h = out
	return nil
}

// MarshalText is String.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

func (h *Hash) appendHex(b []byte) []byte { return hex.AppendEncode(b, h[:]) }

// header is what the first line follows: it binds the chain to its session, to the
// key that signs its head, and to the form of the lines.
func header(session, key string) Hash {
	return sha256.Sum256([]byte("ringfence journal " + strconv.Itoa(Version) + "\nsession " + session + "\nkey " + key))
}
