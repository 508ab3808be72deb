package gate

import (
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/policy"
)

// TestOnce: what is allowed once begins only for a moment, and what has begun by then has no
// end; a grant for a time has.
func TestOnce(t *testing.T) {
	now := time.Now()
	r := newRules(policy.Reach{Mode: "dev"})
	r.now = func() time.Time { return now }
	r.grant(grant{entry: entry(t, "a.test"), expires: now.Add(onceFor), once: true})
	r.grant(grant{entry: entry(t, "b.test"), expires: now.Add(onceFor)})
	ask := func(name address.Name) Decision {
		return r.Decide(Request{Target: address.Target{Name: name, Port: 443}})
	}
	if d := ask("a.test"); d.Verdict != Allow || !d.Until.IsZero() {
		t.Errorf("once: %+v", d)
	}
	if d := ask("b.test"); d.Verdict != Allow || !d.Until.Equal(now.Add(onceFor)) {
		t.Errorf("for a time: %+v", d)
	}
	now = now.Add(onceFor)
	for _, name := range []address.Name{"a.test", "b.test"} {
		if d := ask(name); d.Verdict != Unknown {
			t.Errorf("%s afterwards: %+v", name, d)
		}
	}
}
