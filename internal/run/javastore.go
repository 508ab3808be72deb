package run

import (
	"bytes"
	"encoding/pem"
	"strconv"
)

// javaStore makes the truststore that a JVM reads of certificates in PEM: PKCS #12
// (RFC 7292) without a password, in DER. It is made at every launch, so certificates
// are copied and not parsed; what does not have the outer shape of one is left out,
// since a JVM that cannot read one entry trusts none.
func javaStore(bundle []byte) []byte {
	bags := make([]byte, 0, len(bundle))
	for n, rest := 0, bundle; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type == "CERTIFICATE" && isCertificate(block.Bytes) {
			n++
			bags = appendBag(bags, block.Bytes, "ca-"+strconv.Itoa(n))
		}
	}
	h := derHead{body: len(bags)}
	h.wrap(derSequence) // SafeContents
	h.wrap(derOctets)
	h.wrap(derExplicit)
	h.put(oidData)
	h.wrap(derSequence) // ContentInfo
	h.wrap(derSequence) // AuthenticatedSafe
	h.wrap(derOctets)
	h.wrap(derExplicit)
	h.put(oidData)
	h.wrap(derSequence)       // ContentInfo
	h.put([]byte{0x02, 1, 3}) // the version
	h.wrap(derSequence)       // PFX
	return append(h.b, bags...)
}

// appendBag adds a SafeBag with one certificate, trusted for every use.
func appendBag(out, cert []byte, name string) []byte {
	wide := make([]byte, 0, 2*len(name))
	for i := range len(name) {
		wide = append(wide, 0, name[i]) // BMPString
	}
	called := der(derSequence, oidFriendlyName, der(derSet, der(derBMP, wide)))
	trusted := der(derSequence, oidTrustedUse, der(derSet, oidAnyUse))
	if bytes.Compare(called, trusted) > 0 { // a SET OF is sorted
		called, trusted = trusted, called
	}
	about := der(derSet, called, trusted)
	h := derHead{body: len(cert)}
	h.wrap(derOctets)
	h.wrap(derExplicit)
	h.put(oidX509)
	h.wrap(derSequence) // CertBag
	h.wrap(derExplicit)
	h.put(oidCertBag)
	h.body += len(about)
	h.wrap(derSequence)
	return append(append(append(out, h.b...), cert...), about...)
}

const (
	derOctets   = 0x04
	derBits     = 0x03
	derBMP      = 0x1e
	derSequence = 0x30
	derSet      = 0x31
	derExplicit = 0xa0 // [0]
)

// Object identifiers, encoded.
var (
	oidData         = []byte("\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01")             // 1.2.840.113549.1.7.1
	oidCertBag      = []byte("\x06\x0b\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x0a\x01\x03")     // 1.2.840.113549.1.12.10.1.3
	oidX509         = []byte("\x06\x0a\x2a\x86\x48\x86\xf7\x0d\x01\x09\x16\x01")         // 1.2.840.113549.1.9.22.1
	oidFriendlyName = []byte("\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x09\x14")             // 1.2.840.113549.1.9.20
	oidTrustedUse   = []byte("\x06\x0c\x60\x86\x48\x01\x86\xf9\x66\xad\xca\x7b\x01\x01") // 2.16.840.1.113894.746875.1.1
	oidAnyUse       = []byte("\x06\x04\x55\x1d\x25\x00")                                 // 2.5.29.37.0
)

// derHead is what stands before a body of so many bytes; it grows at its front.
type derHead struct {
	b    []byte
	body int
}

func (h *derHead) put(b []byte)  { h.b = append(bytes.Clone(b), h.b...) }
func (h *derHead) wrap(tag byte) { h.put(derLength(tag, len(h.b)+h.body)) }

func der(tag byte, parts ...[]byte) []byte {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	out := derLength(tag, n)
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func derLength(tag byte, n int) []byte {
	switch {
	case n < 0x80:
		return []byte{tag, byte(n)}
	case n < 1<<8:
		return []byte{tag, 0x81, byte(n)}
	case n < 1<<16:
		return []byte{tag, 0x82, byte(n >> 8), byte(n)}
	case n < 1<<24:
		return []byte{tag, 0x83, byte(n >> 16), byte(n >> 8), byte(n)}
	}
	return []byte{tag, 0x84, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
}

// isCertificate looks at the outside: a sequence of the certificate proper, the
// algorithm and the signature, and nothing after it.
func isCertificate(b []byte) bool {
	whole, rest, ok := derTake(derSequence, b)
	if !ok || len(rest) > 0 {
		return false
	}
	for _, tag := range []byte{derSequence, derSequence, derBits} {
		if _, whole, ok = derTake(tag, whole); !ok {
			return false
		}
	}
	return len(whole) == 0
}

// derTake splits off one value.
func derTake(tag byte, b []byte) (value, rest []byte, ok bool) {
	if len(b) < 2 || b[0] != tag {
		return nil, nil, false
	}
	n, at := int(b[1]), 2
	if n >= 0x80 {
		more := n - 0x80
		if more < 1 || more > 3 || len(b) < 2+more {
			return nil, nil, false
		}
		n = 0
		for _, c := range b[2 : 2+more] {
			n = n<<8 | int(c)
		}
		at += more
	}
	if n > len(b)-at || !bytes.HasPrefix(b, derLength(tag, n)) {
		return nil, nil, false
	}
	return b[at : at+n], b[at+n:], true
}
