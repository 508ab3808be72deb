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

// resolver answers the questions of the sandbox. Nothing is looked up here: an allowed
// name gets an address that stands for it, and any other is refused, so that no name
// ever leaves before a connection to it was allowed.
type resolver struct {
	rules   *rules
	pool    *pool
	asks    *asking
	advice  *advice
	records *recorder
	decoys  *decoys
	names   *lookups // only for the test that a name is never looked up

	mu sync.Mutex
	// told has the names that were recorded as allowed, so that one connection does not
	// fill the journal with the four questions that precede it.
	told map[address.Name]time.Time
}

func (g *Gate) resolver() *resolver {
	return &resolver{rules: g.rules, pool: g.pool, asks: &g.asks, advice: &g.advice, records: &g.records, decoys: &g.decoys, names: g.dialler.names}
}

func (v *resolver) resolve(ctx context.Context, q dns.Question, via string, _ netip.AddrPort) dns.Answer {
	// Before it is read as a name: what no host can be called was no less about to
	// leave.
	if v.decoys.inName(q.Name) {
		return dns.Answer{Code: dnsmessage.RCodeNameError, EDE: blocked, Text: "ringfence: " + errDecoy.Error()}
	}
	n, err := address.ParseName(q.Name)
	if err != nil {
		return v.deny(q.Name, via, Decision{Verdict: Deny, Rule: "names of hosts", Reason: "this is not the name of a host"})
	}
	if n == "localhost" || n.Under("localhost") {
		return dns.Answer{V4: netip.AddrFrom4([4]byte{127, 0, 0, 1}), V6: netip.IPv6Loopback(), TTL: answerTTL}
	}
	if mutated("lookup") {
		v.names.find(ctx, n)
	}
	d := v.rules.Decide(Request{Target: address.Target{Name: n}})
	host := q.Type == dnsmessage.TypeA || q.Type == dnsmessage.TypeAAAA
	switch {
	case d.Verdict == Allow:
	case d.Verdict == Unknown && !d.Unasked && host && v.asks.waitable(n):
		// The connection that follows waits for a person; until somebody allows
		// it the name goes nowhere.
	default:
		return v.deny(string(n), via, d)
	}
	if err := v.record(n, via, d); err != nil {
		return dns.Answer{Code: dnsmessage.RCodeServerFailure, EDE: notReady, Text: "ringfence: " + err.Error()}
	}
	v4, v6 := v.pool.give(n)
	return dns.Answer{V4: v4, V6: v6, TTL: answerTTL}
}

// deny answers that there is no such name, and says why. The definite answer is chosen
// over REFUSED, after which programs would ask again and again.
func (v *resolver) deny(name, via string, d Decision) dns.Answer {
	v.records.refuse(journal.Record{Event: journal.Decision, Via: "dns", Protocol: via, Name: name, Verdict: journal.Deny, Rule: d.Rule, Source: d.Source, Reason: d.Reason})
	text := fmt.Sprintf("ringfence: %s (%s)", d.Reason, d.Rule)
	if d.Verdict == Unknown {
		t := address.Target{Name: address.Name(name)}
		if !d.Unasked {
			v.asks.note(t)
		}
		text = fmt.Sprintf("ringfence: %s; ask the user: %s", d.Reason, v.advice.command(t, d))
	}
	if v.advice.again(name) >= definitive {
		text += ". " + final
	}
	return dns.Answer{Code: dnsmessage.RCodeNameError, EDE: blocked, Text: text}
}

// record writes a name down that gets an address.
func (v *resolver) record(n address.Name, via string, d Decision) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	if at, ok := v.told[n]; ok && now.Sub(at) < answerTTL*time.Second {
		return nil
	}
	verdict := journal.Allow
	if d.Verdict == Unknown {
		verdict = journal.Wait
	}
	if err := v.records.write(journal.Record{Event: journal.Decision, Via: "dns", Protocol: via, Name: string(n), Verdict: verdict, Rule: d.Rule, Source: d.Source, Reason: d.Reason}); err != nil {
		return err
	}
	if v.told == nil || len(v.told) >= poolLive {
		v.told = map[address.Name]time.Time{}
	}
	v.told[n] = now
	return nil
}
