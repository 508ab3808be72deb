package gate

import (
	"fmt"
	"sync"
	"time"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/network/httpfwd"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// refuse records a denial and ends the call: with words where the client speaks
// HTTP, else at once.
func (k *call) refuse() {
	if k.owner == nil {
		k.owner = k.g.owners.ask(k.client, k.to, true)
	}
	k.owner.wait()
	k.denied()
	if k.rule.Verdict == Unknown && !k.rule.Unasked {
		k.g.asks.note(k.target)
	}
	k.answer(403, "Forbidden", k.denial(k.rule.Reason))
}

// denied writes a denial down.
func (k *call) denied() {
	r := k.line(journal.Decision)
	r.Verdict = journal.Deny
	k.g.records.refuse(r)
}

// denial is what the client is told: the rule, never where it stands on the host.
func (k *call) denial(reason string) httpfwd.Denial {
	d := httpfwd.Denial{Rule: k.rule.Rule, Reason: reason, Host: k.target.Host(), Port: k.target.Port, Ask: k.g.advice.command(k.target, k.rule)}
	if k.rule.Verdict != Allow && k.g.advice.again(k.target.String()) >= definitive {
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
		reset(k.client)
		return
	}
	if !k.heard {
		k.client.SetReadDeadline(time.Now().Add(handshake))
		head, err := httpfwd.ReadHead(k.buffered())
		if err != nil {
			reset(k.client)
			return
		}
		k.accept = head.Accept
	}
	say(k.client, httpfwd.Refusal(status, phrase, k.accept, d))
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
func say(client rung.Conn, b []byte) {
	client.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err := client.Write(b); err != nil {
		reset(client)
		return
	}
	client.CloseWrite()
	var rest [4096]byte
	for range 64 {
		if _, err := client.Read(rest[:]); err != nil {
			return
		}
	}
}

const (
	definitive = 3
	final      = "This will not change by trying again."
)

// advice is what an agent is told beside a refusal: what a person could do, and, if it
// tries again and again, to stop.
type advice struct {
	session string
	mu      sync.Mutex
	count   map[string]int
}

const maxRepeats = 4096

// command is how a person could allow a target; "" where none does.
func (a *advice) command(t address.Target, d Decision) string {
	switch {
	case d.Verdict == Unknown && t.Port != 0 && t.Port != 443 && t.Port != 80:
		return fmt.Sprintf("ringfence grant %s --host %s:%d", a.session, t.Name, t.Port)
	case d.Verdict == Unknown:
		return fmt.Sprintf("ringfence grant %s --host %s", a.session, t.Name)
	}
	return ""
}

// again counts one more refusal of what and returns how many there were.
func (a *advice) again(what string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.count == nil || len(a.count) >= maxRepeats {
		a.count = map[string]int{}
	}
	a.count[what]++
	return a.count[what]
}

// forget begins to count anew, after a grant.
func (a *advice) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count = nil
}
