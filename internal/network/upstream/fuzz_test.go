package upstream

import (
	"bytes"
	"errors"
	"io"
	"net/url"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/address"
)

// FuzzAnswer: whatever a proxy says, it is read to the end of its head or refused in
// words of our own, within bounds, and what follows stays.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{"HTTP/1.1 200 OK\r\n\r\nx", "HTTP/1.0 407 No\r\nProxy-Authenticate: Basic realm=a\r\n\r\n", "HTTP/1.1 200 OK\n\n", "\x05\x00", "HTTP/1.1 999 \r\n\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		a, err := readAnswer(r)
		read := len(b) - r.Len()
		if read > maxHead || len(a.logins) > maxLogins {
			t.Fatalf("%d bytes were read, %d logins", read, len(a.logins))
		}
		if err != nil {
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("%v", err)
			}
			return
		}
		if head := string(b[:read]); a.status < 100 || a.status > 599 || !strings.HasSuffix(head, "\r\n\r\n") || strings.Count(head, "\r\n\r\n") != 1 {
			t.Fatalf("%d of %q", a.status, head)
		}
	})
}

// FuzzSOCKS: the same for SOCKS5.
func FuzzSOCKS(f *testing.F) {
	f.Add([]byte("\x05\x02\x01\x00\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00x"), true)
	f.Add([]byte("\x05\x00\x05\x00\x00\x03\xff"), false)
	f.Fuzz(func(t *testing.T, b []byte, login bool) {
		p := &Proxy{socks: true, login: login, user: "u", pass: "p"}
		said := &conversation{Reader: bytes.NewReader(b)}
		err := p.askSOCKS(said, address.Target{Name: "allowed.test", Port: 443})
		var e *Error
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("%v", err)
		}
		rest, _ := io.ReadAll(said)
		if read := len(b) - len(rest); read > 2+2+4+1+255+2 {
			t.Fatalf("%d bytes were read", read)
		}
		if !login && bytes.Contains(said.told.Bytes(), []byte("\x01up")) {
			t.Fatal("a login that nobody has")
		}
	})
}

// FuzzParse: no text makes a proxy that could be asked in two ways, and no error repeats
// a password.
func FuzzParse(f *testing.F) {
	f.Add("http://u:SECRETWORD@proxy.test:3128", "a.test,10.0.0.0/8")
	f.Add("socks5h://[::1]:1", "*, .x:1")
	f.Fuzz(func(t *testing.T, text, direct string) {
		p, err := Parse(text, direct)
		if err != nil {
			if u, bad := url.Parse(text); bad == nil && u.User != nil {
				if pass, _ := u.User.Password(); len(pass) > 8 && strings.Contains(err.Error(), pass) {
					t.Fatalf("%q: %v", text, err)
				}
			}
			return
		}
		if strings.ContainsAny(p.addr, "\r\n") || p.socks && (len(p.user) > maxLogin || len(p.pass) > maxLogin) {
			t.Fatalf("%q makes %q", text, p.addr)
		}
		said := &conversation{Reader: strings.NewReader("HTTP/1.1 200 OK\r\n\r\n")}
		if !p.socks {
			if err := p.askHTTP(said, address.Target{Name: "a.test", Port: 443}); err != nil || strings.Count(said.told.String(), "\r\n") > 4 {
				t.Fatalf("%q asks %q: %v", text, said.told.String(), err)
			}
		}
		p.Skips(address.Target{Name: "a.test", Port: 443})
	})
}
