package change

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestDigest compares with the same found in one piece, however the content is cut.
func TestDigest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []byte
		d := NewDigest()
		for range rapid.IntRange(0, 4).Draw(t, "parts") {
			part := rapid.SliceOfN(rapid.ByteRange(0, 0x7f), 0, 40).Draw(t, "part")
			if len(part) > 0 && rapid.IntRange(0, 3).Draw(t, "other") == 0 {
				part[rapid.IntRange(0, len(part)-1).Draw(t, "at")] = rapid.ByteRange(0x80, 0xff).Draw(t, "byte")
			}
			d.Write(part)
			all = append(all, part...)
		}
		sum := sha256.Sum256(all)
		plain := !slices.ContainsFunc(all, func(b byte) bool { return b >= utf8.RuneSelf })
		if d.Hash() != hex.EncodeToString(sum[:]) || d.Size != int64(len(all)) || d.Plain != plain {
			t.Fatalf("%q: %s, %d bytes, plain %v", all, d.Hash(), d.Size, d.Plain)
		}
	})
}
