package supervisor

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/test/wait"
)

// runs makes the live session of a stand one that has begun.
func (p *played) runs() *live {
	l := p.door.live
	l.door, l.gate, l.shown = p.door, p.door.gate, p.door.shown
	l.began, l.ended = make(chan struct{}), make(chan struct{})
	close(l.began)
	l.talk.Say = func(string) {}
	return l
}

// A stricter mode holds for the broker too: a host that it lends a credential to is reached
// no more, also over a connection that is open; the model is, until there is no network.
func TestTightenHoldsForTheBroker(t *testing.T) {
	s := newStand(t)
	s.environ = append(s.environ, "LAB="+realMark+"-lab-0123456789abcdef", "ANTHROPIC_API_KEY="+realMark+"-model-0123456789")
	s.policy("[secret.lab]\nuse = \"bearer\"\nfrom = \"env:LAB\"\nenv = [\"PH\"]\nhosts = [\"lab.test\"]\nallow = [\"* /**\"]\n")
	p, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	l := p.runs()
	service := asking{host: "lab.test", method: "GET", path: "/package", header: map[string]string{"Authorization": "Bearer @PH@"}}
	search := asking{method: "POST", path: "/anthropic/v1/messages", header: map[string]string{"Authorization": "Bearer @ANTHROPIC_AUTH_TOKEN@"}}
	if got := hosts(p.ask(service)); len(got) != 1 {
		t.Fatalf("before: the service got %q", got)
	}
	if got := hosts(p.ask(search)); len(got) != 1 {
		t.Fatalf("before: the model got %q", got)
	}
	if !l.session.Policy.ModelAllows("search") {
		t.Fatal("before: no search")
	}
	if out, err := l.Tighten(Less{Mode: "locked", By: "test"}); err != nil || out.Cut == 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	if got := p.ask(service); len(got) != 0 {
		t.Errorf("locked: %v", got)
	}
	if got := hosts(p.ask(search)); len(got) != 1 {
		t.Errorf("locked: the model got %q", got)
	}
	if l.current().Policy.ModelAllows("search") || strings.Contains(l.current().Trifecta().Line(true), "search") {
		t.Error("locked: the provider may be asked to search")
	}
	if _, err := l.Tighten(Less{Mode: "none", By: "test"}); err != nil {
		t.Fatal(err)
	}
	if got := p.ask(search); len(got) != 0 {
		t.Errorf("none: the model got %v", got)
	}
}

// What a person took back is the broker's no more either, and an upstream that the user named
// is cut though no rule speaks of it.
func TestRevokeHoldsForTheBroker(t *testing.T) {
	s := newStand(t)
	s.environ = append(s.environ, "LAB="+realMark+"-lab-0123456789abcdef")
	s.policy("[secret.lab]\nuse = \"bearer\"\nfrom = \"env:LAB\"\nenv = [\"PH\"]\nhosts = [\"lab.test\"]\nallow = [\"* /**\"]\n")
	p, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	l := p.runs()
	service := asking{host: "lab.test", method: "GET", path: "/package", header: map[string]string{"Authorization": "Bearer @PH@"}}
	if got := hosts(p.ask(service)); len(got) != 1 {
		t.Fatalf("before: %q", got)
	}
	if _, err := l.Tighten(Less{Revoke: "lab.test", By: "test"}); err != nil {
		t.Fatal(err)
	}
	if got := p.ask(service); len(got) != 0 {
		t.Errorf("taken back: %v", got)
	}
}

// From internet to dev: hosts that anybody can write to are closed, since no broker stands
// before them in this session.
func TestTightenToDevClosesCommonHosts(t *testing.T) {
	s := newStand(t)
	s.flags = &policy.Policy{Network: policy.Network{Mode: &policy.Rule{Value: "internet"}}}
	s.environ = append(s.environ, "ANTHROPIC_API_KEY="+realMark+"-model-0123456789")
	p, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	l := p.runs()
	write := asking{host: "pypi.org", method: "POST", path: "/legacy/", header: map[string]string{"Authorization": "Bearer " + ownMark}}
	if len(p.ask(write)) != 1 {
		t.Fatal("before: it is not reached")
	}
	if _, err := l.Tighten(Less{Mode: "dev", By: "test"}); err != nil {
		t.Fatal(err)
	}
	if got := p.ask(write); len(got) != 0 {
		t.Errorf("%v", got)
	}
	for _, mode := range []string{"dev", "internet", "wide", ""} {
		if _, err := l.Tighten(Less{Mode: mode, By: "test"}); err == nil {
			t.Errorf("mode %q was taken", mode)
		}
	}
}

// TestPublishWaitsForLess: nothing is published while something is taken away, for it would
// stay when all of it is.
func TestPublishWaitsForLess(t *testing.T) {
	p, err := newStand(t).open()
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	l := p.runs()
	l.less.one.Lock()
	done := make(chan error, 1)
	go func() {
		_, err := l.publish(fmt.Sprintf("%d:3000", freePort()))
		done <- err
	}()
	wait.Eventually(t, "it waits, or is done", func() bool {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		for one := range strings.SplitSeq(string(stacks), "\n\n") {
			if strings.Contains(one, "(*live).publish") && strings.Contains(one, "Mutex).Lock") {
				return true
			}
		}
		return len(done) > 0
	})
	base, err := l.session.Base.Narrowed("none", l.session.Brokered)
	if err != nil {
		t.Fatal(err)
	}
	l.less.base.Store(&base)
	l.less.one.Unlock()
	if err := <-done; err == nil || len(l.shown()) != 0 {
		t.Errorf("%v is published: %v", l.shown(), err)
	}
}

// TestRevokeSaysWhatStays: in mode open a name is not needed, and who takes one back hears it.
func TestRevokeSaysWhatStays(t *testing.T) {
	for mode, want := range map[string]bool{"open": true, "internet": false} {
		s := newStand(t)
		s.flags = &policy.Policy{Network: policy.Network{Mode: &policy.Rule{Value: mode}}}
		p, err := s.open()
		if err != nil {
			t.Fatal(err)
		}
		defer p.close()
		out, err := p.runs().Tighten(Less{Revoke: "example.com", By: "test"})
		if err != nil || (out.Stays != "") != want {
			t.Errorf("%s: %+v, %v", mode, out, err)
		}
		out, err = p.runs().Tighten(Less{Revoke: "203.0.113.9", By: "test"})
		if err != nil || out.Stays != "" {
			t.Errorf("%s: an address: %+v, %v", mode, out, err)
		}
	}
}
