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
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/network/upstream"
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
func dials(t *testing.T, n Resolver, answer ...string) (d *dialler, dialled func() []string) {
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
		"no address":           {[]string{}, "", "", "the name has no address", false},
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

// TestByProxy: a proxy gets the name where a rule names the host, and nobody looks it up
// here; else it gets an address that was judged. What no rule opens it is never asked for.
func TestByProxy(t *testing.T) {
	at, asked := proxyOf(t, "200 OK")
	const only = "; the upstream proxy looks up only what a rule names"
	for what, c := range map[string]struct {
		target, direct string
		named          bool
		asked, reason  string
		looked         string
	}{
		"by the mode":        {"a.test:443", "", false, "9.9.9.1:443", "", "a.test"},
		"by a rule":          {"a.test:443", "", true, "a.test:443", "", ""},
		"unknown here":       {"gone.test:443", "", false, "", "the name does not exist" + only, "gone.test"},
		"unknown, by a rule": {"gone.test:443", "", true, "gone.test:443", "", ""},
		"internal":           {"in.test:443", "", false, "", "the address is a private network", "in.test"},
		"one of them is":     {"mixed.test:443", "", false, "", "the address is loopback", "mixed.test"},
		"an address":         {"9.9.9.9:443", "", false, "9.9.9.9:443", "", ""},
		"a closed address":   {"10.0.0.1:443", "", true, "", "the address is a private network", ""},
		"an opened address":  {"10.1.2.3:443", "", true, "10.1.2.3:443", "", ""},
		"the proxy itself":   {"localhost:443", "", true, "", "the name stands for loopback, at the upstream proxy too", ""},
		"below localhost":    {"a.localhost:443", "", true, "", "the name stands for loopback, at the upstream proxy too", ""},
		"metadata":           {"metadata.google.internal:80", "", true, "", "the name stands for cloud metadata, at the upstream proxy too", ""},
		"dialled directly":   {"a.test:443", "a.test", true, "", "connection refused", "a.test"},
		"a domain directly":  {"b.a.test:443", ".a.test", true, "", "the name does not exist", "b.a.test"},
		"internal, directly": {"in.test:443", "in.test", true, "", "the address is a private network", "in.test"},
		"another port":       {"a.test:443", "a.test:80", true, "a.test:443", "", ""},
	} {
		t.Run(what, func(t *testing.T) {
			known := &noted{names: names{"a.test": {"9.9.9.1"}, "in.test": {"10.0.0.1"}, "mixed.test": {"9.9.9.1", "127.0.0.1"}}}
			d, _ := dials(t, known)
			var err error
			if d.proxy, err = upstream.Parse("http://"+at, c.direct); err != nil {
				t.Fatal(err)
			}
			conn, addr, err := d.reach(t.Context(), target(t, c.target), c.named)
			if got := strings.Join(known.asked, " "); got != c.looked {
				t.Errorf("looked up here: %q", got)
			}
			if c.reason != "" {
				if err == nil || err.Error() != c.reason && dialReason(err) != c.reason {
					t.Fatalf("%v, %v", conn, err)
				}
				return
			}
			if err != nil || addr != byProxied {
				t.Fatalf("%q, %v", addr, err)
			}
			conn.Close()
			if got := <-asked; got != c.asked {
				t.Errorf("the proxy is asked for %s", got)
			}
		})
	}
}

// noted is a resolver that remembers what it was asked.
type noted struct {
	names
	asked []string
}

func (n *noted) Lookup(ctx context.Context, name address.Name) ([]netip.Addr, error) {
	n.asked = append(n.asked, string(name))
	return n.names.Lookup(ctx, name)
}

// proxyOf is a proxy that gives one answer to everybody, and what it is asked.
func proxyOf(t *testing.T, status string) (at string, asked chan string) {
	t.Helper()
	l := listenLocal(t, "127.0.0.1:0")
	asked = make(chan string, 8)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r, err := http.ReadRequest(bufio.NewReader(c))
			if err == nil {
				asked <- r.Host
				c.Write([]byte("HTTP/1.1 " + status + "\r\n\r\n"))
			}
			c.Close()
		}
	}()
	return l.Addr().String(), asked
}

// TestOffer: a host that the user named goes by the proxy, but for what is internal here.
func TestOffer(t *testing.T) {
	at, asked := proxyOf(t, "200 OK")
	for to, want := range map[string]bool{"a.test:443": true, "gone.test:443": true, "in.test:443": false, "mixed.test:443": false, "localhost:443": false, "near.test:443": false, "9.9.9.9:443": false} {
		d, _ := dials(t, names{"a.test": {"9.9.9.1"}, "in.test": {"10.0.0.1"}, "mixed.test": {"9.9.9.1", "127.0.0.1"}})
		var err error
		if d.proxy, err = upstream.Parse("http://"+at, "near.test"); err != nil {
			t.Fatal(err)
		}
		c, went, err := d.offer(t.Context(), target(t, to))
		if went != want || err != nil || (c != nil) != want {
			t.Errorf("%s: by the proxy: %v, %v", to, went, err)
		}
		if want {
			c.Close()
			if got := <-asked; got != to {
				t.Errorf("asked for %s", got)
			}
		}
	}
}

// TestRefusal: what the proxy refuses is its refusal and told once; what fails is none.
func TestRefusal(t *testing.T) {
	for status, want := range map[string]string{"403 No": "the upstream proxy refuses this host (403)", "407 No": "the upstream proxy wants a login (407)", "503 No": ""} {
		at, _ := proxyOf(t, status)
		d, _ := dials(t, names{})
		var told []string
		g := &Gate{conf: Config{Refused: func(text string) { told = append(told, text) }}}
		d.proxy, _ = upstream.Parse("http://"+at, "")
		for range 2 {
			_, _, err := d.reach(t.Context(), target(t, "a.test:443"), true)
			got, no := g.refusal(target(t, "a.test:443"), err)
			if no != (want != "") || no && (got.Rule != journal.RuleUpstream || !strings.HasPrefix(got.Reason, want)) {
				t.Errorf("%s: %+v, %v", status, got, err)
			}
		}
		if n := len(told); want == "" && n != 0 || want != "" && (n != 1 || !strings.HasPrefix(told[0], "a.test: "+want)) {
			t.Errorf("%s: told %q", status, told)
		}
	}
}
