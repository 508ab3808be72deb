// Command filter is a company's proxy: it decides by name, looks names up by itself, and
// writes down what it was asked.
//
//	filter http|socks ADDRESS LOG LOGIN NAME=ADDRESS …
//
// LOGIN is USER:PASSWORD, or - for everybody. As such proxies do, it opens tunnels to port
// 443 alone, and takes requests in the clear whole.
package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// filter is the proxy.
type filter struct {
	login string
	names map[string]string
	log   *os.File
}

func main() {
	if len(os.Args) < 5 {
		fmt.Fprintln(os.Stderr, "usage: filter http|socks ADDRESS LOG LOGIN NAME=ADDRESS …")
		os.Exit(2)
	}
	fmt.Fprintln(os.Stderr, "filter:", run(os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5:]))
	os.Exit(1)
}

func run(kind, address, path, login string, names []string) error {
	f := &filter{login: login, names: map[string]string{}}
	for _, n := range names {
		name, to, _ := strings.Cut(n, "=")
		f.names[name] = to
	}
	var err error
	if f.log, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644); err != nil {
		return err
	}
	secure, err := certified(kind, address, path)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	if secure != nil {
		l = tls.NewListener(l, secure)
	}
	serve := f.http
	if kind == "socks" {
		serve = f.socks
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			serve(c)
		}()
	}
}

// certified makes a certificate for a proxy within TLS, and lays it beside the log.
func certified(kind, address, path string) (*tls.Config, error) {
	if kind != "https" {
		return nil, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "proxy"}, NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.ParseIP(host)}}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, err
	}
	err = os.WriteFile(path+".pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, err
}

// knows is where a name leads; an address is none.
func (f *filter) knows(name string) (string, bool) {
	to, ok := f.names[name]
	for suffix, at := range f.names {
		if below, star := strings.CutPrefix(suffix, "*"); star && !ok && strings.HasSuffix(name, below) {
			to, ok = at, true
		}
	}
	return to, ok
}

func (f *filter) http(c net.Conn) {
	r := bufio.NewReader(c)
	q, err := http.ReadRequest(r)
	if err != nil {
		return
	}
	say := func(status int, fields string) {
		fmt.Fprintf(f.log, "%s %s %d\n", q.Method, q.Host, status)
		if status != 200 || fields != "" {
			fmt.Fprintf(c, "HTTP/1.1 %d %s\r\n%sContent-Length: 0\r\nConnection: close\r\n\r\n", status, http.StatusText(status), fields)
		}
	}
	if want := "Basic " + base64.StdEncoding.EncodeToString([]byte(f.login)); f.login != "-" && q.Header.Get("Proxy-Authorization") != want {
		say(407, "Proxy-Authenticate: Basic realm=\"company\"\r\n")
		return
	}
	host, port := q.Host, "80"
	if h, p, err := net.SplitHostPort(q.Host); err == nil {
		host, port = h, p
	}
	at, known := f.knows(host)
	if !known || (q.Method == http.MethodConnect) != (port == "443") {
		say(403, "")
		return
	}
	to, err := net.Dial("tcp", net.JoinHostPort(at, port))
	if err != nil {
		say(503, "")
		return
	}
	defer to.Close()
	say(200, "")
	if q.Method == http.MethodConnect {
		io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n")
		join(c, r, to)
		return
	}
	f.forward(c, q, to)
}

// forward passes one request on in the clear, and its answer.
func (f *filter) forward(c net.Conn, q *http.Request, to net.Conn) {
	for _, name := range []string{"Proxy-Authorization", "Proxy-Connection"} {
		q.Header.Del(name)
	}
	q.Close = true
	if q.Write(to) == nil {
		io.Copy(c, to)
	}
}

func (f *filter) socks(c net.Conn) {
	method := byte(2)
	if f.login == "-" {
		method = 0
	}
	head := read(c, 2)
	if head == nil || head[0] != 5 || !strings.Contains(string(read(c, int(head[1]))), string(method)) {
		c.Write([]byte{5, 0xff})
		return
	}
	c.Write([]byte{5, method})
	if method == 2 {
		n := read(c, 2)
		if n == nil {
			return
		}
		user := string(read(c, int(n[1])))
		if n = read(c, 1); n == nil || user+":"+string(read(c, int(n[0]))) != f.login {
			c.Write([]byte{1, 1})
			return
		}
		c.Write([]byte{1, 0})
	}
	f.socksRequest(c)
}

func (f *filter) socksRequest(c net.Conn) {
	ask := read(c, 5)
	if ask == nil || ask[3] != 3 { // an address
		fmt.Fprintf(f.log, "SOCKS address\n")
		c.Write([]byte{5, 2, 0, 1, 0, 0, 0, 0, 0, 0})
		return
	}
	name, port := string(read(c, int(ask[4]))), read(c, 2)
	at, known := f.knows(name)
	fmt.Fprintf(f.log, "SOCKS %s %v\n", name, known)
	if !known || port == nil {
		c.Write([]byte{5, 2, 0, 1, 0, 0, 0, 0, 0, 0})
		return
	}
	to, err := net.Dial("tcp", net.JoinHostPort(at, strconv.Itoa(int(port[0])<<8|int(port[1]))))
	if err != nil {
		c.Write([]byte{5, 4, 0, 1, 0, 0, 0, 0, 0, 0})
		return
	}
	defer to.Close()
	c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	join(c, c, to)
}

func read(r io.Reader, n int) []byte {
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil
	}
	return b
}

func join(c net.Conn, from io.Reader, to net.Conn) {
	go func() {
		io.Copy(to, from)
		to.(*net.TCPConn).CloseWrite()
	}()
	io.Copy(c, to)
}
