package session

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/explain/why"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/mcp"
	"ringfence.dev/ringfence/internal/policy/agent"
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
func (s *Session) tools() []mcp.Tool {
	return []mcp.Tool{
		{Name: "policy_show", About: "What this sandbox allows: files, hosts, limits, and what to do when something is refused.",
			Call: func(map[string]string) (string, error) { return s.Note, nil }},
		{Name: "why", About: "Which rule decides about a path, a host (NAME or NAME:PORT) or an environment variable, and what would have to change.",
			Args: []mcp.Arg{{Name: "what", About: "a path, a host, or the name of a variable", Most: 4096}},
			Call: func(args map[string]string) (string, error) { return s.explain(args["what"]) }},
		{Name: "request_grant", About: "Ask the person outside to allow something. Nothing is allowed by asking, and there may be no answer: go on without it.",
			Args: []mcp.Arg{
				{Name: "kind", About: "what is wanted", Words: []string{"host", "read", "write", "env"}, Most: 16},
				{Name: "what", About: "the host, the path or the variable", Most: maxWishWhat},
				{Name: "reason", About: "what it is needed for, in a sentence", Most: maxWishWhy},
			},
			Call: s.request},
	}
}

// explain answers why, for the agent. It is told nothing of the host that it cannot see
// from where it stands: neither whether a file is there nor whether a variable is set.
func (s *Session) explain(what string) (string, error) {
	if err := s.mcp.wish.mayAsk(time.Now()); err != nil {
		return "", err
	}
	kind, err := why.KindOf(what, why.Seen{})
	if err != nil {
		return "", errors.New("say an absolute path, a host with a dot or a port, or the name of a variable")
	}
	w := s.World()
	w.With = nil // a trial of every grant would be work for us, at the agent's word
	var a *why.Answer
	switch kind {
	case why.Host:
		t, err := why.Target(what)
		if err != nil {
			return "", err
		}
		a = w.AboutHost(t)
	case why.Env:
		a = w.AboutEnv(what)
	default:
		p := agent.Expand(what, s.User.Home)
		if !filepath.IsAbs(p) {
			return "", errors.New("say an absolute path")
		}
		a = w.AboutPath(filepath.Clean(p))
	}
	var b strings.Builder
	for _, f := range a.Findings {
		fmt.Fprintf(&b, "%s: %s\n", f.Access, toldInside(f))
	}
	b.WriteString("Only the person outside can change this; request_grant asks for it.\n")
	return b.String(), nil
}

// toldInside is a finding without what only the host knows.
func toldInside(f why.Finding) string {
	switch f.By {
	case why.WallView, why.WallNothing, why.WallPermission, why.WallEnvironment, why.WallPrivate:
		if f.Verdict == why.Allowed || f.Verdict == why.Private {
			return string(f.Verdict)
		}
		return "not part of this sandbox"
	}
	text := string(f.Verdict) + ", by " + f.By
	if f.Rule != "" {
		text += fmt.Sprintf(" (%s)", f.Rule)
	}
	return text
}

// request records what the agent wishes, and tells a person.
func (s *Session) request(args map[string]string) (string, error) {
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
	if err := s.mcp.wish.add(wish); err != nil {
		return "", err
	}
	s.mcp.live.Record(journal.Record{Kind: journal.Broker, Event: journal.Use, Via: "mcp", Name: wish.Kind + " " + wish.What, Verdict: journal.Wait, Reason: fmt.Sprintf("the agent asks for it: %q", wish.Reason)})
	s.mcp.live.Say(fmt.Sprintf("the agent asks for %s %q: see ringfence requests", wish.Kind, wish.What))
	return "A person will see it. Nothing has changed: go on without it.", nil
}
