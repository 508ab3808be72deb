package broker

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// authority certifies the vendors. There is one for all tests of a stage.
var authority = sync.OnceValue(newAuthority)

type ca struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte

	mu    sync.Mutex
	known map[string]*tls.Certificate
}

const authorityName = "Vendors Test CA"

func newAuthority() *ca {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	t := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: authorityName}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		panic(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	return &ca{cert: cert, key: key, known: map[string]*tls.Certificate{},
		pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

func (a *ca) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	name := hello.ServerName
	if c := a.known[name]; c != nil {
		return c, nil
	}
	t := &x509.Certificate{SerialNumber: big.NewInt(int64(len(a.known) + 2)), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, a.key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	a.known[name] = &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.key}
	return a.known[name], nil
}

// request is one as a vendor got it.
type request struct {
	Method, Path, Query, Host, Proto string
	Header                           http.Header
	Body                             []byte
}

// text is all of a request in which a credential could be.
func (r request) text() string {
	var b bytes.Buffer
	b.WriteString(r.Method + " " + r.Path + "?" + r.Query + "\nHost: " + r.Host + "\n")
	r.Header.Write(&b)
	b.Write(r.Body)
	return b.String()
}

// vendor is a server that remembers what it got.
type vendor struct {
	mu    sync.Mutex
	got   []request
	conns int

	server *http.Server
}

// serve starts one at a listener; nil for answer is "ok".
func serve(t testing.TB, l net.Listener, secure bool, answer http.HandlerFunc) *vendor {
	t.Helper()
	v := &vendor{}
	if answer == nil {
		answer = func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "ok") }
	}
	v.server = &http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: v.remember(answer),
		ConnState: func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				v.mu.Lock()
				v.conns++
				v.mu.Unlock()
			}
		}}
	t.Cleanup(func() { v.server.Close() })
	if secure {
		v.server.TLSConfig = &tls.Config{GetCertificate: authority().certificate}
		go v.server.ServeTLS(l, "", "")
	} else {
		go v.server.Serve(l)
	}
	return v
}

// most bounds what is kept of a body.
const most = 40 << 20

func (v *vendor) remember(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, most))
		if err != nil {
			return // the other side went away
		}
		v.mu.Lock()
		v.got = append(v.got, request{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, r.Host, r.Proto, r.Header.Clone(), body})
		v.mu.Unlock()
		r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
		next(w, r)
	})
}

// requests are those that came so far.
func (v *vendor) requests() []request {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.got)
}

// connections is how many were opened, whatever became of them.
func (v *vendor) connections() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.conns
}

func (v *vendor) forget() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.got, v.conns = nil, 0
}

// holds tells whether anything that came has a text in it.
func (v *vendor) holds(text string) bool {
	return slices.ContainsFunc(v.requests(), func(r request) bool { return strings.Contains(r.text(), text) })
}
