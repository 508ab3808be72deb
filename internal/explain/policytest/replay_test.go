package policytest

import (
	"testing"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/explain/why"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/policy"
)

// world allows open.test alone.
func world() *why.World {
	return &why.World{Policy: &policy.Policy{}, Reach: policy.Reach{Mode: "dev"},
		Decide: func(t address.Target) why.Ruling {
			return why.Ruling{Allow: t.Name == "open.test", Rule: "r", Source: "s"}
		},
		Push: func(ref string) string {
			return map[string]string{"refs/heads/main": "denied"}[ref]
		}}
}

func decision(name string, port uint16, verdict string) journal.Record {
	return journal.Record{Kind: journal.Net, Event: journal.Decision, Via: "tcp", Name: name, Port: port, Verdict: verdict, Rule: "x"}
}

func TestReplay(t *testing.T) {
	more := func(r journal.Record, change func(*journal.Record)) journal.Record { change(&r); return r }
	for name, c := range map[string]struct {
		records []journal.Record
		want    string // change of the only difference; "" none
		seen    int
	}{
		"still allowed": {[]journal.Record{decision("open.test", 443, journal.Allow)}, "", 1},
		"still denied":  {[]journal.Record{decision("shut.test", 443, journal.Deny)}, "", 1},
		"newly denied":  {[]journal.Record{decision("shut.test", 443, journal.Allow)}, NewlyDenied, 1},
		"newly allowed": {[]journal.Record{decision("open.test", 443, journal.Deny)}, NewlyAllowed, 1},
		"counted once":  {[]journal.Record{decision("shut.test", 443, journal.Allow), decision("shut.test", 443, journal.Allow)}, NewlyDenied, 2},
		"waits":         {[]journal.Record{decision("open.test", 443, journal.Wait)}, "", 0},
		"end":           {[]journal.Record{more(decision("shut.test", 443, journal.Allow), func(r *journal.Record) { r.Event = journal.End })}, "", 0},
		"denied for what was said": {[]journal.Record{
			more(decision("open.test", 443, journal.Allow), func(r *journal.Record) { r.Conn = 7 }),
			more(decision("open.test", 443, journal.Deny), func(r *journal.Record) { r.Conn = 7 })}, "", 1},
		"a request":     {[]journal.Record{more(decision("open.test", 80, journal.Deny), func(r *journal.Record) { r.Method = "PUT" })}, "", 0},
		"a bound":       {[]journal.Record{more(decision("open.test", 80, journal.Deny), func(r *journal.Record) { r.Rule = "bounds" })}, "", 0},
		"no name":       {[]journal.Record{more(decision("not a name", 80, journal.Deny), func(r *journal.Record) { r.Via = "dns" })}, "", 0},
		"a push denied": {[]journal.Record{{Kind: journal.Broker, Event: journal.Use, Via: "git", Name: "forge.test", Verdict: journal.Deny, Reason: "pushes are denied: refs/heads/main"}}, "", 1},
		"a push newly denied": {[]journal.Record{{Kind: journal.Broker, Event: journal.Use, Via: "git", Name: "forge.test", Verdict: journal.Allow, Reason: "refs/heads/main"}},
			NewlyDenied, 1},
		"a push newly allowed": {[]journal.Record{{Kind: journal.Broker, Event: journal.Use, Via: "git", Name: "forge.test", Verdict: journal.Deny, Reason: "x: refs/heads/topic"}},
			NewlyAllowed, 1},
		"a request of the broker's": {[]journal.Record{{Kind: journal.Broker, Event: journal.Use, Via: "api", Name: "open.test", Verdict: journal.Deny}}, "", 0},
	} {
		r := &Replay{World: world()}
		for _, rec := range c.records {
			r.Add("0123456789", rec)
		}
		got := ""
		if len(r.Found) > 0 {
			got = r.Found[0].Change
		}
		if got != c.want || len(r.Found) > 1 || r.Seen != c.seen {
			t.Errorf("%s: %q of %d seen (%+v), want %q of %d", name, got, r.Seen, r.Found, c.want, c.seen)
		}
	}
}
