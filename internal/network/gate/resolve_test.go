package gate

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"ringfence.dev/ringfence/internal/leakscan"
	"ringfence.dev/ringfence/internal/network/dns"
)

func TestResolve(t *testing.T) {
	const decoy = "decoyvalue0123456789"
	set, err := leakscan.New(leakscan.Named{Name: "key", Secret: decoy})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		kind dnsmessage.Type
		wait time.Duration
		code dnsmessage.RCode
		text string // begins with
		rule string // of the record; "" if there is none
	}{
		{"a.test", dnsmessage.TypeA, 0, 0, "", "a.test"},
		{"a.test", dnsmessage.TypeHTTPS, 0, 0, "", "a.test"},
		{"localhost", dnsmessage.TypeA, 0, 0, "", ""},
		{"x.localhost", dnsmessage.TypeAAAA, 0, 0, "", ""},
		{"no.test", dnsmessage.TypeA, 0, dnsmessage.RCodeNameError, "ringfence: a rule denies it (no.test)", "no.test"},
		{"new.example.com", dnsmessage.TypeA, 0, dnsmessage.RCodeNameError, "ringfence: no rule allows this name; ask the user: ringfence grant " + session + " --host new.example.com", "mode dev"},
		{"new.example.com", dnsmessage.TypeA, time.Minute, 0, "", "mode dev"},
		{"new.example.com", dnsmessage.TypeTXT, time.Minute, dnsmessage.RCodeNameError, "ringfence: no rule allows this name; ask", "mode dev"},
		{"printer.local", dnsmessage.TypeA, time.Minute, dnsmessage.RCodeNameError, "ringfence: no rule allows this name; ask", "mode dev"},
		{"127.0.0.1", dnsmessage.TypeA, 0, dnsmessage.RCodeNameError, "ringfence: this is not the name of a host (names of hosts)", "names of hosts"},
		{"a_b.test", dnsmessage.TypeA, 0, dnsmessage.RCodeNameError, "ringfence: this is not the name of a host (names of hosts)", "names of hosts"},
		{decoy + ".a.test", dnsmessage.TypeA, 0, dnsmessage.RCodeNameError, "ringfence: a decoy credential was about to leave", "decoys"},
	} {
		caught := 0
		g, records := recording(t, Config{Session: session, Reach: reach(t, "dev", []string{"a.test"}, []string{"no.test"}, nil), Wait: c.wait, Decoys: set, Caught: func(Caught) { caught++ }})
		a := g.resolver().resolve(t.Context(), dns.Question{Name: c.name, Type: c.kind}, "udp", netip.AddrPort{})
		if a.Code != c.code || !strings.HasPrefix(a.Text, c.text) || (a.Text == "") != (c.text == "") || a.V4.IsValid() != (c.code == 0) {
			t.Errorf("%s %s: %+v", c.name, c.kind, a)
		}
		g.Alarmed()
		got := records()
		if len(got) > 1 || len(got) == 1 && got[0].Rule != c.rule || len(got) == 0 && c.rule != "" {
			t.Errorf("%s: recorded %+v", c.name, got)
		}
		if (caught == 1) != (c.rule == "decoys") || len(got) == 1 && strings.Contains(got[0].Name, decoy) {
			t.Errorf("%s: caught %d, %+v", c.name, caught, got)
		}
	}
}

// TestNamesAreRecordedOnce: one connection asks four questions, which are one record.
func TestNamesAreRecordedOnce(t *testing.T) {
	g, records := recording(t, Config{Reach: reach(t, "dev", []string{"a.test", "b.test"}, nil, nil)})
	v := g.resolver()
	for _, name := range []string{"a.test", "A.test", "b.test", "a.test."} {
		v.resolve(t.Context(), dns.Question{Name: name, Type: dnsmessage.TypeA}, "udp", netip.AddrPort{})
	}
	if got := records(); len(got) != 2 || got[0].Name != "a.test" || got[1].Name != "b.test" {
		t.Errorf("recorded %+v", got)
	}
}

// TestUnrecordedNameIsNotAnswered: without a journal no name gets an address.
func TestUnrecordedNameIsNotAnswered(t *testing.T) {
	g, _ := recording(t, Config{Reach: reach(t, "dev", []string{"a.test"}, nil, nil)})
	g.conf.Journal.Close()
	a := g.resolver().resolve(t.Context(), dns.Question{Name: "a.test", Type: dnsmessage.TypeA}, "udp", netip.AddrPort{})
	if a.Code != dnsmessage.RCodeServerFailure || a.V4.IsValid() || !strings.HasPrefix(a.Text, "ringfence: the journal cannot be written") {
		t.Errorf("%+v", a)
	}
}

// TestStopIsSaid: an agent that asks again and again is told that it is in vain, until
// something was granted.
func TestStopIsSaid(t *testing.T) {
	g, _ := recording(t, Config{Session: session, Reach: reach(t, "dev", nil, nil, nil)})
	v := g.resolver()
	ask := func() string {
		return v.resolve(t.Context(), dns.Question{Name: "new.example.com", Type: dnsmessage.TypeA}, "udp", netip.AddrPort{}).Text
	}
	for i := 1; i <= 4; i++ {
		if said := strings.HasSuffix(ask(), final); said != (i >= definitive) {
			t.Errorf("time %d: %v", i, said)
		}
	}
	if err := g.Grant(entry(t, "other.example.com"), time.Time{}); err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(ask(), final) {
		t.Error("it is said right after a grant")
	}
	if list := g.Pending(); len(list) != 1 || list[0].Refused != 5 {
		t.Errorf("pending %+v", list)
	}
	if err := g.Grant(entry(t, "new.example.com"), time.Time{}); err != nil || len(g.Pending()) != 0 || len(g.Grants()) != 2 {
		t.Errorf("%v, %+v, %+v", err, g.Pending(), g.Grants())
	}
	if text := ask(); text != "" {
		t.Errorf("it is granted: %s", text)
	}
}
