package lending

import (
	"bytes"
	"encoding/base64"
	"encoding/pem"
	"iter"
	"slices"
	"strconv"
)

// javaStore makes the truststore that a JVM reads of certificates in PEM: PKCS #12
// (RFC 7292) without a password, in DER. It is made at every launch, so certificates
// are copied and not parsed; what does not have the outer shape of one is left out,
// since a JVM that cannot read one entry trusts none.
func javaStore(bundle []byte) []byte {
	bags := make([]byte, headRoom, headRoom+len(bundle))
	n := 0
	for cert := range certificatesOf(bundle) {
		n++
		bags = appendBag(bags, cert, "ca-"+strconv.Itoa(n))
	}
	h := derHead{body: len(bags) - headRoom}
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
	store := bags[headRoom-h.used:]
	copy(store, h.bytes())
	return store
}

// certificatesOf reads a bundle. A host has some hundred in the plainest form, for
// which pem.Decode takes three times as long; what is not in that form is left to it.
func certificatesOf(bundle []byte) iter.Seq[[]byte] {
	begin, end := []byte("-----BEGIN CERTIFICATE-----"), []byte("-----END CERTIFICATE-----")
	return func(yield func([]byte) bool) {
		var der []byte
		for rest := bundle; ; {
			at := bytes.Index(rest, begin)
			if at < 0 {
				return
			}
			rest = rest[at:]
			length := bytes.Index(rest, end)
			if length < 0 {
				return
			}
			block := rest[:length+len(end)]
			rest = rest[len(block):]
			der = slices.Grow(der[:0], length)[:length]
			n, err := base64.StdEncoding.Decode(der, block[len(begin):length])
			cert := der[:n]
			if err != nil {
				if slow, _ := pem.Decode(append(bytes.Clone(block), '\n')); slow != nil {
					cert = slow.Bytes
				}
			}
			if isCertificate(cert) && !yield(cert) {
				return
			}
		}
	}
}

// appendBag adds a SafeBag with one certificate, trusted for every use.
func appendBag(out, cert []byte, name string) []byte {
	wide := make([]byte, 0, 64)
	for i := range len(name) {
		wide = append(wide, 0, name[i]) // BMPString
	}
	called := der(derSequence, oidFriendlyName, der(derSet, der(derBMP, wide)))
	about := der(derSet, trustedForAll, called)
	if bytes.Compare(called, trustedForAll) < 0 { // a SET OF is sorted
		about = der(derSet, called, trustedForAll)
	}
	h := derHead{body: len(cert)}
	h.wrap(derOctets)
	h.wrap(derExplicit)
	h.put(oidX509)
	h.wrap(derSequence) // CertBag
	h.wrap(derExplicit)
	h.put(oidCertBag)
	h.body += len(about)
	h.wrap(derSequence)
	return append(append(append(out, h.bytes()...), cert...), about...)
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

var trustedForAll = der(derSequence, oidTrustedUse, der(derSet, oidAnyUse))

const headRoom = 96

// derHead is what stands before a body of so many bytes; it grows at its front.
type derHead struct {
	room [headRoom]byte
	used int
	body int
}

func (h *derHead) bytes() []byte { return h.room[len(h.room)-h.used:] }

func (h *derHead) put(b []byte) {
	h.used += len(b)
	copy(h.bytes(), b)
}

func (h *derHead) wrap(tag byte) {
	var room [6]byte
	h.put(appendLength(room[:0], tag, h.used+h.body))
}

func der(tag byte, parts ...[]byte) []byte {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	out := appendLength(make([]byte, 0, n+6), tag, n)
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// appendLength adds a tag and a length in its shortest form.
func appendLength(out []byte, tag byte, n int) []byte {
	switch {
	case n < 0x80:
		return append(out, tag, byte(n))
	case n < 1<<8:
		return append(out, tag, 0x81, byte(n))
	case n < 1<<16:
		return append(out, tag, 0x82, byte(n>>8), byte(n))
	case n < 1<<24:
		return append(out, tag, 0x83, byte(n>>16), byte(n>>8), byte(n))
	}
	return append(out, tag, 0x84, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
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
	var room [6]byte
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
	if n > len(b)-at || at != len(appendLength(room[:0], tag, n)) {
		return nil, nil, false
	}
	return b[at : at+n], b[at+n:], true
}
