package gate

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/policy"
)

// oneAddress is a resolver that knows of one name.
type oneAddress struct{}

func (oneAddress) Lookup(_ context.Context, n address.Name) ([]netip.Addr, error) {
	if n == "gone.test" {
		return nil, &net.DNSError{Err: "no such host", Name: string(n), Server: "192.168.7.1:53", IsNotFound: true}
	}
	return []netip.Addr{netip.MustParseAddr("9.9.9.9")}, nil
}

// TestReachSaysWhy: the broker gets a reason as it is, and no address of the host's.
func TestReachSaysWhy(t *testing.T) {
	var reach policy.Reach
	for _, text := range []string{"a.test", "gone.test"} {
		reach.Allow = append(reach.Allow, policy.Entry{Rule: rule(t, text), Text: text})
	}
	reach.Mode = "allow"
	g, err := New(Config{Reach: reach, Resolve: oneAddress{}, Dial: func(context.Context, netip.AddrPort) (*net.TCPConn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: unix.EHOSTUNREACH}
	}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[address.Name]string{
		"a.test": "no route to the host", "gone.test": "the name does not exist", "other.test": "no rule allows this host",
	} {
		_, err := g.Reach(t.Context(), address.Target{Name: name, Port: 443})
		var unreached *address.Unreached
		if !errors.As(err, &unreached) || unreached.Reason != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}
