package phantom

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"strings"
)

var pemHeader = lazily(`-----BEGIN ([A-Z0-9 ]{1,64})-----`)

// public are the blocks that may stay.
var public = map[string]func([]byte) error{
	"CERTIFICATE":         func(b []byte) error { _, err := x509.ParseCertificates(b); return err },
	"CERTIFICATE REQUEST": func(b []byte) error { _, err := x509.ParseCertificateRequest(b); return err },
	"X509 CRL":            func(b []byte) error { _, err := x509.ParseRevocationList(b); return err },
	"PUBLIC KEY":          func(b []byte) error { _, err := x509.ParsePKIXPublicKey(b); return err },
	"RSA PUBLIC KEY":      func(b []byte) error { _, err := x509.ParsePKCS1PublicKey(b); return err },
}

// pemFile is for files of keys and certificates.
func (m *masker) pemFile(s string) (string, Kind) {
	out, private, other := m.pem(s)
	switch {
	case private && out != "":
		return out, Key
	case out == "" || private:
		return "", Empty
	case m.prose(other):
		return s, None
	}
	return out, Values
}

// keyFile is for names that are given to keys of all kinds: without PEM in it, a text
// is taken for a token or for assignments.
func (m *masker) keyFile(s string) (string, Kind) {
	if pemHeader().MatchString(s) {
		return m.pemFile(s)
	}
	return m.anyFile(s)
}

// maxBlocks is more than the certificates that any system trusts.
const maxBlocks = 1000

// nextPEM finds the next block of a text. from is -1 if there is none, end if it has none.
func nextPEM(s string) (label string, from, end int) {
	at := pemHeader().FindStringSubmatchIndex(s)
	if at == nil {
		return "", -1, -1
	}
	label, from, end = s[at[2]:at[3]], at[0], at[1]
	last := "-----END " + label + "-----"
	n := strings.Index(s[end:], last)
	if n < 0 {
		return label, from, -1
	}
	return label, from, end + n + len(last)
}

// pem copies the public blocks of a text and puts a phantom for each private key. The
// text around them is left out, and returned.
func (m *maker) pem(s string) (out string, private bool, other string) {
	var b, rest strings.Builder
	blocks := 0
	for {
		label, from, end := nextPEM(s)
		if from < 0 {
			break
		}
		rest.WriteString(s[:from])
		var block *pem.Block
		if end >= 0 {
			block, _ = pem.Decode([]byte(s[from:end]))
		}
		check := public[label]
		switch {
		case check == nil:
			private = private || label != "EC PARAMETERS" && label != "DH PARAMETERS"
			b.WriteString(m.privateBlock(label, block))
		case block != nil && block.Type == label && check(block.Bytes) == nil && len(block.Headers) == 0:
			b.Write(pem.EncodeToMemory(block))
		default:
			private = true // broken: who knows what it holds
		}
		if blocks++; end < 0 || blocks == maxBlocks {
			return b.String(), true, rest.String() // the rest is of a key that was cut off
		}
		s = s[end:]
	}
	rest.WriteString(s)
	return b.String(), private, rest.String()
}

// privateBlock is the phantom of a block. What is no key that a phantom can be made
// for vanishes.
func (m *maker) privateBlock(label string, block *pem.Block) string {
	if block != nil && m.secrets != nil {
		m.secrets.add(string(pem.EncodeToMemory(block))[len(label)+17:])
	}
	switch label {
	case "OPENSSH PRIVATE KEY":
		return m.keyText(label, "ed25519")
	case "RSA PRIVATE KEY", "DSA PRIVATE KEY":
		return m.keyText("RSA PRIVATE KEY", "rsa")
	case "EC PRIVATE KEY":
		return m.keyText(label, curveOf(block))
	case "PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "ANY PRIVATE KEY":
		return m.keyText("PRIVATE KEY", algorithmOf(block))
	}
	return ""
}

func curveOf(block *pem.Block) string {
	if block != nil {
		if k, err := x509.ParseECPrivateKey(block.Bytes); err == nil {
			return k.Curve.Params().Name
		}
	}
	return "P-256"
}

func algorithmOf(block *pem.Block) string {
	if block == nil {
		return "rsa"
	}
	parsed, _ := x509.ParsePKCS8PrivateKey(block.Bytes)
	switch k := parsed.(type) {
	case *ecdsa.PrivateKey:
		return k.Curve.Params().Name
	case ed25519.PrivateKey:
		return "ed25519"
	}
	return "rsa"
}

// pemValue is for PEM within a value: the line ends are written as they were.
func (m *maker) pemValue(v string) string {
	escaped := !strings.Contains(strings.TrimSpace(v), "\n") && strings.Contains(v, `\n`)
	if escaped {
		v = strings.ReplaceAll(v, `\n`, "\n")
	}
	out, _, other := m.pem(v)
	if m.secrets != nil {
		m.secrets.add(strings.TrimSpace(other))
	}
	if out == "" {
		return m.opaque(key{name: "pem"}, v)
	}
	if !strings.HasSuffix(v, "\n") {
		out = strings.TrimSuffix(out, "\n")
	}
	if escaped {
		out = strings.ReplaceAll(out, "\n", `\n`)
	}
	return out
}
