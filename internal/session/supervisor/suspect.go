package supervisor

import (
	"fmt"
	"sync"

	"ringfence.dev/ringfence/internal/audit"
	"ringfence.dev/ringfence/internal/injection"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/session/launch"
)

// suspected is what a running session knows of text that tried to give orders.
type suspected struct {
	mu    sync.Mutex
	count int
	first injection.Finding
}

// suspect hears of such a text, before the model reads it. The person is told the first
// time; the meter and the journal know of each. Where the policy wants it, the network is
// closed but for the model, for the rest of the session.
func (l *live) suspect(f injection.Finding) {
	l.smoke.mu.Lock()
	first := l.smoke.count == 0
	if l.smoke.count++; first {
		l.smoke.first = f
	}
	l.smoke.mu.Unlock()
	if !first {
		return
	}
	l.alarm("text from outside tries to give the agent orders", fmt.Sprintf("what a tool returned tries to give the agent orders (%s: %q); see ringfence log %s. This is a smoke detector: it misses things, and errs.", f.Kind, f.Quote, l.session.ID))
	if l.session.Policy.OnHit() != policy.HitTighten {
		return
	}
	if _, err := l.Tighten(Less{Mode: launch.Locked, Alone: true, By: "[scan] on-hit", Why: "text from outside tries to give orders: " + string(f.Kind)}); err != nil {
		l.Say(fmt.Sprintf("the network stays as it is: %v", err))
	}
}

// exposed adds to the meter what has come in.
func (l *live) exposed(t audit.Trifecta) audit.Trifecta {
	l.smoke.mu.Lock()
	defer l.smoke.mu.Unlock()
	if l.smoke.count > 0 {
		t.Tainted(l.smoke.count, string(l.smoke.first.Kind))
	}
	return t
}
