package world

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"sync"
	"time"
)

// authority certifies every name that it is asked for.
type authority struct {
	cert *x509.Certificate
	key  crypto.Signer
	pem  []byte

	mu    sync.Mutex
	known map[string]*tls.Certificate
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "World Test CA"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{cert: cert, key: key, known: map[string]*tls.Certificate{},
		pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}, nil
}

// certificate makes one for the name that a client asks for; who asks for none gets
// one for the address.
func (a *authority) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := hello.ServerName
	t := &x509.Certificate{NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if name != "" {
		t.DNSNames = []string{name}
	} else {
		at := hello.Conn.LocalAddr().(*net.TCPAddr).IP
		name, t.IPAddresses = at.String(), []net.IP{at}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.known[name]; c != nil {
		return c, nil
	}
	t.SerialNumber = big.NewInt(int64(len(a.known) + 2))
	t.Subject.CommonName = name[:min(len(name), 64)]
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, a.key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	a.known[name] = &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.key}
	return a.known[name], nil
}
