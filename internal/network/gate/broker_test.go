package gate

import (
	"net"
	"testing"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/serviceapi"
	"ringfence.dev/ringfence/internal/network/httpfwd"
)

// keeps is a broker of three hosts: one by TLS alone, one that may be read in the clear,
// and one that is switched off.
type keeps struct{}

func (keeps) Owns(n address.Name) bool {
	return n == "api.test" || n == "common.test" || n == "off.test"
}

func (keeps) Closed(n address.Name) string {
	if n == "off.test" {
		return "it is switched off"
	}
	return ""
}

func (keeps) Clear(n address.Name) func(serviceapi.Request) string {
	if n != "common.test" {
		return nil
	}
	return func(r serviceapi.Request) string {
		if r.Method == "GET" && r.Path == "/read" && r.Query == "q=1" {
			return ""
		}
		return "it is not reading"
	}
}

func (keeps) Serve(c net.Conn, _ address.Name) { c.Write([]byte("brokered")); c.Close() }
func (keeps) Local(c net.Conn)                 { c.Close() }

func TestBrokerCloses(t *testing.T) {
	const clear, other = "anybody can write to this host with a key of his own: it is read by https alone", "ringfence keeps the credential of this host and speaks to it by https alone"
	for _, c := range []struct {
		host  address.Name
		port  uint16
		proto address.Protocol
		want  string
	}{
		{"api.test", 443, address.TLS, ""}, {"api.test", 443, address.TCP, ""}, {"api.test", 8443, address.TLS, ""},
		{"api.test", 80, address.HTTP, other}, {"api.test", 22, address.TCP, other},
		{"common.test", 443, address.TLS, ""}, {"common.test", 80, address.HTTP, ""}, {"common.test", 22, address.TCP, clear}, {"common.test", 8443, address.TLS, clear},
		{"off.test", 443, address.TLS, "it is switched off"}, {"off.test", 80, address.HTTP, "it is switched off"},
	} {
		if got := (brokerHosts{keeps{}}).closes(address.Target{Name: c.host, Port: c.port}, Decision{Proto: c.proto}); got != c.want {
			t.Errorf("%s:%d %s: %q", c.host, c.port, c.proto, got)
		}
	}
}

func TestBrokerOwns(t *testing.T) {
	for s, want := range map[string]bool{"api.test:443": true, "off.test:80": true, "other.test:443": false, "9.9.9.9:443": false} {
		if got := (brokerHosts{keeps{}}).own(target(t, s)); got != want {
			t.Errorf("%s: %v", s, got)
		}
		if (brokerHosts{}).own(target(t, s)) {
			t.Errorf("%s is owned by nobody", s)
		}
	}
}

func TestRequestsInTheClear(t *testing.T) {
	for _, c := range []struct {
		host address.Name
		head httpfwd.Head
		want string
	}{
		{"common.test", httpfwd.Head{Method: "GET", Target: "/read?q=1"}, ""},
		{"common.test", httpfwd.Head{Method: "PUT", Target: "/read?q=1"}, "it is not reading"},
		{"common.test", httpfwd.Head{Method: "GET", Target: "/read?q=1", Upgrade: true}, "another protocol could not be judged"},
		{"api.test", httpfwd.Head{Method: "PUT", Target: "/x"}, ""}, // closes has refused it before
		{"other.test", httpfwd.Head{Method: "PUT", Target: "/x"}, ""},
	} {
		if got := (brokerHosts{keeps{}}).refuses(address.Target{Name: c.host, Port: 80}, &c.head); got != c.want {
			t.Errorf("%s %s %s: %q", c.host, c.head.Method, c.head.Target, got)
		}
	}
}

func TestBeforehand(t *testing.T) {
	b := NewBeforehand(reach(t, "dev", []string{"api.test", "tcp://api.test:22", "other.test"}, nil, []string{"10.1.2.3:443"}), keeps{})
	defer b.Close()
	for s, want := range map[string]Decision{
		"other.test:443": {Verdict: Allow}, "api.test:443": {Verdict: Allow}, "api.test": {Verdict: Allow},
		"api.test:22":   {Verdict: Deny, Rule: RuleBroker},
		"10.1.2.3:443":  {Verdict: Allow},
		"127.0.0.1:80":  {Verdict: Deny, Rule: RuleRanges},
		"nobody.test:1": {Verdict: Unknown, Rule: "mode dev"},
	} {
		if d := b.Decide(target(t, s)); d.Verdict != want.Verdict || want.Rule != "" && d.Rule != want.Rule {
			t.Errorf("%s: %+v", s, d)
		}
	}
}
