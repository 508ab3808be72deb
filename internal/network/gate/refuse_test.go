package gate

import (
	"testing"

	"ringfence.dev/ringfence/internal/address"
)

func TestAdvice(t *testing.T) {
	a := advice{session: "s1"}
	for s, want := range map[string]string{
		"a.test:443": "ringfence grant s1 --host a.test", "a.test:80": "ringfence grant s1 --host a.test", "a.test": "ringfence grant s1 --host a.test",
		"a.test:22": "ringfence grant s1 --host a.test:22",
	} {
		if got := a.command(target(t, s), Decision{Verdict: Unknown}); got != want {
			t.Errorf("%s: %q", s, got)
		}
		if got := a.command(target(t, s), Decision{Verdict: Deny}); got != "" {
			t.Errorf("%s is denied, and %q would help", s, got)
		}
	}
}

// TestWhoIsAnswered: only a client that speaks HTTP in the clear gets words.
func TestWhoIsAnswered(t *testing.T) {
	for _, c := range []struct {
		call *call
		want bool
	}{
		{&call{via: "connect"}, true}, {&call{via: "http"}, true}, {&call{via: "connect", mute: true}, false},
		{&call{via: "tcp", proto: "http"}, true}, {&call{via: "tcp", proto: "tls"}, false}, {&call{via: "tcp", proto: "tcp"}, false},
		{&call{via: "tcp", target: address.Target{Port: 80}}, true}, {&call{via: "tcp", target: address.Target{Port: 443}}, false},
		{&call{via: "socks"}, false}, {&call{via: "socks", target: address.Target{Port: 80}}, false}, {&call{via: "host-port", proto: "tcp"}, false},
	} {
		if got := c.call.listens(); got != c.want {
			t.Errorf("%s %s %d mute %v: %v", c.call.via, c.call.proto, c.call.target.Port, c.call.mute, got)
		}
	}
}
