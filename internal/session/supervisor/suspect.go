package supervisor

import (
	"errors"
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

	one    sync.Mutex // closes the network, or waits until it is closed
	closed bool
	said   string // to the person, of that
}

// suspect hears of such a text, before the model reads it, and so does not return before
// everything is done. The person is told the first time; the meter and the journal know of
// each. Where the policy wants it, the network is closed but for the model, for the rest of
// the session; if that fails, with the next text again.
func (l *live) suspect(f injection.Finding) {
	l.smoke.mu.Lock()
	first := l.smoke.count == 0
	if l.smoke.count++; first {
		l.smoke.first = f
	}
	l.smoke.mu.Unlock()
	outcome := ""
	if l.session.Policy.OnHit() == policy.HitTighten {
		outcome = l.shut(f)
	}
	if !first && outcome == "" {
		return
	}
	what := fmt.Sprintf("what a tool returned tries to give the agent orders (%s: %q)", f.Kind, f.Quote)
	if f.Kind == injection.Unread {
		what = "a tool returned more than is looked at for orders to the agent"
	}
	l.alarm("text from outside may give the agent orders", fmt.Sprintf("%s; see ringfence log %s.%s This is a smoke detector: it misses things, and errs.", what, l.session.ID, outcome))
}

// shut closes the network but for the model, once, and returns what the person has to know
// of that and does not know yet.
func (l *live) shut(f injection.Finding) string {
	l.smoke.one.Lock()
	defer l.smoke.one.Unlock()
	if l.smoke.closed {
		return ""
	}
	select { // a text may come while the session begins
	case <-l.began:
	case <-l.ended:
		return ""
	}
	out, err := l.Tighten(Less{Mode: launch.Locked, Alone: true, By: "[scan] on-hit", Why: "text from outside tries to give orders: " + string(f.Kind)})
	text := fmt.Sprintf(" The network is %s now, it was %s.", out.Mode, out.Was)
	switch {
	case err == nil:
		l.smoke.closed = true
	case errors.Is(err, errUnrecorded):
		l.smoke.closed = true
		text += fmt.Sprintf(" The journal does not have that: %v.", err)
	case out.Was == launch.ModeNone:
		l.smoke.closed, text = true, " There is no network to close."
	default:
		text = fmt.Sprintf(" THE NETWORK COULD NOT BE CLOSED: %v.", err)
	}
	if text == l.smoke.said {
		return ""
	}
	l.smoke.said = text
	return text
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
