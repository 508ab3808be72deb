package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/address"
)

func target(t testing.TB, s string) address.Target {
	t.Helper()
	to, err := address.ParseTarget(s)
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// TestParse: what cannot be a proxy is refused, and no word of it is repeated.
func TestParse(t *testing.T) {
	long := strings.Repeat("x", 256)
	for text, want := range map[string]string{
		"http://proxy.test:3128": "proxy.test:3128", "proxy.test:3128": "proxy.test:3128", "http://proxy.test": "proxy.test:80",
		"socks5h://proxy.test": "proxy.test:1080", "socks5://[fd00::1]:9": "[fd00::1]:9",
		"http://u:SECRET@proxy.test:1/": "proxy.test:1", "socks5h://u:SECRET@proxy.test:1": "proxy.test:1",
		"http://u%20x:SECRET%23%3a%40@proxy.test:1": "proxy.test:1",
		"https://u:SECRET@proxy.test:1":             "proxy.test:1", "https://proxy.test": "proxy.test:443", "ftp://proxy.test": "", "http://": "", "http://u:SECRET@": "",
		"http://u:SECRET@proxy.test:1/path": "", "http://u:SECRET@proxy.test:1?q": "", "http://u:SEC#RET@proxy.test:1": "",
		"http://proxy.test:0": "", "http://proxy.test:99999": "", "http://a b/": "", "http://pro\r\nxy.test:1": "",
		"http://u%3av:SECRET@proxy.test:1": "", "socks5h://u:SECRET" + long + "@proxy.test:1": "", "socks5h://u@proxy.test:1": "",
	} {
		p, err := Parse(text, "")
		if (err == nil) != (want != "") || err == nil && p.String() != want {
			t.Errorf("%q: %v, %v", text, p, err)
		}
		if err != nil && (strings.Contains(err.Error(), "SEC") || strings.Contains(err.Error(), "RET")) {
			t.Errorf("%q: the password is in %q", text, err)
		}
		if err == nil && strings.Contains(fmt.Sprint(p), "SECRET") {
			t.Errorf("%q: printed with its password", text)
		}
	}
}

// TestSkips: NO_PROXY as people write it.
func TestSkips(t *testing.T) {
	for list, c := range map[string]struct{ skips, not, unread string }{
		"a.test":                         {"a.test:443 b.a.test:80", "xa.test:443 test:1 9.9.9.9:443", ""},
		".a.test, *.b.test":              {"a.test:1 x.a.test:1 b.test:1 x.b.test:1", "c.test:1 ab.test:1", ""},
		"A.TEST.":                        {"a.test:1", "b.test:1", ""},
		"a.test:443":                     {"a.test:443 x.a.test:443", "a.test:80", ""},
		"10.0.0.0/8 192.168.1.9":         {"10.1.2.3:1 192.168.1.9:1", "192.168.1.8:1 a.test:1", ""},
		"10.0.0.1:80":                    {"10.0.0.1:80", "10.0.0.1:81", ""},
		"::1,[fd00::2],[fd00::3]:5":      {"[::1]:1 [fd00::2]:1 [fd00::3]:5", "[fd00::3]:6", ""},
		"*":                              {"a.test:1 9.9.9.9:1", "", ""},
		".":                              {"", "a.test:1 9.9.9.9:1", "."},
		"*.":                             {"", "a.test:1", "*."},
		",, ,":                           {"", "a.test:1", ""},
		"<local>,169.254/16,a*b,a.test:": {"", "a.test:1 169.254.0.1:1", "<local> 169.254/16 a*b a.test:"},
		"[::1,::1]:x,:80,::1%lo":         {"", "[::1]:1", "[::1 ::1]:x :80 ::1%lo"},
	} {
		p, err := Parse("http://proxy.test:1", list)
		if err != nil {
			t.Fatal(err)
		}
		for _, to := range strings.Fields(c.skips) {
			if !p.Skips(target(t, to)) {
				t.Errorf("%q: %s goes by the proxy", list, to)
			}
		}
		for _, to := range strings.Fields(c.not) {
			if p.Skips(target(t, to)) {
				t.Errorf("%q: %s does not go by the proxy", list, to)
			}
		}
		if got := strings.Join(p.Unread(), " "); got != c.unread {
			t.Errorf("%q: not understood: %q", list, got)
		}
	}
}

// conversation is a proxy that says what it says, and remembers what it was told.
type conversation struct {
	io.Reader
	told bytes.Buffer
}

func (c *conversation) Write(b []byte) (int, error) { return c.told.Write(b) }

// TestConnect: what is asked, to the byte, and what each answer means. What follows the
// answer stays unread.
func TestConnect(t *testing.T) {
	const yes = "HTTP/1.1 200 Connection established\r\n\r\n"
	for what, c := range map[string]struct {
		says, want string
		refused    bool
	}{
		"yes":                      {yes + "TUNNEL", "", false},
		"yes of HTTP/1.0":          {"HTTP/1.0 200 OK\r\nVia: x\r\n\r\nTUNNEL", "", false},
		"yes without words":        {"HTTP/1.1 204\r\n\r\nTUNNEL", "", false},
		"filtered":                 {"HTTP/1.1 403 Forbidden\r\nContent-Length: 5\r\n\r\nno go", "refuses this host (403)", true},
		"a login":                  {"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"x\"\r\n\r\n", "does not accept the login (407)", true},
		"another login":            {"HTTP/1.1 407 No\r\nproxy-authenticate: Negotiate\r\nProxy-Authenticate: NTLM\r\n\r\n", "wants a kind of login that ringfence does not have (407: negotiate, ntlm, not Basic)", true},
		"one of two logins":        {"HTTP/1.1 407 No\r\nProxy-Authenticate: NTLM\r\nProxy-Authenticate: basic\r\n\r\n", "does not accept the login (407)", true},
		"a page to log in":         {"HTTP/1.1 302 Found\r\nLocation: http://portal.test/\r\n\r\n", "sends us elsewhere (302), as one does that wants a login by a browser", true},
		"too many":                 {"HTTP/1.1 429 Slow\r\n\r\n", "refuses the request (429)", true},
		"no such name":             {"HTTP/1.1 503 Service Unavailable\r\n\r\n", "did not reach the host (503)", false},
		"not an answer":            {"HTTP/1.1 100 Continue\r\n\r\n", "gives an answer that is none (100)", false},
		"nothing":                  {"", "went away", false},
		"cut":                      {"HTTP/1.1 200 OK\r\n", "went away", false},
		"another version":          {"HTTP/2 200\r\n\r\n", "does not speak HTTP", false},
		"a long status":            {"HTTP/1.1 2000 OK\r\n\r\n", "does not speak HTTP", false},
		"a short status":           {"HTTP/1.1 20\r\n\r\n", "does not speak HTTP", false},
		"a sign":                   {"HTTP/1.1 +20 x\r\n\r\n", "does not speak HTTP", false},
		"line feeds alone":         {"HTTP/1.1 200 OK\n\n", "does not speak HTTP", false},
		"a carriage return within": {"HTTP/1.1 200 O\rK\r\n\r\n", "does not speak HTTP", false},
		"a field without a name":   {"HTTP/1.1 200 OK\r\n: x\r\n\r\n", "does not speak HTTP", false},
		"a folded field":           {"HTTP/1.1 200 OK\r\nA: x\r\n y\r\n\r\n", "does not speak HTTP", false},
		"TLS":                      {"\x15\x03\x01\x00\x02\x02\x46", "does not speak HTTP", false},
		"too much":                 {"HTTP/1.1 200 OK\r\n" + strings.Repeat("A: x\r\n", 4000) + "\r\n", "says too much", false},
	} {
		t.Run(what, func(t *testing.T) {
			p, err := Parse("http://user:p%40ss@proxy.test:1", "")
			if err != nil {
				t.Fatal(err)
			}
			said := &conversation{Reader: strings.NewReader(c.says)}
			check(t, p.askHTTP(said, target(t, "allowed.test:443")), c.want, c.refused)
			if got := said.told.String(); got != "CONNECT allowed.test:443 HTTP/1.1\r\nHost: allowed.test:443\r\nProxy-Authorization: Basic dXNlcjpwQHNz\r\n\r\n" {
				t.Errorf("asked %q", got)
			}
			if rest, _ := io.ReadAll(said); c.want == "" && string(rest) != "TUNNEL" {
				t.Errorf("the tunnel begins with %q", rest)
			}
		})
	}
}

func check(t *testing.T, err error, want string, no bool) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Error(err)
		}
		return
	}
	var e *Error
	if !errors.As(err, &e) || e.Error() != "the upstream proxy "+want || e.Refused != no {
		t.Errorf("%v, want %q", err, want)
	}
}

// TestSOCKS: the same for SOCKS5.
func TestSOCKS(t *testing.T) {
	const in = "\x05\x02\x01\x00" // the login is wanted and taken
	name := "\x05\x01\x02\x01\x04user\x04pass\x05\x01\x00\x03\x0callowed.test\x01\xbb"
	for what, c := range map[string]struct {
		to, says, want string
		refused        bool
		asked          string
	}{
		"by name":              {"allowed.test:443", in + "\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00TUNNEL", "", false, name},
		"bound to IPv6":        {"allowed.test:443", in + "\x05\x00\x00\x04" + strings.Repeat("\x00", 18) + "TUNNEL", "", false, name},
		"bound to a name":      {"allowed.test:443", in + "\x05\x00\x00\x03\x03abc\x00\x01TUNNEL", "", false, name},
		"bound to nothing":     {"allowed.test:443", in + "\x05\x00\x00\x03\x00\x00\x01TUNNEL", "", false, name},
		"by address":           {"9.9.9.9:443", in + "\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00TUNNEL", "", false, name[:14] + "\x05\x01\x00\x01\x09\x09\x09\x09\x01\xbb"},
		"refused":              {"allowed.test:443", in + "\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00", "refuses this host (SOCKS5 code 2)", true, name},
		"unreachable":          {"allowed.test:443", in + "\x05\x04\x00\x01\x00\x00\x00\x00\x00\x00", "did not reach the host (SOCKS5 code 4)", false, name},
		"another address type": {"allowed.test:443", in + "\x05\x00\x00\x02\x00\x00", "does not speak SOCKS5", false, name},
		"a reserved byte":      {"allowed.test:443", in + "\x05\x00\x01\x01\x00\x00\x00\x00\x00\x00", "does not speak SOCKS5", false, name},
		"cut":                  {"allowed.test:443", in + "\x05\x00\x00\x03\xffabc", "went away", false, name},
		"no such login":        {"allowed.test:443", "\x05\xff", "takes no login by name and password", true, name[:3]},
		"another method":       {"allowed.test:443", "\x05\x00", "does not speak SOCKS5", false, name[:3]},
		"a wrong login":        {"allowed.test:443", "\x05\x02\x01\x01", "does not accept the login", true, name[:14]},
		"HTTP":                 {"allowed.test:443", "HTTP/1.1 400 Bad Request\r\n\r\n", "does not speak SOCKS5", false, name[:3]},
	} {
		t.Run(what, func(t *testing.T) {
			p, err := Parse("socks5h://user:pass@proxy.test:1", "")
			if err != nil {
				t.Fatal(err)
			}
			said := &conversation{Reader: strings.NewReader(c.says)}
			check(t, p.askSOCKS(said, target(t, c.to)), c.want, c.refused)
			if got := said.told.String(); got != c.asked {
				t.Errorf("asked %q", got)
			}
			if rest, _ := io.ReadAll(said); c.want == "" && string(rest) != "TUNNEL" {
				t.Errorf("the tunnel begins with %q", rest)
			}
		})
	}
	p, _ := Parse("socks5h://proxy.test:1", "")
	said := &conversation{Reader: strings.NewReader("\x05\xff")}
	check(t, p.askSOCKS(said, target(t, "allowed.test:443")), "wants a login; ALL_PROXY can hold it, as socks5h://USER:PASSWORD@HOST:PORT", true)
	if !slices.Equal(said.told.Bytes(), []byte{5, 1, 0}) {
		t.Errorf("asked %q", said.told.String())
	}
}

// TestGivenUp: who no longer waits does not keep a connection that nobody answers.
func TestGivenUp(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			cancel()
			_, err = io.ReadAll(c)
		}
		ended <- err
	}()
	p, _ := Parse("http://"+l.Addr().String(), "")
	if c, err := p.Connect(ctx, target(t, "allowed.test:443"), time.Minute, error.Error); err == nil {
		t.Errorf("connected: %v", c)
	}
	<-ended
}
