package grants

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/grants/hand"
	"ringfence.dev/ringfence/test/grants/order"
	"ringfence.dev/ringfence/test/wait"
	"ringfence.dev/ringfence/test/world"
)

// neighbours are addresses that are nobody's business from inside, in any mode.
var neighbours = []string{"10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192", world.HostPrivate4, world.Router4,
	"fd00::1", "fe80::1", "fd00:ec2::254", "2002:a00:1::1", "::ffff:10.0.0.1"}

// TestOpen: in mode open every public address answers, without a name and at any port.
// Internal ranges, the host and what policy denies stay closed, by address and by name.
func TestOpen(t *testing.T) {
	w := world.New(t)
	w.Answer("inside.example.com", []string{"10.0.0.1", "fd00::1"})
	s := hand.Launch{Flags: []string{"--net", "open", "--deny-host", "203.0.113.11", "--deny-host", "[2001:db8::11]:7"}}.Start(t, w)
	said := func(s *hand.Session, at string) bool {
		t.Helper()
		return s.Do(order.Order{Do: "open", At: at, Text: "hello", Keep: at}).Error == ""
	}
	for _, at := range []string{ours4 + ":7", "[" + ours6 + "]:7", world.Public + ":7"} {
		if !said(s, at) {
			t.Errorf("%s is closed", at)
		}
	}
	for _, at := range []string{"203.0.113.11:7", "[2001:db8::11]:7", "inside.example.com:7", "localhost.example.com:7"} {
		if said(s, at) {
			t.Errorf("%s answers", at)
		}
	}
	w.Forget()
	for _, a := range neighbours {
		if at := net.JoinHostPort(a, "7"); said(s, at) {
			t.Errorf("%s answers", at)
		}
	}
	for _, h := range w.Heard() {
		if slices.Contains(neighbours, h.Addr.String()) || h.Addr == netip.MustParseAddr("10.0.0.1") {
			t.Errorf("%s heard something", h.Addr)
		}
	}
	if st := s.Status(); st.Mode != "open" || !strings.Contains(string(st.Meter), "every public address and port") {
		t.Errorf("status: %s, %s", st.Mode, st.Meter)
	}
	// The control: an address without a name is closed in mode internet, and the session can be
	// moved there.
	if r := hand.Ringfence(t, w, "tighten", s.ID, "--net", "internet"); r.Status != 0 {
		t.Fatalf("%+v", r)
	}
	if a := s.Do(order.Order{Do: "ended", Keep: ours4 + ":7", For: wait.Patience}); a.Text != "ended" {
		t.Errorf("%+v", a)
	}
	if said(s, ours4+":7") || !said(s, world.Public+":7") {
		t.Error("internet: an address answers, or no name does")
	}
}

// TestOpenBare is the control: without the gate these addresses answer.
func TestOpenBare(t *testing.T) {
	w := world.New(t)
	for _, at := range []string{"10.0.0.1", "203.0.113.11", "169.254.169.254", "192.168.1.1"} {
		if r := w.Bare("bash", "-c", "exec 3<>/dev/tcp/"+at+"/7 && echo hello >&3 && read -r -u 3 line && echo $line"); !strings.Contains(r.Stdout, "hello") {
			t.Errorf("%s: %+v", at, r)
		}
	}
}
