package gate

import (
	"net/netip"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/policy"
)

// TestTheLastWordHolds: what was taken back is closed whatever allowed it, and a later grant
// opens it again; another host goes on.
func TestTheLastWordHolds(t *testing.T) {
	for _, r := range []policy.Reach{
		{Mode: "dev", Allow: []policy.Entry{entry(t, "a.x.test"), entry(t, "b.x.test")}},
		{Mode: "dev", Allow: []policy.Entry{entry(t, "*.x.test")}},
		{Mode: "internet"},
	} {
		rs := newRules(r)
		name := map[string]address.Name{"a": "a.x.test", "b": "b.x.test"}
		if r.Mode == "internet" { // a name that can be of the public network
			name = map[string]address.Name{"a": "a.example.org", "b": "b.example.org"}
		}
		verdict := func(which string) Verdict {
			return rs.Decide(Request{Target: address.Target{Name: name[which], Port: 443}}).Verdict
		}
		if verdict("a") != Allow || verdict("b") != Allow {
			t.Fatalf("%+v: not allowed before", r)
		}
		host := entry(t, string(name["a"]))
		if err := rs.takeBack(host); err != nil {
			t.Fatal(err)
		}
		if verdict("a") != Deny || verdict("b") != Allow {
			t.Errorf("%+v: taken back: %s, the other: %s", r, verdict("a"), verdict("b"))
		}
		rs.grant(grant{entry: host})
		if verdict("a") != Allow {
			t.Errorf("%+v: granted again: %s", r, verdict("a"))
		}
		if err := rs.takeBack(host); err != nil || verdict("a") != Deny || len(rs.holding()) != 0 {
			t.Errorf("%+v: taken back again: %s, %v", r, verdict("a"), err)
		}
	}
}

// TestTakenBackWithin: a grant that was given before goes with a wider word, a narrower
// word leaves the rest.
func TestTakenBackWithin(t *testing.T) {
	rs := newRules(policy.Reach{Mode: "dev"})
	rs.grant(grant{entry: entry(t, "a.x.test")})
	rs.grant(grant{entry: entry(t, "*.y.test"), expires: time.Now().Add(time.Hour)})
	for _, text := range []string{"*.x.test", "b.y.test:443"} {
		if err := rs.takeBack(entry(t, text)); err != nil {
			t.Fatal(err)
		}
	}
	for target, want := range map[string]Verdict{"a.x.test:443": Deny, "b.y.test:443": Deny, "b.y.test:80": Allow, "c.y.test:443": Allow} {
		at, err := address.ParseTarget(target)
		if err != nil {
			t.Fatal(err)
		}
		if got := rs.Decide(Request{Target: at}).Verdict; got != want {
			t.Errorf("%s: %s, want %s", target, got, want)
		}
	}
	for i := range maxTaken {
		rs.takeBack(entry(t, string(rune('a'+i%26))+string(rune('a'+i/26))+".z.test"))
	}
	if rs.takeBack(entry(t, "one-more.test")) == nil {
		t.Error("there is no bound")
	}
}

// TestSweepMissesNobody: who was allowed before less was allowed is cut, or decides anew.
func TestSweepMissesNobody(t *testing.T) {
	var o open
	never := func(netip.AddrPort) bool { return false }
	before := o.state()
	held, far := tcpPair(t)
	other, _ := tcpPair(t)
	if o.enter(before, held, func() bool { return false }) == nil || o.enter(before, other, func() bool { return true }) == nil {
		t.Fatal("it was not entered")
	}
	if n := o.sweep(never); n != 1 {
		t.Errorf("%d were cut", n)
	}
	if _, err := far.Read(make([]byte, 1)); err == nil {
		t.Error("the other side hears nothing")
	}
	late, _ := tcpPair(t)
	if o.enter(before, late, func() bool { return true }) != nil {
		t.Error("a decision of before is taken for one of now")
	}
	if o.enter(o.state(), late, func() bool { return true }) == nil {
		t.Error("a new one is not")
	}
	if n := o.sweep(func(netip.AddrPort) bool { return true }); n != 2 {
		t.Errorf("by address %d were cut", n)
	}
}

// grant adds a rule now.
func (r *rules) grant(g grant) { r.grantIn(r.at.Load(), g) }

// TestNoGrantInNone: a grant that came while all of the network was taken away opens nothing.
func TestNoGrantInNone(t *testing.T) {
	rs := newRules(policy.Reach{Mode: "dev"})
	before := rs.at.Load()
	rs.at.Store(newTable(policy.Reach{Mode: ModeNone}))
	late := grant{entry: entry(t, "a.x.test")}
	if rs.grantIn(before, late) || len(rs.holding()) != 0 {
		t.Error("a grant of before is taken for one of now")
	}
	rs.grant(late)
	if d := rs.Decide(Request{Target: address.Target{Name: "a.x.test", Port: 443}}); d.Verdict != Deny {
		t.Errorf("%+v", d)
	}
}
