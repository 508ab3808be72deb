package gate

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/address"
)

// names is a resolver that knows these.
type names map[address.Name][]string

func (n names) Lookup(_ context.Context, name address.Name) ([]netip.Addr, error) {
	list, known := n[name]
	if !known {
		return nil, &net.DNSError{Err: "no such host", Name: string(name), IsNotFound: true}
	}
	var out []netip.Addr
	for _, a := range list {
		out = append(out, netip.MustParseAddr(a))
	}
	return out, nil
}

// dials is a dialler of which only some addresses answer, and what it has dialled.
func dials(t *testing.T, n names, answer ...string) (d *dialler, dialled func() []string) {
	t.Helper()
	var mu sync.Mutex
	var tried []string
	d = &dialler{guard: guard{rules: newRules(reach(t, "internet", nil, nil, []string{"10.1.2.3:443"}))}, names: newLookups(t.Context(), n)}
	d.dial = func(_ context.Context, to netip.AddrPort) (*net.TCPConn, error) {
		mu.Lock()
		tried = append(tried, to.Addr().String())
		mu.Unlock()
		if !slices.Contains(answer, to.Addr().String()) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: unix.ECONNREFUSED}
		}
		near, _ := tcpPair(t)
		return near, nil
	}
	t.Cleanup(d.close)
	return d, func() []string { mu.Lock(); defer mu.Unlock(); return tried }
}

func TestReach(t *testing.T) {
	const first, second, third = "9.9.9.1", "9.9.9.2", "9.9.9.3"
	for what, c := range map[string]struct {
		addrs  []string
		answer string
		want   string // dialled, in order
		reason string
		closed bool
	}{
		"one address":          {[]string{first}, first, first, "", false},
		"the second answers":   {[]string{first, second}, second, first + " " + second, "", false},
		"none answers":         {[]string{first, second, third}, "", first + " " + second + " " + third, "connection refused", false},
		"no address":           {[]string{}, "", "", "it failed", false},
		"internal alone":       {[]string{"10.0.0.1", "127.0.0.1"}, "10.0.0.1", "", "", true},
		"internal is left out": {[]string{"169.254.169.254", second}, second, second, "", false},
		"internal by rule":     {[]string{"10.1.2.3"}, "10.1.2.3", "10.1.2.3", "", false},
		"v4 in v6":             {[]string{"::ffff:127.0.0.1"}, "127.0.0.1", "", "", true},
		"unknown":              {nil, "", "", "the name does not exist", false},
	} {
		t.Run(what, func(t *testing.T) {
			n := names{"a.test": c.addrs}
			if c.addrs == nil {
				n = nil
			}
			d, dialled := dials(t, n, c.answer)
			conn, addr, err := d.reach(t.Context(), address.Target{Name: "a.test", Port: 443}, false)
			var closed *closedError
			if got := errors.As(err, &closed); got != c.closed {
				t.Errorf("closed: %v, %v", got, err)
			}
			if c.reason != "" && dialReason(err) != c.reason || (conn != nil) != (c.reason == "" && !c.closed) {
				t.Errorf("%v, %v", conn, err)
			}
			if got := strings.Join(dialled(), " "); got != c.want {
				t.Errorf("dialled %q", got)
			}
			if c.reason == "connection refused" && addr != first {
				t.Errorf("the record gets %q", addr)
			}
		})
	}
}

// TestMaxAddresses: a name is one host, not a list of hosts to be tried.
func TestMaxAddresses(t *testing.T) {
	var many []string
	for a := netip.MustParseAddr("9.9.9.1"); len(many) < 40; a = a.Next() {
		many = append(many, a.String())
	}
	d, dialled := dials(t, names{"a.test": many})
	if _, _, err := d.reach(t.Context(), address.Target{Name: "a.test", Port: 443}, false); err == nil || len(dialled()) != maxAddrs {
		t.Errorf("%d were dialled, %v", len(dialled()), err)
	}
}

// TestByProxy: a proxy gets the name only where a rule names the very host, and nothing
// that the host itself knows to be internal.
func TestByProxy(t *testing.T) {
	l := listenLocal(t, "127.0.0.1:0")
	asked := make(chan string, 1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r, err := http.ReadRequest(bufio.NewReader(c))
			if err != nil {
				c.Close()
				continue
			}
			asked <- r.Host
			c.Write([]byte("HTTP/1.1 200 OK\r\n\r\n"))
			c.Close()
		}
	}()
	for what, c := range map[string]struct {
		target, direct string
		exact          bool
		asked, reason  string
	}{
		"by a wider rule":   {"a.test:443", "", false, "9.9.9.1:443", ""},
		"by the very name":  {"a.test:443", "", true, "a.test:443", ""},
		"unknown here":      {"gone.test:443", "", false, "", "the name does not exist"},
		"unknown, exact":    {"gone.test:443", "", true, "gone.test:443", ""},
		"internal":          {"in.test:443", "", true, "", "it failed"},
		"one of them is":    {"mixed.test:443", "", true, "", "it failed"},
		"an address":        {"9.9.9.9:443", "", false, "9.9.9.9:443", ""},
		"dialled directly":  {"a.test:443", "a.test", true, "", "connection refused"},
		"a domain directly": {"b.a.test:443", ".a.test", true, "", "the name does not exist"},
		"another port":      {"a.test:443", "a.test:80", true, "a.test:443", ""},
	} {
		t.Run(what, func(t *testing.T) {
			d, _ := dials(t, names{"a.test": {"9.9.9.1"}, "in.test": {"10.0.0.1"}, "mixed.test": {"9.9.9.1", "127.0.0.1"}})
			var err error
			if d.proxy, err = ParseUpstream("http://"+l.Addr().String(), c.direct); err != nil {
				t.Fatal(err)
			}
			conn, addr, err := d.reach(t.Context(), target(t, c.target), c.exact)
			if c.reason != "" {
				if err == nil || dialReason(err) != c.reason {
					t.Fatalf("%v, %v", conn, err)
				}
				return
			}
			if err != nil || addr != "by proxy" {
				t.Fatalf("%q, %v", addr, err)
			}
			conn.Close()
			if got := <-asked; got != c.asked {
				t.Errorf("the proxy is asked for %s", got)
			}
		})
	}
}
