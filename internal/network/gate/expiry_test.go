package gate

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/policy"
)

// granted is a gate with grants for one host, each until its own time.
func granted(t *testing.T, until ...time.Time) (*Gate, Request) {
	t.Helper()
	g := &Gate{rules: newRules(policy.Reach{Mode: "allow"})}
	g.ctx, g.stop = context.WithCancel(context.Background())
	t.Cleanup(g.stop)
	for _, u := range until {
		g.rules.grants = append(g.rules.grants, grant{policy.Entry{Rule: rule(t, "a.test"), Text: "a.test"}, u})
	}
	return g, Request{Target: address.Target{Name: "a.test", Port: 443}}
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
	g, q := granted(t, soon)
	client, agent := tcpPair(t)
	origin, server := tcpPair(t)
	var e expiry
	e.set(soon, q)
	defer e.watch(g, client, origin)()
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
			g, q := granted(t, soon, time.Time{})
			client, agent := tcpPair(t)
			origin, _ := tcpPair(t)
			var e expiry
			stop := e.watch(g, client, origin)
			e.set(soon, q)
			next(&e, q)
			g.done.Wait() // the watch is over
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
