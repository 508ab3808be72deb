package gate

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/network/dns"
)

const (
	answerTTL = 60
	blocked   = 15 // extended DNS error: Blocked
	notReady  = 14 // extended DNS error: Not Ready
)

// resolve answers a question of the sandbox. Nothing is looked up here: an allowed
// name gets an address that stands for it, and any other is refused, so that no name
// ever leaves before a connection to it was allowed.
func (g *Gate) resolve(ctx context.Context, q dns.Question, via string, from netip.AddrPort) dns.Answer {
	// Before it is read as a name: what no host can be called was no less about to
	// leave.
	if g.decoyName(q.Name) {
		return dns.Answer{Code: dnsmessage.RCodeNameError, EDE: blocked, Text: "ringfence: " + errDecoy.Error()}
	}
	n, err := address.ParseName(q.Name)
	if err != nil {
		d := Decision{Verdict: Deny, Rule: "names of hosts", Reason: "this is not the name of a host"}
		return g.denyName(q.Name, via, d)
	}
	if n == "localhost" || n.Under("localhost") {
		return dns.Answer{V4: netip.AddrFrom4([4]byte{127, 0, 0, 1}), V6: netip.IPv6Loopback(), TTL: answerTTL}
	}
	if mutated("lookup") {
		g.names.find(ctx, n)
	}
	d := g.rules.Decide(Request{Target: address.Target{Name: n}})
	host := q.Type == dnsmessage.TypeA || q.Type == dnsmessage.TypeAAAA
	switch {
	case d.Verdict == Allow:
	case d.Verdict == Unknown && host && g.waitable(n):
		// The connection that follows waits for a person; until somebody allows
		// it the name goes nowhere.
	default:
		return g.denyName(string(n), via, d)
	}
	if err := g.recordName(n, via, d); err != nil {
		return dns.Answer{Code: dnsmessage.RCodeServerFailure, EDE: notReady, Text: "ringfence: " + err.Error()}
	}
	v4, v6 := g.pool.give(n)
	return dns.Answer{V4: v4, V6: v6, TTL: answerTTL}
}

// denyName answers that there is no such name, and says why. The definite answer is
// chosen over REFUSED, after which programs would ask again and again.
func (g *Gate) denyName(name, via string, d Decision) dns.Answer {
	g.refused(journal.Record{Event: journal.Decision, Via: "dns", Protocol: via, Name: name, Verdict: journal.Deny, Rule: d.Rule, Source: d.Source, Reason: d.Reason})
	text := fmt.Sprintf("ringfence: %s (%s)", d.Reason, d.Rule)
	if d.Verdict == Unknown {
		g.asks.note(address.Target{Name: address.Name(name)})
		text = fmt.Sprintf("ringfence: %s; ask the user: %s", d.Reason, g.askFor(address.Target{Name: address.Name(name)}, d))
	}
	if g.tell.again(name) >= definitive {
		text += ". " + final
	}
	return dns.Answer{Code: dnsmessage.RCodeNameError, EDE: blocked, Text: text}
}

// told remembers which names were recorded as allowed, so that one connection does
// not fill the journal with the four questions that precede it.
type told struct {
	mu sync.Mutex
	at map[address.Name]time.Time
}

// once holds the first time that it is asked about something.
func (t *told) once(what string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.at[address.Name(what)]; ok {
		return false
	}
	if t.at == nil {
		t.at = map[address.Name]time.Time{}
	}
	t.at[address.Name(what)] = time.Now()
	return true
}

func (g *Gate) recordName(n address.Name, via string, d Decision) error {
	g.told.mu.Lock()
	defer g.told.mu.Unlock()
	now := time.Now()
	if at, ok := g.told.at[n]; ok && now.Sub(at) < answerTTL*time.Second {
		return nil
	}
	verdict := journal.Allow
	if d.Verdict == Unknown {
		verdict = journal.Wait
	}
	if err := g.record(journal.Record{Event: journal.Decision, Via: "dns", Protocol: via, Name: string(n), Verdict: verdict, Rule: d.Rule, Source: d.Source, Reason: d.Reason}); err != nil {
		return err
	}
	if g.told.at == nil || len(g.told.at) >= poolLive {
		g.told.at = map[address.Name]time.Time{}
	}
	g.told.at[n] = now
	return nil
}
