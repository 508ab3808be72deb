package verify

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/network/clienthello"
	"ringfence.dev/ringfence/internal/network/httpfwd"
	"ringfence.dev/ringfence/internal/sandbox/probe"
)

// passGate asks of the world what a gate asks on which everything holds.
func passGate(ctx context.Context, job Job) error {
	name := fmt.Sprint("ringfence-verify-test-", os.Getpid()) // another run has its own
	l, err := net.Listen("unix", "@"+name)
	if err != nil {
		return err
	}
	defer l.Close()
	stdin, err := job.Gate.Ready(name, func() {})
	if err != nil {
		return err
	}
	target, err := probe.DecodeNetTarget(bytes.NewReader(stdin))
	if err != nil {
		return err
	}
	for check, tries := range target.Tries {
		_, guard := guarded[check]
		for _, try := range tries {
			addr, named := probe.HostAddr(try.Host)
			switch {
			case !named:
			case guard, check == "gate-own":
				_, err = job.Gate.Lookup(try.Host)
			case check == "reach", check == "death":
				err = carry(ctx, job.Gate, netip.AddrPortFrom(addr, try.Port))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// carry makes a connection, sends something and waits until it was heard.
func carry(ctx context.Context, g *Gate, to netip.AddrPort) error {
	c, err := g.Dial(ctx, to)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write([]byte("something")); err != nil {
		return err
	}
	c.CloseWrite()
	said, err := io.ReadAll(c)
	if !bytes.Contains(said, []byte(probe.Mark)) {
		return errors.New("the origin does not say the canary")
	}
	return err
}

// askedFor is the target of a job with a gate.
func askedFor(job Job) (*probe.NetTarget, error) {
	stdin, err := job.Gate.Ready("nobody", func() {})
	if err != nil {
		return nil, err
	}
	return probe.DecodeNetTarget(bytes.NewReader(stdin))
}

func dial(addr string) func(context.Context, Job) error {
	return func(ctx context.Context, job Job) error {
		return carry(ctx, job.Gate, netip.AddrPortFrom(netip.MustParseAddr(addr), anyPort))
	}
}

func lookUpStranger(_ context.Context, job Job) error {
	target, err := askedFor(job)
	if err != nil {
		return err
	}
	_, err = job.Gate.Lookup(target.Tries["gate-name"][0].Host)
	return err
}

func sendDatagram(_ context.Context, job Job) error {
	target, err := askedFor(job)
	if err != nil {
		return err
	}
	c, err := net.Dial("udp", target.Datagram.String())
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Write([]byte("x"))
	return err
}

// Whatever the gate asked of the world beyond what it may contradicts an answer that
// says all is well.
func TestWorldContradicts(t *testing.T) {
	for name, test := range map[string]struct {
		more func(context.Context, Job) error
		want []string
	}{
		"loopback dialled":   {dial("127.77.77.77"), []string{"gate-loopback"}},
		"mapped dialled":     {dial("10.7.7.7"), []string{"gate-embedded"}},
		"metadata dialled":   {dial("169.254.169.254"), []string{"gate-metadata"}},
		"private dialled":    {dial("192.168.77.77"), []string{"gate-private4"}},
		"private6 dialled":   {dial("fc00::77"), []string{"gate-private6"}},
		"literal dialled":    {dial("203.0.113.72"), []string{"gate-literal"}},
		"by proxy dialled":   {dial("10.77.77.51"), []string{"gate-proxy"}},
		"bytes in TLS":       {dial("203.0.113.21"), []string{"gate-tls"}},
		"bytes in HTTP":      {dial("203.0.113.24"), []string{"gate-http"}},
		"a stranger dialled": {dial("198.51.100.1"), nil},
		"denied name":        {lookUpStranger, []string{"gate-name"}},
		"datagram":           {sendDatagram, []string{"udp"}},
	} {
		t.Run(name, func(t *testing.T) {
			good := perfect(func(map[string]probe.Result, *Seen) {})
			r, err := Run(t.Context(), config(t, func(ctx context.Context, job Job) (Seen, error) {
				if job.Gate != nil {
					if err := test.more(ctx, job); err != nil {
						return Seen{}, err
					}
				}
				return good(ctx, job)
			}))
			if err != nil {
				t.Fatal(err)
			}
			if got := missing(r); !slices.Equal(got, test.want) {
				t.Errorf("missing %q, want %q", got, test.want)
			}
		})
	}
}

// A gate that was never asked proves nothing, however closed it looked.
func TestSilentGateProvesNothing(t *testing.T) {
	good := perfect(func(map[string]probe.Result, *Seen) {})
	r, err := Run(t.Context(), config(t, func(ctx context.Context, job Job) (Seen, error) {
		if job.Gate == nil {
			return good(ctx, job)
		}
		job.Gate.Lookup = func(string) ([]netip.Addr, error) { return nil, nil }
		return good(ctx, job)
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"gate-loopback", "gate-own", "gate-embedded", "gate-metadata", "gate-private4", "gate-private6"}
	if got := missing(r); !slices.Equal(got, want) {
		t.Errorf("missing %q, want %q", got, want)
	}
}

// Policy without a network waives what needs a gate, and nothing else.
func TestNoNetworkIsWaived(t *testing.T) {
	good := perfect(func(map[string]probe.Result, *Seen) {})
	conf := config(t, func(ctx context.Context, job Job) (Seen, error) {
		seen, err := good(ctx, job)
		if err == nil && job.Gate != nil {
			err = &NoNetwork{"policy says mode none (somewhere:1)"}
		}
		return seen, err
	})
	conf.Rung = Rung{} // one that claims a link
	r, err := Run(t.Context(), conf)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range r.Rows {
		want := Held
		if Checks()[i].Gate {
			want = Waived
		}
		if row.Result != want || want == Waived && !strings.Contains(row.Detail, "somewhere:1") {
			t.Errorf("%s is %s: %s", row.Name, row.Result, row.Detail)
		}
	}
}

// A sandbox with a gate that cannot be made takes its own checks along, and says why.
func TestNoGateIsMissing(t *testing.T) {
	cause := errors.New("nftables: not supported")
	good := perfect(func(map[string]probe.Result, *Seen) {})
	r, err := Run(t.Context(), config(t, func(ctx context.Context, job Job) (Seen, error) {
		if job.Gate != nil {
			return Seen{}, cause
		}
		return good(ctx, job)
	}))
	if !errors.Is(err, cause) {
		t.Errorf("error %v", err)
	}
	for i, row := range r.Rows {
		if net := Checks()[i].Net; net != (row.Result == Missing) || net && !strings.Contains(row.Detail, cause.Error()) {
			t.Errorf("%s is %s: %s", row.Name, row.Result, row.Detail)
		}
	}
}

// What is said must be what the gate's parsers take for it: else it would be refused
// for another reason than the one that is proved.
func TestWhatIsSaid(t *testing.T) {
	const name = "a.example.test"
	h, raw, err := clienthello.Read(bytes.NewReader(clientHello(name)))
	if err != nil || h.ServerName != name || len(raw) != len(clientHello(name)) {
		t.Errorf("hello %+v, %d bytes, %v", h, len(raw), err)
	}
	head, err := httpfwd.ReadHead(bufio.NewReader(bytes.NewReader(request("/", name))))
	if err != nil || head.Host != name || !head.Close {
		t.Errorf("request %+v, %v", head, err)
	}
	head, err = httpfwd.ReadHead(bufio.NewReader(bytes.NewReader(connect(name))))
	if err != nil || head.Form != httpfwd.Authority || head.Authority != name+":7077" {
		t.Errorf("connect %+v, %v", head, err)
	}
	// The same bytes are in the test of the gate's SOCKS.
	if got := socksRequest(name); string(got) != "\x05\x01\x00\x05\x01\x00\x03\x0ea.example.test\x1b\xa5" {
		t.Errorf("socks %q", got)
	}
}
