package phantom

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"math/rand/v2"
	"slices"
	"strings"
)

// A phantom is known by its shape: what it ends in follows from what it begins with.
// That no value is one by chance takes 48 bits at least, so short ones have no mark.
// The mark is no secret and guards nothing: it is there so that a phantom is not taken
// for somebody's real value, and is not kept by accident.
const (
	markLeast  = 16 // of text that has a mark
	markFree   = 4  // of it are drawn, at least
	markMost   = 16
	markBinary = 8 // bytes
	primeMark  = 64
)

// markOf is the mark of what is drawn, in letters of the alphabet.
func markOf(drawn, alphabet string, n int) string {
	sum := sha256.Sum256([]byte("ringfence phantom\x00" + alphabet + "\x00" + drawn))
	out := make([]byte, n)
	for i := range out {
		out[i] = alphabet[(int(sum[2*i%32])<<8|int(sum[(2*i+1)%32]))%len(alphabet)]
	}
	return string(out)
}

// marked draws a text with a mark. It begins with a letter if it can: no parser is to
// take it for a number.
func marked(r *rand.Rand, n int, alphabet string) string {
	if n < markLeast {
		return text(r, min(n, 1), first(alphabet)) + text(r, max(n-1, 0), alphabet)
	}
	tail := min(n-markFree, markMost)
	drawn := text(r, 1, first(alphabet)) + text(r, n-tail-1, alphabet)
	return drawn + markOf(drawn, alphabet, tail)
}

// alphabets are those that a phantom may be of.
var alphabets = []string{hexes, strings.ToUpper(hexes), lowers, uppers, lowers + digits, uppers + digits, alnums}

func hasMark(s string) bool {
	if len(s) < markLeast || len(s) > maxLength {
		return false
	}
	at := len(s) - min(len(s)-markFree, markMost)
	for _, a := range alphabets {
		if allIn(s, a) && s[at:] == markOf(s[:at], a, len(s)-at) {
			return true
		}
	}
	return false
}

// markBytes puts a mark at the end of bytes that were drawn.
func markBytes(raw []byte) {
	if at := len(raw) - markBinary; at >= markBinary/2 {
		sum := sha256.Sum256(append([]byte("ringfence phantom\x00"), raw[:at]...))
		copy(raw[at:], sum[:])
	}
}

func bytesHaveMark(raw []byte) bool {
	if len(raw) < markBinary+markBinary/2 {
		return false
	}
	again := slices.Clone(raw)
	markBytes(again)
	return bytes.Equal(raw, again)
}

// IsPhantom reports whether data holds a value that a mask made, in this session or in
// another one. Values too short for a mark, and files that are shown empty, it cannot
// know.
func IsPhantom(data []byte) bool {
	if phantomKey(string(data)) {
		return true
	}
	for i := 0; i < len(data); {
		if !isAlnum(data[i]) {
			i++
			continue
		}
		if i+uuidLength <= len(data) && data[min(i+8, len(data)-1)] == '-' && uuidMark(string(data[i:i+uuidLength])) {
			return true
		}
		end, wide := i, false // wide: of base64
		for end < len(data) && (isAlnum(data[end]) || data[end] == '+' || data[end] == '/') {
			wide = wide || !isAlnum(data[end])
			end++
		}
		for n := 0; n < 2 && end < len(data) && data[end] == '='; n++ {
			wide = true
			end++
		}
		if end-i >= markLeast && phantomRun(string(data[i:end]), wide) {
			return true
		}
		i = end
	}
	return false
}

func isAlnum(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'z' }

const uuidLength = 36

// uuidMark: the two digits that say what kind it is are not drawn.
func uuidMark(s string) bool {
	if !isUUID(s) {
		return false
	}
	h := strings.ReplaceAll(s, "-", "")
	return hasMark(h[:12] + h[13:16] + h[17:])
}

func phantomRun(s string, wide bool) bool {
	if len(s)%4 == 0 && len(s) <= 2*maxLength {
		if raw, err := base64.StdEncoding.DecodeString(s); err == nil && (bytesHaveMark(raw) || loginMark(raw)) {
			return true
		}
	}
	if !wide {
		return wordMark(s)
	}
	for word := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == '+' || r == '/' || r == '=' }) {
		if wordMark(word) {
			return true
		}
	}
	return false
}

// wordMark is for a word that may have a prefix of letters, or the end of a JWT.
func wordMark(s string) bool {
	if hasMark(s) || hasMark(s[:max(len(s)-1, 0)]) && s[len(s)-1] == 'A' {
		return true
	}
	for _, p := range prefixes {
		p = p[strings.LastIndexAny(p, "-_.$}")+1:]
		if rest, ok := strings.CutPrefix(s, p); ok && p != "" && hasMark(rest) {
			return true
		}
	}
	return false
}

func loginMark(raw []byte) bool {
	_, password, ok := bytes.Cut(raw, []byte(":"))
	return ok && hasMark(string(password))
}

// phantomKey looks for private keys in PEM, wherever they stand.
func phantomKey(s string) bool {
	for range maxBlocks {
		label, from, end := nextPEM(s)
		if end < 0 {
			return false
		}
		text := strings.ReplaceAll(s[from:end], `\n`, "\n")
		if block, _ := pem.Decode([]byte(text)); block != nil && strings.HasSuffix(label, "PRIVATE KEY") && phantomDER(label, block.Bytes) {
			return true
		}
		s = s[end:]
	}
	return false
}

func phantomDER(label string, der []byte) bool {
	if label == "OPENSSH PRIVATE KEY" {
		const seed = "\x00\x00\x00\x40" // the length of seed and public key
		i := bytes.LastIndex(der, []byte(seed))
		return i >= 0 && len(der) >= i+4+ed25519.SeedSize && bytesHaveMark(der[i+4:i+4+ed25519.SeedSize])
	}
	var k any
	k, _ = x509.ParsePKCS8PrivateKey(der)
	if k == nil {
		if ec, err := x509.ParseECPrivateKey(der); err == nil {
			k = ec
		} else if r, err := x509.ParsePKCS1PrivateKey(der); err == nil {
			k = r
		}
	}
	switch k := k.(type) {
	case ed25519.PrivateKey:
		return bytesHaveMark(k.Seed())
	case *ecdsa.PrivateKey:
		raw, err := k.Bytes()
		return err == nil && bytesHaveMark(raw)
	case *rsa.PrivateKey:
		for _, p := range k.Primes {
			if b := p.Bytes(); len(b) > primeMark && bytesHaveMark(b[:primeMark]) {
				return true
			}
		}
	}
	return false
}
