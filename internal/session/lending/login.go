package lending

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/credentials/login"
	"ringfence.dev/ringfence/internal/credentials/modelapi"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/session/launch"
)

// loginOf finds the login that the host has for a model. Where it leads to another
// place than a key would, that is the upstream.
func (ms *models) loginOf(m agent.Model, f *found) (bool, error) {
	who := login.Agent(m.Login)
	if m.Login == "" {
		return false, nil
	}
	via := &late{secret: m.Login + " login"}
	conf := login.Config{Agent: who, Path: login.Path(who, ms.Getenv, ms.User.Home), State: filepath.Join(ms.Dirs.State, "login"), Transport: via, Warn: via.warn, Unseen: unseen(ms.Base)}
	if who == login.Opencode {
		conf.Provider = m.API
	}
	l, err := login.Open(conf)
	if err != nil {
		return false, err
	}
	t, ok, err := l.Peek(context.Background())
	if err != nil {
		ms.Warn(fmt.Sprintf("the login of %s cannot be read: %v", ms.Profile.Title, err))
	}
	if !ok || t.Value() == "" {
		return false, nil
	}
	src := &hostLogin{login: l, name: m.Login + " login", again: m.Hint}
	f.source, f.name = src, src.name
	if err := ms.onlyVendor(m, f); err != nil {
		return false, err
	}
	if t.Kind == login.APIKey {
		src.kind = modelapi.Key
		return true, nil
	}
	f.facts = map[string]string{"subscriptionType": t.Plan, "rateLimitTier": t.Tier, "scopes": strings.Join(t.Scopes, " ")}
	src.kind = modelapi.OAuth
	if up := loginUpstream[m.API]; up != "" && !f.trusted {
		if f.upstream, err = url.Parse(up); err != nil {
			return false, err
		}
	}
	if modelapi.API(m.API) == modelapi.OpenAI {
		src.kind = modelapi.ChatGPT
	}
	ms.renewal(l.Server(), via)
	return true, nil
}

// loginUpstream is where logins lead that lead elsewhere than keys.
var loginUpstream = map[string]string{
	"openai": "https://chatgpt.com/backend-api/codex",
	"gemini": "https://cloudcode-pa.googleapis.com",
}

// renewal lets the broker reach the server that renews a login. The agent has no
// business there.
func (ms *models) renewal(server string, via *late) {
	if n, err := address.ParseName(server); err == nil {
		ms.Brokered.OwnModel(n, "the host renews the login, the agent has nothing to do there")
	}
	ms.Brokered.Ready = append(ms.Brokered.Ready, via.set)
}

// late is a transport that is there once the gate is.
type late struct {
	secret string // its name, for the journal

	mu   sync.Mutex
	gate launch.Gateway
	rt   http.RoundTripper
}

func (l *late) set(g launch.Gateway) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gate, l.rt = g, broker.Noted(broker.Transport(g.Reach, g.Roots(), g.Record), func(r *http.Request, _ string) error {
		return g.Record(journal.Record{Kind: journal.Broker, Event: journal.Use, Via: "login", Name: r.URL.Hostname(), Method: r.Method, Secret: l.secret,
			Verdict: journal.Allow, Reason: "to renew it"})
	})
}

// warn records what went wrong with a renewal without ending it.
func (l *late) warn(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gate != nil {
		l.gate.Record(journal.Record{Kind: journal.Broker, Event: journal.Use, Via: "login", Verdict: journal.Deny, Reason: err.Error()})
	}
}

// RoundTrip implements http.RoundTripper.
func (l *late) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	rt := l.rt
	l.mu.Unlock()
	if rt == nil {
		return nil, errors.New("the gate is closed")
	}
	return rt.RoundTrip(r)
}

// hostLogin is a login of the host, renewed by whoever of all sessions comes first.
type hostLogin struct {
	login *login.Login
	name  string
	kind  modelapi.Kind
	again string // what to run when it cannot be used

	mu   sync.Mutex
	last login.Token
}

// renewing is how long a request waits for a server that is away.
const renewing = 3 * time.Minute

// Get implements broker.Source.
func (h *hostLogin) Get(ctx context.Context) (broker.Credential, error) {
	ctx, cancel := context.WithTimeout(ctx, renewing)
	defer cancel()
	t, err := h.login.Token(ctx)
	if err != nil {
		return broker.Credential{}, &broker.Missing{Reason: fmt.Sprintf("%s: %v; %s", h.name, err, h.again)}
	}
	h.mu.Lock()
	h.last = t
	h.mu.Unlock()
	return broker.Credential{Secret: h.name, Value: t.Value(), Kind: string(h.kind), Account: t.Account}, nil
}

// Stale implements broker.Source.
func (h *hostLogin) Stale(c broker.Credential) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last.Value() == c.Value {
		h.login.Stale(h.last)
	}
}
