package gate

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/policy"
)

// learner is a gate's rules in a session to learn from, with every group that denies
// switched off: learning must not depend on them.
func learner(t *testing.T) *rules {
	t.Helper()
	p := policy.Builtin()
	p.Network.Deny = policy.List{{Value: "denied.example.com"}}
	p.Network.Groups = policy.List{{Value: "-drops"}, {Value: "-tunnels"}, {Value: "-doh"}}
	reach, err := p.Reach(nil)
	if err != nil {
		t.Fatal(err)
	}
	if reach.Learn {
		t.Fatal("a policy opened it")
	}
	reach.Learn = true
	return newRules(reach)
}

func TestLearnOpensUnknownPublicHostsAlone(t *testing.T) {
	r := learner(t)
	for _, c := range []struct {
		host  string
		port  uint16
		want  Verdict
		proto address.Protocol
	}{
		{"origin.example.com", 443, Allow, address.TLS},
		{"origin.example.com", 80, Allow, address.HTTP},
		{"origin.example.com", 5432, Allow, address.TCP},
		{"origin.example.com", 0, Allow, address.TCP},
		{"denied.example.com", 443, Deny, ""},
		{"webhook.site", 443, Unknown, ""},          // a request bin
		{"x.trycloudflare.com", 443, Unknown, ""},   // a tunnel
		{"dns.google", 443, Unknown, ""},            // a resolver of its own
		{"mine.s3.amazonaws.com", 443, Unknown, ""}, // anybody's bucket
		{"somebody.github.io", 443, Unknown, ""},
		{"printer.local", 80, Unknown, ""},
		{"metadata.google.internal", 80, Unknown, ""},
		{"intranet", 80, Unknown, ""},
	} {
		d := r.Decide(Request{Target: address.Target{Name: address.Name(c.host), Port: c.port}})
		if d.Verdict != c.want || d.Verdict == Allow && d.Proto != c.proto {
			t.Errorf("%s:%d: %+v", c.host, c.port, d)
		}
	}
	for _, a := range []string{"10.0.0.1", "169.254.169.254", "127.0.0.1", "203.0.113.9", "fd00::1"} {
		if d := r.Decide(Request{Target: address.Target{Addr: netip.MustParseAddr(a), Port: 443}}); d.Verdict != Deny {
			t.Errorf("%s: %+v", a, d)
		}
	}
	g := &Gate{rules: r}
	if got := fmt.Sprint(g.Learned()); got != "[{origin.example.com 80 } {origin.example.com 443 } {origin.example.com 5432 }]" {
		t.Error(got)
	}
	r.learn.failed(address.Target{Name: "origin.example.com", Port: 80}, "the address is private")
	if g.Learned()[0].Refused == "" {
		t.Error("it is not told that it was not reached")
	}
}

func TestOthersDoNotLearn(t *testing.T) {
	reach, err := policy.Builtin().Reach(nil)
	if err != nil {
		t.Fatal(err)
	}
	r := newRules(reach)
	if d := r.Decide(Request{Target: address.Target{Name: "origin.example.com", Port: 443}}); d.Verdict != Unknown {
		t.Errorf("%+v", d)
	}
	if got := (&Gate{rules: r}).Learned(); got != nil {
		t.Error(got)
	}
}

func TestLearnIsBounded(t *testing.T) {
	r := learner(t)
	open := 0
	for i := range 2 * maxLearned {
		name := address.Name(fmt.Sprintf("n%d.example.com", i))
		if r.Decide(Request{Target: address.Target{Name: name, Port: 443}}).Verdict == Allow {
			open++
		}
	}
	if open != maxLearned {
		t.Errorf("%d hosts were opened", open)
	}
	if d := r.Decide(Request{Target: address.Target{Name: "late.example.com"}}); d.Verdict != Unknown {
		t.Errorf("a name is answered that cannot be reached: %+v", d)
	}
	if d := r.Decide(Request{Target: address.Target{Name: "n1.example.com", Port: 443}}); d.Verdict != Allow {
		t.Errorf("what was open is shut: %+v", d)
	}
}

func TestLearnStaysUnderTheCeiling(t *testing.T) {
	r := learner(t)
	r.learn.under(func(e policy.Entry) error {
		if e.Rule.Name == "origin.example.com" {
			return nil
		}
		return errors.New("above the ceiling")
	})
	for host, want := range map[address.Name]Verdict{"origin.example.com": Allow, "other.example.com": Unknown} {
		if d := r.Decide(Request{Target: address.Target{Name: host, Port: 443}}); d.Verdict != want {
			t.Errorf("%s: %+v", host, d)
		}
	}
}
