package supervisor

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/session/lending"
)

// A port that the session publishes is the agent's, by whatever name of loopback it is
// called: no credential goes there. Another port of the machine is the person's.
func TestDirectNeverLeadsInside(t *testing.T) {
	own, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	other, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	_, port, _ := net.SplitHostPort(own.Addr().String())
	_, free, _ := net.SplitHostPort(other.Addr().String())
	var b launch.Base
	b.Reach.Publish = []policy.Port{{Host: uint16(own.Addr().(*net.TCPAddr).Port)}}
	for _, host := range []string{"127.0.0.1", "localhost", "LOCALHOST", "localhost.", "0.0.0.0", "[::]", "[::ffff:127.0.0.1]"} {
		for at, want := range map[string]bool{port: false, free: true} {
			target, err := address.ParseTarget(host + ":" + at)
			if err != nil {
				t.Fatalf("%s: %v", host, err)
			}
			c, err := lending.Direct(b, noProxy{}, true)(context.Background(), target)
			if (err == nil) != want || !want && !strings.Contains(err.Error(), broker.OwnPort) {
				t.Errorf("%s, published %v: %v", host, !want, err)
			}
			if err == nil {
				c.Close()
			}
		}
	}
	target, _ := address.ParseTarget("localhost:" + free)
	if c, err := lending.Direct(b, noProxy{denied: netip.MustParsePrefix("127.0.0.0/8")}, true)(context.Background(), target); err == nil {
		c.Close()
		t.Error("an address that a rule denies is reached")
	}
}

// The same for a port that another session publishes: a gateway that is down must not
// leave its place to somebody else's agent. The mark ends with the session.
func TestDirectNeverLeadsIntoAnotherSession(t *testing.T) {
	port := uint16(freePort())
	s := newStand(t)
	s.flags = &policy.Policy{Network: policy.Network{Publish: policy.List{{Value: fmt.Sprintf("%d:80", port)}}}}
	p, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	var other launch.Base
	ask := func() error {
		target, err := address.ParseTarget(fmt.Sprintf("localhost:%d", port))
		if err != nil {
			t.Fatal(err)
		}
		c, err := lending.Direct(other, noProxy{}, true)(context.Background(), target)
		if err == nil {
			c.Close()
		}
		return err
	}
	if err := ask(); err == nil || !strings.Contains(err.Error(), broker.OwnPort) {
		t.Errorf("another session's port: %v", err)
	}
	p.close()
	l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := ask(); err != nil {
		t.Errorf("the gateway of the person: %v", err)
	}
}

// noProxy is a gateway of a host without an upstream proxy.
type noProxy struct {
	launch.Gateway
	denied netip.Prefix
}

func (n noProxy) DeniesAddress(a netip.Addr, _ uint16) bool { return n.denied.Contains(a.Unmap()) }

func (noProxy) Direct(c net.Conn, _ address.Target, _ bool) (net.Conn, error) { return c, nil }

func (noProxy) ByProxy(context.Context, address.Target) (net.Conn, bool, error) {
	return nil, false, nil
}
