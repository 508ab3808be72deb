package journal

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
)

// Seal is the key with which this host signs its own records, so that a later reader can
// tell whether they are still what was written. The key is made with its first use and
// never leaves its file.
//
// What is left at risk: the key is a file of the user's. Whoever can read it, which
// is every process of the same user outside of a sandbox, can sign as this host
// does. A signature shows what was changed by others: by another user, on a disk
// that was away, in a copy, by a program that writes where it should not.
type Seal struct {
	private ed25519.PrivateKey
	id      string
}

func fromSeed(seed []byte) *Seal {
	k := ed25519.NewKeyFromSeed(seed)
	sum := sha256.Sum256(k.Public().(ed25519.PublicKey))
	return &Seal{private: k, id: hex.EncodeToString(sum[:8])}
}

// sealIDLen is the length of what ID returns.
const sealIDLen = 16

// ID names the key. It says nothing about what is secret of it.
func (s *Seal) ID() string { return s.id }

// signatureLen is the length of what Sign returns.
const signatureLen = ed25519.SignatureSize

// Sign signs a text. What it is stands in purpose: a signature for one purpose is
// none for another.
func (s *Seal) Sign(purpose string, text []byte) []byte {
	return ed25519.Sign(s.private, sealMessage(purpose, text))
}

// Verify reports whether Sign of this key made sig.
func (s *Seal) Verify(purpose string, text, sig []byte) bool {
	return len(sig) == signatureLen && ed25519.Verify(s.private.Public().(ed25519.PublicKey), sealMessage(purpose, text), sig)
}

// sealMessage sets the purpose off: it is one of our own words and holds no newline.
func sealMessage(purpose string, text []byte) []byte {
	m := make([]byte, 0, len("ringfence \n")+len(purpose)+len(text))
	m = append(append(append(m, "ringfence "...), purpose...), '\n')
	return append(m, text...)
}

// WarmSeal makes the tables that the first signature and the first check need. It takes
// two milliseconds that nobody has to wait for who calls it early, beside other work.
func WarmSeal() {
	s := fromSeed(make([]byte, ed25519.SeedSize))
	s.Verify("warm", nil, s.Sign("warm", nil))
}
