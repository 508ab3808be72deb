package probe

import (
	"bytes"
	"encoding/json"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// netSample is a target that may be decoded; everything that it names is a listener
// of the test's own.
func netSample(t testing.TB, to netip.AddrPort) *NetTarget {
	t.Helper()
	ns, err := Namespace("self", "net")
	if err != nil {
		t.Fatal(err)
	}
	target := &NetTarget{Canary: Digest([]byte(canary)), NS: ns, Tries: map[string][]Try{}, Servers: []netip.AddrPort{to},
		Foreign: []netip.Addr{to.Addr()}, Datagram: to, Control: "ringfence-probe-test"}
	for _, p := range netBattery {
		if p.tries {
			target.Tries[p.name] = []Try{{Host: to.Addr().String(), Port: to.Port()}}
		}
	}
	return target
}

// In the network of the host nothing is tried, and everything counts as open.
func TestNetStaysAway(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan bool, 1)
	go func() {
		_, err := l.Accept()
		accepted <- err == nil
	}()
	in, err := json.Marshal(netSample(t, netip.MustParseAddrPort(l.Addr().String())))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, Arg, NetArg)
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeAnswer(bytes.NewReader(out), NetNames())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range NetNames() {
		if r := got[n]; !r.Open || !strings.Contains(r.Detail, "nothing was tried") {
			t.Errorf("%s: %+v", n, r)
		}
	}
	l.Close()
	if <-accepted {
		t.Error("somebody connected")
	}
	// Nor are its walls taken down.
	cmd = exec.Command(self, Arg, NetArg, canary)
	cmd.Stdin = bytes.NewReader(in)
	if out, err := cmd.Output(); err == nil || !strings.Contains(string(out), "the network of the host") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestDecodeNetTarget(t *testing.T) {
	for name, change := range map[string]func(*NetTarget){
		"":             func(*NetTarget) {},
		"digest":       func(n *NetTarget) { n.Canary = canary },
		"namespace":    func(n *NetTarget) { n.NS = 0 },
		"socket":       func(n *NetTarget) { n.Control = "a\x00b" },
		"no tries":     func(n *NetTarget) { delete(n.Tries, "gate-own") },
		"no port":      func(n *NetTarget) { n.Tries["reach"][0].Port = 0 },
		"no name":      func(n *NetTarget) { n.Tries["reach"][0].Host = "a..b" },
		"no server":    func(n *NetTarget) { n.Servers = nil },
		"not loopback": func(n *NetTarget) { n.Datagram = netip.MustParseAddrPort("203.0.113.1:1") },
	} {
		target := netSample(t, netip.MustParseAddrPort("127.0.0.1:1"))
		change(target)
		b, err := json.Marshal(target)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DecodeNetTarget(bytes.NewReader(b)); (err == nil) != (name == "") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// None may lead there; in the control all must.
func TestJudge(t *testing.T) {
	yes, no, past, missing := error(nil), net.ErrClosed, error(&beyond{net.ErrClosed}), errNoIPv6
	for _, test := range []struct {
		ways      []error
		in, there bool // open inside, open in the control
	}{
		{[]error{no, no}, false, false}, {[]error{no, yes}, true, false}, {[]error{yes, yes}, true, true},
		{[]error{no, past}, true, false}, {[]error{yes, missing}, true, true}, {[]error{no, missing}, false, false},
	} {
		var ways []way
		for _, err := range test.ways {
			ways = append(ways, way{"x", func() error { return err }})
		}
		for bare, want := range map[bool]bool{false: test.in, true: test.there} {
			if r := (&NetTarget{bare: bare}).judge("x", ways); r.Open != want {
				t.Errorf("%v, control %v: %+v", test.ways, bare, r)
			}
		}
	}
}

// A name and the address that it stands for.
func TestHostName(t *testing.T) {
	for _, text := range []string{"127.0.0.1", "::1", "::ffff:10.0.0.1", "fd00::1"} {
		a := netip.MustParseAddr(text)
		if got, ok := HostAddr(HostName(a, "zone.test")); !ok || got != a {
			t.Errorf("%s became %s (%v)", a, got, ok)
		}
	}
	for _, name := range []string{"", "a", "example.test", "a7f.test", "b7f000001.test"} {
		if a, ok := HostAddr(name); ok {
			t.Errorf("%q is %s", name, a)
		}
	}
}

// A question is answered with the address that its name stands for, if of that kind.
func TestQuestionAndAnswer(t *testing.T) {
	four, six := netip.MustParseAddr("203.0.113.1"), netip.MustParseAddr("2001:db8::1")
	for _, test := range []struct {
		name string
		kind uint16
		want []netip.Addr
	}{
		{HostName(four, "x.test"), typeA, []netip.Addr{four}}, {HostName(six, "x.test"), typeAAAA, []netip.Addr{six}},
		{HostName(four, "x.test"), typeAAAA, nil}, {HostName(six, "x.test"), typeTXT, nil}, {"x.test", typeA, nil},
	} {
		q, err := question(test.name, test.kind)
		if err != nil {
			t.Fatal(err)
		}
		a, ok := answerTo(q)
		if !ok {
			t.Fatalf("%s: no answer", test.name)
		}
		if code, got, err := readAnswer(a, q); code != 0 || err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: %d, %v, %v", test.name, code, got, err)
		}
	}
}
