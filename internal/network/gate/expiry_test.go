package gate

import (
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/policy"
)

// granted are rules with grants for one host, each until its own time.
func granted(t *testing.T, until ...time.Time) (*rules, Request) {
	t.Helper()
	r := newRules(policy.Reach{Mode: "allow"})
	for _, u := range until {
		r.grants = append(r.grants, grant{entry: policy.Entry{Rule: rule(t, "a.test"), Text: "a.test"}, expires: u})
	}
	return r, Request{Target: address.Target{Name: "a.test", Port: 443}}
}

func rule(t *testing.T, text string) address.Rule {
	t.Helper()
	r, err := address.ParseRule(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestConnectionEndsWithItsGrant(t *testing.T) {
	soon := time.Now().Add(20 * time.Millisecond)
	r, q := granted(t, soon)
	client, agent := tcpPair(t)
	origin, server := tcpPair(t)
	var e expiry
	var tasks sync.WaitGroup
	e.set(soon, q)
	defer e.watch(&tasks, r, client, origin)()
	if _, err := agent.Read(make([]byte, 1)); !errors.Is(err, unix.ECONNRESET) {
		t.Errorf("the client: %v", err)
	}
	if _, err := server.Read(make([]byte, 1)); !errors.Is(err, unix.ECONNRESET) {
		t.Errorf("the origin: %v", err)
	}
}

// TestConnectionOutlivesItsGrant: another rule allows it by then, or the request that
// needed the grant is over.
func TestConnectionOutlivesItsGrant(t *testing.T) {
	soon := time.Now().Add(20 * time.Millisecond)
	for name, next := range map[string]func(e *expiry, q Request){
		"another grant":   func(*expiry, Request) {},
		"another request": func(e *expiry, q Request) { e.set(time.Time{}, q) },
	} {
		t.Run(name, func(t *testing.T) {
			r, q := granted(t, soon, time.Time{})
			client, agent := tcpPair(t)
			origin, _ := tcpPair(t)
			var e expiry
			var tasks sync.WaitGroup
			stop := e.watch(&tasks, r, client, origin)
			e.set(soon, q)
			next(&e, q)
			tasks.Wait() // the watch is over
			stop()
			if _, err := io.WriteString(client, "x"); err != nil {
				t.Fatal(err)
			}
			if _, err := agent.Read(make([]byte, 1)); err != nil {
				t.Errorf("it was ended: %v", err)
			}
		})
	}
}
