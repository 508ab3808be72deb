package gate

import (
	"fmt"
	"sync"
	"time"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/network/httpfwd"
)

// refuse records a denial and ends the call: with words where the client speaks
// HTTP, else at once.
func (k *call) refuse() {
	if k.owner == nil {
		k.owner = k.g.owner.ask(k.client, k.to, true)
	}
	k.owner.wait()
	k.denied()
	if k.rule.Verdict == Unknown {
		k.g.asks.note(k.target)
	}
	k.answer(403, "Forbidden", k.denial(k.rule.Reason))
}

// denied writes a denial down.
func (k *call) denied() {
	r := k.line(journal.Decision)
	r.Verdict = journal.Deny
	k.g.refused(r)
}

// denial is what the client is told: the rule, never where it stands on the host.
func (k *call) denial(reason string) httpfwd.Denial {
	d := httpfwd.Denial{Rule: k.rule.Rule, Reason: reason, Host: k.target.Host(), Port: k.target.Port, Ask: k.g.askFor(k.target, k.rule)}
	if k.rule.Verdict != Allow && k.g.tell.again(k.target.String()) >= definitive {
		d.Final = final
		if d.Ask != "" {
			d.Final += " Ask the user to run: " + d.Ask
		}
	}
	return d
}

// answer writes a refusal to a client that speaks HTTP in the clear. Others are
// reset: a TLS alert of ours would only hide who refused.
func (k *call) answer(status int, phrase string, d httpfwd.Denial) {
	if !k.listens() {
		k.drop()
		return
	}
	if !k.heard {
		k.client.SetReadDeadline(time.Now().Add(handshake))
		head, err := httpfwd.ReadHead(k.buffered())
		if err != nil {
			k.drop()
			return
		}
		k.accept = head.Accept
	}
	k.say(httpfwd.Refusal(status, phrase, k.accept, d))
}

// listens holds for a client that can read an answer in HTTP.
func (k *call) listens() bool {
	switch {
	case k.mute:
		return false
	case k.via == "connect" || k.via == "http" || k.proto == string(address.HTTP):
		return true
	}
	return k.via == "tcp" && k.proto == "" && k.target.Port == 80
}

// say writes the last words of a call. The client may still be sending: closing with
// bytes unread would reset the connection before they are heard.
func (k *call) say(b []byte) {
	k.client.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err := k.client.Write(b); err != nil {
		k.drop()
		return
	}
	k.client.CloseWrite()
	var rest [4096]byte
	for range 64 {
		if _, err := k.client.Read(rest[:]); err != nil {
			return
		}
	}
}

const (
	definitive = 3
	final      = "This will not change by trying again."
)

// askFor is the command by which a person could allow a target; "" where none does.
func (g *Gate) askFor(t address.Target, d Decision) string {
	switch {
	case d.Verdict == Unknown && t.Port != 0 && t.Port != 443 && t.Port != 80:
		return fmt.Sprintf("ringfence grant %s --host %s:%d", g.conf.Session, t.Name, t.Port)
	case d.Verdict == Unknown:
		return fmt.Sprintf("ringfence grant %s --host %s", g.conf.Session, t.Name)
	}
	return ""
}

// repeats counts refusals, so that an agent which tries again is told to stop.
type repeats struct {
	mu    sync.Mutex
	count map[string]int
}

const maxRepeats = 4096

// again counts one more refusal of what and returns how many there were.
func (r *repeats) again(what string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count == nil || len(r.count) >= maxRepeats {
		r.count = map[string]int{}
	}
	r.count[what]++
	return r.count[what]
}

// forget begins to count anew, after a grant.
func (r *repeats) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count = nil
}
