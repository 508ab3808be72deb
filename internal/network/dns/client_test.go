package dns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// zone is a Handler for three names, which notes what it was asked and how.
type zone struct {
	mu    sync.Mutex
	asked []string // "udp A a.test"
}

func (z *zone) heard(what string) bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	return slices.Contains(z.asked, what)
}

func (z *zone) handle(_ context.Context, q Question, via string, _ netip.AddrPort) Answer {
	z.mu.Lock()
	z.asked = append(z.asked, fmt.Sprint(via, " ", strings.TrimPrefix(q.Type.String(), "Type"), " ", q.Name))
	z.mu.Unlock()
	switch q.Name {
	case "both.test":
		return Answer{V4: v4, V6: v6, TTL: 5}
	case "four.test":
		return Answer{V4: v4, TTL: 5}
	case "nothing.test":
		return Answer{Code: dnsmessage.RCodeNameError}
	}
	return Answer{Code: dnsmessage.RCodeRefused, EDE: 15, Text: "not allowed"}
}

// resolver is the one of Go's library, with the server as its only one.
func resolver(t *testing.T, s *Server) *net.Resolver {
	u, l := serveUDP(t, s, "127.0.0.1:0"), serveTCP(t, s, "127.0.0.1:0")
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		if strings.HasPrefix(network, "tcp") {
			return d.DialContext(ctx, "tcp", l.Addr().String())
		}
		return d.DialContext(ctx, "udp", u.LocalAddr().String())
	}}
}

func TestResolver(t *testing.T) {
	for _, way := range []struct {
		what   string
		limits limits
		via    string
	}{
		{"udp", limits{}, "udp"},
		{"cut, then tcp", limits{udp: 50}, "tcp"}, // room for the question and not for a record
	} {
		t.Run(way.what, func(t *testing.T) {
			z := &zone{}
			r := resolver(t, &Server{Handler: z.handle, limits: way.limits})
			for _, tt := range []struct {
				network, name string
				want          []netip.Addr
			}{
				{"ip", "both.test.", []netip.Addr{v4, v6}},
				{"ip", "Both.TEST.", []netip.Addr{v4, v6}},
				{"ip4", "both.test.", []netip.Addr{v4}},
				{"ip6", "both.test.", []netip.Addr{v6}},
				{"ip", "four.test.", []netip.Addr{v4}},
			} {
				got, err := r.LookupNetIP(t.Context(), tt.network, tt.name)
				slices.SortFunc(got, netip.Addr.Compare)
				if err != nil || !slices.Equal(got, tt.want) {
					t.Errorf("%s %s: %v, %v; want %v", tt.network, tt.name, got, err, tt.want)
				}
			}
			if !z.heard(way.via+" A both.test") || !z.heard(way.via+" AAAA both.test") {
				t.Errorf("not asked by %s", way.via)
			}
		})
	}
}

func TestResolverIsRefused(t *testing.T) {
	z := &zone{}
	r := resolver(t, &Server{Handler: z.handle})
	for _, tt := range []struct {
		what     string
		lookup   func() error
		notFound bool
	}{
		{"NXDOMAIN", func() error { _, err := r.LookupHost(t.Context(), "nothing.test."); return err }, true},
		{"no AAAA", func() error { _, err := r.LookupNetIP(t.Context(), "ip6", "four.test."); return err }, true},
		{"no TXT", func() error { _, err := r.LookupTXT(t.Context(), "both.test."); return err }, true},
		{"no MX", func() error { _, err := r.LookupMX(t.Context(), "both.test."); return err }, true},
		{"no SRV", func() error { _, _, err := r.LookupSRV(t.Context(), "", "", "both.test."); return err }, true},
		{"refused", func() error { _, err := r.LookupHost(t.Context(), "other.test."); return err }, false},
		{"PTR refused", func() error { _, err := r.LookupAddr(t.Context(), "192.0.2.1"); return err }, false},
	} {
		var failure *net.DNSError
		if err := tt.lookup(); !errors.As(err, &failure) || failure.IsNotFound != tt.notFound || failure.IsTimeout {
			t.Errorf("%s: %v", tt.what, err)
		}
	}
	if !z.heard("udp PTR 1.2.0.192.in-addr.arpa") {
		t.Error("not asked for the PTR")
	}
}

// TestResolverInBursts: many at once are many more than there are places, and a
// Handler that is quick serves them all the same.
func TestResolverInBursts(t *testing.T) {
	z := &zone{}
	r := resolver(t, &Server{Handler: z.handle})
	var all sync.WaitGroup
	for range 300 {
		all.Go(func() {
			if got, err := r.LookupNetIP(t.Context(), "ip", "both.test."); err != nil || len(got) != 2 {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	all.Wait()
}
