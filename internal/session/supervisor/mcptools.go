package supervisor

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/mcp"
	"ringfence.dev/ringfence/internal/session/control"
)

// wishes are what the agent asked a person for. They are words: nothing reads them but
// people.
type wishes struct {
	mu   sync.Mutex
	all  []control.Wish
	next time.Time // when the agent may wish again without waiting
	asks time.Time // the same for questions
}

// Bounds of what an agent may wish.
const (
	maxWishes   = 32
	wishBurst   = 4
	wishEvery   = 15 * time.Second
	maxWishWhat = 256
	maxWishWhy  = 300
)

// add remembers a wish, once.
func (w *wishes) add(wish control.Wish) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.all {
		if w.all[i].Kind == wish.Kind && w.all[i].What == wish.What {
			return errors.New("this was asked for already, and a person will see it")
		}
	}
	if len(w.all) >= maxWishes {
		return errors.New("too much was asked for in this session already")
	}
	if w.next.Before(wish.Since) {
		w.next = wish.Since
	}
	if w.next.Sub(wish.Since) > (wishBurst-1)*wishEvery {
		return errors.New("too much was asked for in a short time; go on without it")
	}
	w.next = w.next.Add(wishEvery)
	w.all = append(w.all, wish)
	return nil
}

// mayAsk bounds how often an agent has us look.
func (w *wishes) mayAsk(now time.Time) error {
	const burst, every = 20, 200 * time.Millisecond
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asks.Before(now) {
		w.asks = now
	}
	if w.asks.Sub(now) > (burst-1)*every {
		return errors.New("too many questions in a short time: ask again later")
	}
	w.asks = w.asks.Add(every)
	return nil
}

func (w *wishes) list() []control.Wish {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]control.Wish(nil), w.all...)
}

// tools are those that the agent may call. None changes anything.
func (v *serving) tools() []mcp.Tool {
	return []mcp.Tool{
		{Name: "policy_show", About: "What this sandbox allows: files, hosts, limits, and what to do when something is refused.",
			Call: func(map[string]string) (string, error) { return v.live.toldNow(), nil }},
		{Name: "why", About: "Which rule decides about a path, a host (NAME or NAME:PORT) or an environment variable, and what would have to change.",
			Args: []mcp.Arg{{Name: "what", About: "a path, a host, or the name of a variable", Most: 4096}},
			Call: func(args map[string]string) (string, error) { return v.explain(args["what"]) }},
		{Name: "request_grant", About: "Ask the person outside to allow something. Nothing is allowed by asking, and there may be no answer: go on without it.",
			Args: []mcp.Arg{
				{Name: "kind", About: "what is wanted", Words: []string{"host", "read", "write", "env"}, Most: 16},
				{Name: "what", About: "the host, the path or the variable", Most: maxWishWhat},
				{Name: "reason", About: "what it is needed for, in a sentence", Most: maxWishWhy},
			},
			Call: v.request},
	}
}

// explain answers why.
func (v *serving) explain(what string) (string, error) {
	if err := v.wish.mayAsk(time.Now()); err != nil {
		return "", err
	}
	return v.live.current().Explain(what)
}

// request records what the agent wishes, and tells a person.
func (v *serving) request(args map[string]string) (string, error) {
	wish := control.Wish{Kind: args["kind"], What: args["what"], Reason: strings.Join(strings.Fields(args["reason"]), " "), Since: time.Now()}
	if strings.TrimSpace(wish.What) == "" {
		return "", errors.New("what is empty")
	}
	if wish.Kind == "host" {
		r, err := address.ParseRule(wish.What)
		if err != nil {
			return "", fmt.Errorf("what is no host: %w", err)
		}
		wish.What = r.String()
	}
	if err := v.wish.add(wish); err != nil {
		return "", err
	}
	v.live.Record(journal.Record{Kind: journal.Broker, Event: journal.Use, Via: "mcp", Name: wish.Kind + " " + wish.What, Verdict: journal.Wait, Reason: fmt.Sprintf("the agent asks for it: %q", wish.Reason)})
	v.live.Say(fmt.Sprintf("the agent asks for %s %q: see ringfence requests", wish.Kind, wish.What))
	return "A person will see it. Nothing has changed: go on without it.", nil
}
