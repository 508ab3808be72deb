package broker

import (
	"crypto/rand"
	"crypto/subtle"
)

// Phantom stands inside for a credential that is kept outside. It is made for one
// session and one site, looks like the real thing, and is worth nothing anywhere else.
type Phantom string

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// NewPhantom makes one of the given prefix and length. However short the real thing
// is, a phantom is long enough not to be guessed.
func NewPhantom(prefix string, length int) Phantom {
	const least, most = 24, 512
	n := min(max(length-len(prefix), least), most)
	b := make([]byte, 0, n)
	for len(b) < n {
		var more [64]byte
		rand.Read(more[:]) // never fails
		for _, x := range more {
			if int(x) < 256/len(alphabet)*len(alphabet) && len(b) < n {
				b = append(b, alphabet[int(x)%len(alphabet)])
			}
		}
	}
	return Phantom(prefix + string(b))
}

// is compares without telling how far it got.
func (p Phantom) is(presented string) bool {
	return p != "" && subtle.ConstantTimeCompare([]byte(p), []byte(presented)) == 1
}
