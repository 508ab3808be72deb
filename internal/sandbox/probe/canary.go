package probe

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
)

// A canary is Mark and CanaryDigits hexadecimal digits. A target names it by its
// digest only, so that the question can never be taken for a leak.
const (
	Mark         = "ringfence-canary-"
	CanaryDigits = 32
)

// Digest is how a target names a canary or the content of a file.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func (t *Target) carries(b []byte) bool { return carries(b, t.Canary) }

// carries reports whether the canary with that digest is somewhere in b.
func carries(b []byte, digest string) bool {
	const size = len(Mark) + CanaryDigits
	for {
		i := bytes.Index(b, []byte(Mark))
		if i < 0 || len(b)-i < size {
			return false
		}
		if Digest(b[i:i+size]) == digest {
			return true
		}
		b = b[i+len(Mark):]
	}
}

// readSome reads what a canary could be in, and no more: files of the host may
// be of any size.
func readSome(file string) []byte {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return nil
	}
	return b
}
