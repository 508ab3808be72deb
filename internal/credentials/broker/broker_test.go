package broker

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/policy"
)

// stand is a broker with its two doors on loopback listeners, as the gate would hold
// them.
func stand(t *testing.T, hosts []address.Name, sites []Site) (b *Broker, plain, secure string) {
	t.Helper()
	b, err := New("test", hosts, policy.Commons{})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Start(sites); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b, door(t, b.Local), door(t, func(c net.Conn) { b.Serve(c, "") })
}

// door accepts connections and hands them over.
func door(t *testing.T, hand func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go hand(c)
		}
	}()
	return l.Addr().String()
}

// ask sends bytes and reads one answer.
func ask(t *testing.T, at, head string) *http.Response {
	t.Helper()
	c, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	io.WriteString(c, strings.ReplaceAll(head, "\n", "\r\n")+"\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%q: %v", head, err)
	}
	return resp
}

func echo(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "%s %s %s", name, r.URL.Path, r.Proto) })
}

func TestEndpoint(t *testing.T) {
	_, plain, _ := stand(t, nil, []Site{{Prefix: "/one", Handler: echo("one")}, {Prefix: "/git/forge.test", Handler: echo("git")}})
	for head, want := range map[string]string{
		"GET /one/v1/x HTTP/1.1\nHost: 127.0.0.1:809":                "one /v1/x HTTP/1.1",
		"GET /one HTTP/1.1\nHost: localhost:809":                     "one / HTTP/1.1",
		"GET /git/forge.test/o/r HTTP/1.1\nHost: [::1]:809":          "git /o/r HTTP/1.1",
		"GET /oneself HTTP/1.1\nHost: 127.0.0.1:809":                 "ringfence: the broker of this session has nothing here\n",
		"GET /%6fne/x HTTP/1.1\nHost: 127.0.0.1:809":                 "ringfence: the broker of this session has nothing here\n",
		"GET /one HTTP/1.1\nHost: evil.test":                         "ringfence: this is the broker of the sandbox: it answers at http://127.0.0.1:809\n",
		"GET http://evil.test/one HTTP/1.1\nHost: 127.0.0.1:809":     "ringfence: this is the broker of the sandbox: it answers at http://127.0.0.1:809\n",
		"GET http://127.0.0.1:809/one HTTP/1.1\nHost: 127.0.0.1:809": "ringfence: this is the broker of the sandbox: it answers at http://127.0.0.1:809\n",
	} {
		got, err := io.ReadAll(ask(t, plain, head).Body)
		if err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", head, got, err)
		}
	}
}

// A host that is served is served over TLS, by HTTP/1.1 and h2, under a certificate
// that holds for it and for nothing else.
func TestOwnedHost(t *testing.T) {
	b, _, secure := stand(t, []address.Name{"api.test", "idle.test"}, []Site{{Hosts: []address.Name{"api.test"}, Handler: echo("api")}})
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(b.Certificate())
	get := func(sni, host string, h2 bool) (string, error) {
		tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: sni}, ForceAttemptHTTP2: h2,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return net.Dial("tcp", secure) }}
		defer tr.CloseIdleConnections()
		r, _ := http.NewRequest("GET", "https://"+host+"/x", nil)
		resp, err := tr.RoundTrip(r)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return string(body), err
	}
	for _, h2 := range []bool{false, true} {
		proto := map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[h2]
		if got, err := get("api.test", "api.test", h2); err != nil || got != "api /x "+proto {
			t.Errorf("%q, %v", got, err)
		}
		if got, err := get("api.test", "idle.test", h2); err != nil || !strings.Contains(got, "another host") {
			t.Errorf("a request for another host: %q, %v", got, err)
		}
		if got, err := get("idle.test", "idle.test", h2); err != nil || !strings.Contains(got, "no use of it") {
			t.Errorf("a host without a site: %q, %v", got, err)
		}
	}
	if _, err := get("other.test", "other.test", false); err == nil {
		t.Error("a host that is not the broker's was served")
	}
	leaf, err := b.ca.leaf("other.test")
	if err != nil {
		t.Fatal(err)
	}
	cert, _ := x509.ParseCertificate(leaf.Certificate[0])
	if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: "other.test"}); err == nil {
		t.Error("the authority can speak for a host that is not in its certificate")
	}
}

func TestPhantoms(t *testing.T) {
	seen := map[Phantom]bool{}
	for range 100 {
		p := NewPhantom("sk-ant-", 108)
		if len(p) != 108 || !strings.HasPrefix(string(p), "sk-ant-") || seen[p] {
			t.Fatalf("%q", p)
		}
		seen[p] = true
		if !p.is(string(p)) || p.is(string(p)+"x") || p.is("") {
			t.Fatal("a phantom is not itself, or is something else")
		}
	}
	if p := NewPhantom("x", 3); len(p) < 24 {
		t.Errorf("%q can be guessed", p)
	}
	if Phantom("").is("") {
		t.Error("no phantom passes")
	}
}
