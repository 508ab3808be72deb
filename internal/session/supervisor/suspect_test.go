package supervisor

import (
	"strings"
	"sync"
	"testing"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/audit"
	"ringfence.dev/ringfence/internal/injection"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/session/launch"
)

// TestAlone: of what is allowed nothing stays but what the broker speaks to.
func TestAlone(t *testing.T) {
	entry := func(host, source string) policy.Entry {
		r, err := address.ParseRule(host)
		if err != nil {
			t.Fatal(err)
		}
		return policy.Entry{Rule: r, Text: host, Source: policy.Source{File: source}}
	}
	was := policy.Reach{Mode: "locked", Allow: []policy.Entry{entry("model.test", launch.BrokerSource), entry("other.test", "policy.toml")}, IP: []policy.Device{{}}, HostPorts: []uint16{5432}}
	got := alone(was)
	if len(got.Allow) != 1 || got.Allow[0].Text != "model.test" || len(got.IP)+len(got.HostPorts) != 0 || got.Mode != "locked" {
		t.Errorf("%+v", got)
	}
	if len(was.Allow) != 2 {
		t.Error("what was there before has changed")
	}
}

// TestMeterTurns: one text is enough for the meter, and it says how many there were.
func TestMeterTurns(t *testing.T) {
	l := &live{}
	if l.exposed(audit.Trifecta{}).Untrusted.Level != audit.None {
		t.Error("the meter turns for nothing")
	}
	l.smoke.count, l.smoke.first = 2, injection.Finding{Kind: injection.Hidden}
	got := l.exposed(audit.Trifecta{}).Untrusted
	if got.Level != audit.Full || len(got.Reasons) != 1 || got.Reasons[0] != "tools returned text that tries to give orders, 2 times (hidden text)" {
		t.Errorf("%+v", got)
	}
}

// TestNobodyReadsBeforeItIsShut: whoever brings such a text goes on when the network is
// closed, and not before: also if others brought one at the same time, or the session has not
// begun. The person is told what came of it in the same message.
func TestNobodyReadsBeforeItIsShut(t *testing.T) {
	s := newStand(t)
	s.policy("[network]\nmode = \"dev\"\n[scan]\non-hit = \"tighten\"\n")
	p, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	l := p.runs()
	var mu sync.Mutex
	var told []string
	l.talk.Warn = func(text string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, text)
	}
	l.began = make(chan struct{})
	modes := make(chan string)
	const many = 8
	for range many {
		go func() {
			l.suspect(injection.Finding{Kind: injection.Order, Quote: "x"})
			modes <- l.current().Mode()
		}()
	}
	close(l.began)
	for range many {
		if mode := <-modes; mode != launch.Locked {
			t.Errorf("somebody goes on while the network is %s", mode)
		}
	}
	all := strings.Join(told, "\n")
	if len(told) > 2 || strings.Count(all, "The network is locked now, it was dev.") != 1 {
		t.Errorf("told %q", told)
	}
}
