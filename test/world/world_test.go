package world

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/test/wait"
)

func TestMain(m *testing.M) { Main(m) }

// everywhere are addresses that a gate must tell apart. All of them answer.
var everywhere = []string{
	"203.0.113.10", "203.0.113.30", "198.51.100.7", "8.8.8.8", Router4,
	"10.0.0.1", "10.9.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "100.100.100.100", "100.100.100.200",
	"169.254.169.254", "169.254.170.2", "168.63.129.16", "192.0.0.1", "192.0.0.192", "192.88.99.1", "198.18.0.1", "240.0.0.1",
	"2001:db8::10", "2001:db8::30", Router6, "2606:4700::1111",
	"64:ff9b::a00:1", "64:ff9b:1::a00:1", "2002:a00:1::1", "2001::1", "2001:2::1", "fd00::1", "fd00:ec2::254", "fd20:ce::254", "fd7a:115c:a1e0::1", "fec0::1",
	"::ffff:10.0.0.1", "::10.0.0.1",
}

func TestEverywhereAnswers(t *testing.T) {
	w := New(t)
	const port = 7437
	w.Open(port)
	for _, text := range everywhere {
		t.Run(text, func(t *testing.T) {
			a := netip.MustParseAddr(text).Unmap()
			at := netip.AddrPortFrom(a, port).String()
			if got, want := greeting(t, at), "canary "+at; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if !slices.Contains(w.Dialled(), Packet{"tcp", a, port}) {
				t.Error("the watch has not seen it")
			}
			if !slices.ContainsFunc(w.Heard(), func(h Heard) bool { return h.Addr == a && h.Port == port && string(h.First) == "hello\n" }) {
				t.Errorf("the canary has not heard it")
			}
		})
	}
}

// greeting says hello, ends, and returns what the other side said.
func greeting(t *testing.T, at string) string {
	t.Helper()
	c, err := net.DialTimeout("tcp", at, wait.Patience)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(wait.Patience))
	if _, err := fmt.Fprintln(c, "hello"); err != nil {
		t.Fatal(err)
	}
	c.(*net.TCPConn).CloseWrite()
	r := bufio.NewReader(c)
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	r.ReadByte() // the end: everything was heard
	return strings.TrimSpace(line)
}

func TestOnlyTheCable(t *testing.T) {
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, i := range all {
		if i.Flags&net.FlagUp != 0 {
			got = append(got, i.Name)
		}
	}
	if want := []string{"lo", "cable0"}; !slices.Equal(got, want) {
		t.Errorf("interfaces %q, want %q", got, want)
	}
}

func TestPackets(t *testing.T) {
	w := New(t)
	for _, to := range []string{"203.0.113.10:443", "[2001:db8::10]:443", "8.8.8.8:53"} {
		c, err := net.Dial("udp", to)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		a := netip.MustParseAddrPort(to)
		if !slices.Contains(w.Dialled(), Packet{"udp", a.Addr(), a.Port()}) {
			t.Errorf("%s was not seen", to)
		}
	}
	if _, err := net.DialTimeout("tcp", Unreachable4+":80", wait.Patience); err == nil {
		t.Errorf("%s answers", Unreachable4)
	}
	if _, err := net.DialTimeout("tcp", Silent4+":80", 300*time.Millisecond); err == nil {
		t.Errorf("%s answers", Silent4)
	}
	if w := New(t); len(w.Dialled()) > 0 {
		t.Errorf("a new world remembers %v", w.Dialled())
	}
}

func TestNames(t *testing.T) {
	w := New(t)
	w.Answer("set.test", []string{"203.0.113.28"})
	w.Answer("none.test")
	w.Hosts("203.0.113.29 hosts.test\n")
	for _, c := range []struct{ name, want string }{
		{Allowed, "2001:db8::10 203.0.113.10"},
		{"deep.below." + Allowed, "2001:db8::10 203.0.113.10"},
		{Loopback, "127.0.0.1 ::1"},
		{V6Only, "2001:db8::12"},
		{Alias, "2001:db8::11 203.0.113.11"},
		{Rebind, "2001:db8::14 203.0.113.14"},
		{Rebind, "10.0.0.1 fd00::1"},
		{Rebind, "10.0.0.1 fd00::1"},
		{"set.test", "203.0.113.28"},
		{"hosts.test", "203.0.113.29"},
		{"none.test", ""},
		{"nowhere.test", ""},
	} {
		got, err := (&net.Resolver{PreferGo: true}).LookupHost(context.Background(), c.name)
		slices.Sort(got)
		want := strings.Fields(c.want)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, want %q", c.name, got, err, c.want)
		}
	}
	for name, want := range map[string]bool{"nowhere.test": true, "hosts.test": false} {
		if got := slices.ContainsFunc(w.Queries(), func(q Query) bool { return q.Name == name }); got != want {
			t.Errorf("the resolver was asked for %s: %v, want %v", name, got, want)
		}
	}
	if r := w.Bare("getent", "hosts", V6Only); !strings.HasPrefix(r.Stdout, "2001:db8::12 ") {
		t.Errorf("getent: %+v", r)
	}
}

func TestServers(t *testing.T) {
	w := New(t)
	if got := strings.TrimSpace(w.Prepare("id", "-un")); got != ServerUser {
		t.Errorf("programs run as %q", got)
	}
	if got := strings.TrimSpace(w.Prepare("id", "-u")); got == "0" {
		t.Error("programs run as root")
	}
	if got := w.Prepare("sh", "-c", "grep CapEff /proc/self/status"); !strings.Contains(got, "0000000000000000") {
		t.Errorf("programs have capabilities: %s", got)
	}
	w.Serve("203.0.113.25:25", "python3", "-m", "http.server", "--bind", "203.0.113.25", "25")
	if r := w.Bare("curl", "-sS", "--cacert", w.CA, "https://"+Allowed+"/"); r.Stdout != "origin allowed.test 2001:db8::10\n" && r.Stdout != "origin allowed.test 203.0.113.10\n" {
		t.Errorf("web: %+v", r)
	}
	if r := w.Bare("curl", "-sS", "http://[2001:db8::77]/x"); r.Stdout != "origin [2001:db8::77] 2001:db8::77\n" {
		t.Errorf("web: %+v", r)
	}
}

// TestRingfence is what a test of the gate looks like.
func TestRingfence(t *testing.T) {
	w := New(t)
	r := w.Run("--allow-host", Allowed, "--", "sh", "-c", `curl -sS --cacert ca.pem https://allowed.test/; curl -sS http://other.test/; echo $?`)
	if !strings.HasPrefix(r.Stdout, "origin allowed.test ") || !strings.HasSuffix(r.Stdout, "\n6\n") {
		t.Errorf("got %+v", r)
	}
	for _, want := range []journal.Record{{Name: Allowed, Port: 443, Verdict: journal.Allow}, {Name: Other, Verdict: journal.Deny}} {
		if !slices.ContainsFunc(r.Journal, func(r journal.Record) bool {
			return r.Event == journal.Decision && r.Name == want.Name && r.Port == want.Port && r.Verdict == want.Verdict
		}) {
			t.Errorf("not in the journal: %+v", want)
		}
	}
	if slices.ContainsFunc(w.Queries(), func(q Query) bool { return q.Name != Allowed }) {
		t.Errorf("asked for: %v", w.Queries())
	}
	for _, p := range w.Dialled() {
		if p.Addr.String() != "203.0.113.10" && p.Addr.String() != "2001:db8::10" {
			t.Errorf("dialled %v", p)
		}
	}
}
