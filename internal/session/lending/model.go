package lending

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/credentials/modelapi"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/injection"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/session/launch"
)

// models leads the agent to the models it lives on.
type models struct {
	launch.Base
	launch.Contribution
	kept keptSecrets
}

// Models leads the agent to them. Where the host has no credential the agent is
// led all the same, and told what the user has to do.
func Models(b launch.Base) (launch.Contribution, error) {
	ms := &models{Base: b, kept: keptSecrets{}}
	if ms.NoNetwork() {
		return ms.Contribution, nil
	}
	var missing []string
	for _, m := range ms.Profile.Models {
		why, err := ms.model(m)
		if err != nil {
			return ms.Contribution, err
		}
		if why != "" {
			missing = append(missing, why)
		}
	}
	if n := len(missing); n > 0 && n == len(ms.Profile.Models) {
		ms.Warn(missing[0])
	}
	return ms.Contribution, nil
}

// model leads the agent to one of them. missing says what the user has to do.
func (ms *models) model(m agent.Model) (missing string, err error) {
	c, err := ms.credentialOf(m)
	if err != nil {
		return "", err
	}
	prefix, length := shapeOf(m.API, c.facts != nil)
	phantom := broker.NewPhantom(prefix, length)
	at := broker.Endpoint + "/" + m.API
	for _, s := range m.Settings(at, string(phantom), c.facts) {
		ms.Set("broker", s.Name, s.Value)
	}
	ms.Args = append(ms.Args, m.Arguments(at, string(phantom))...)
	if c.missing == "" && m.SettingsFile != "" {
		ms.Overlay(agent.Expand(m.SettingsFile, ms.User.Home), m.Overlay(at, string(phantom), c.facts))
	}
	extra, err := extraHeaders(ms.Getenv(m.Headers))
	if err != nil {
		return "", fault.New(fault.Usage, "", "%s: %w", m.Headers, err)
	}
	if c.missing == "" {
		ms.Keys = append(ms.Keys, m.API+" by "+c.name)
	}
	ms.Brokered.OwnModel(m.Host(), "ringfence speaks to it for the agent, at "+at)
	if n, err := address.ParseName(c.upstream.Hostname()); err == nil && n != m.Host() {
		ms.Brokered.OwnModel(n, "ringfence speaks to it for the agent, at "+at)
		ms.Brokered.Hosts[len(ms.Brokered.Hosts)-1].Ruled = c.trusted
	}
	ms.Brokered.Sites = append(ms.Brokered.Sites, func(g launch.Gateway, _ *broker.Broker) (broker.Site, error) {
		reach := broker.Reach(g.Reach)
		if c.trusted {
			if reach = Direct(ms.Base, g, true); isPublished(ms.Base, c.upstream) {
				return broker.Site{}, fault.New(fault.Refused, "publish another port", "%s requests are to go to %s, which is published from inside: the agent would get the credential", m.API, c.upstream.Host)
			}
			if denied(g, c.upstream) {
				return broker.Site{}, fault.New(fault.Refused, "", "policy denies %s, where %s requests are to go", c.upstream.Host, m.API)
			}
		}
		site := broker.Model{API: modelapi.API(m.API), Name: c.name, Upstream: c.upstream, Trim: m.Trim, Extra: extra, Phantom: phantom,
			Source: c.source, Allow: func() modelapi.Allow { return modelAllow(ms.Base.Law, g.Mode()) }, Transport: broker.Transport(reach, g.Roots(), g.Record), Record: g.Record,
			Suspect: func(r injection.Report) { g.Suspect(c.upstream.Hostname(), r) }}
		return broker.Site{Prefix: "/" + m.API, Handler: site.Handler(), Model: true}, nil
	})
	return c.missing, nil
}

// loopback holds for an upstream on this machine, by a name or a number that means
// nothing else.
func loopback(u *url.URL) bool {
	a, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && a.IsLoopback()
}

// published holds for an upstream that is a port of the session's own, as far as its name
// tells: who listens there is the agent.
func isPublished(b launch.Base, u *url.URL) bool {
	port, err := address.ParsePort(u.Port())
	return err == nil && loopback(u) && publishes(b, port)
}

func publishes(b launch.Base, port uint16) bool {
	return slices.ContainsFunc(b.Reach.Publish, func(p policy.Port) bool { return p.Host == port })
}

// Direct is the way to an upstream that the user named, wherever it is, but for a port that
// a session publishes, this one or another: a gateway that is down may have left its place
// to an agent. Loopback has many names: what counts is where the connection went. What is
// not internal goes by the upstream proxy, if there is one. locked says whether the way stays
// open where a running session is moved to that mode.
func Direct(b launch.Base, g launch.Gateway, locked bool) broker.Reach {
	return func(ctx context.Context, t address.Target) (net.Conn, error) {
		if _, err := g.Direct(nil, t, locked); err != nil {
			return nil, err
		}
		if c, asked, err := g.ByProxy(ctx, t); asked {
			if err != nil {
				return nil, err
			}
			return g.Direct(c, t, locked)
		}
		c, err := broker.Direct(ctx, t)
		if err != nil {
			return nil, err
		}
		if at, ok := c.RemoteAddr().(*net.TCPAddr); ok && g.DeniesAddress(at.AddrPort().Addr(), t.Port) {
			c.Close() // before anything is said
			return nil, &address.Unreached{Reason: "a rule denies the address"}
		} else if !ok || at.IP.IsLoopback() && (publishes(b, t.Port) || isMarked(t.Port)) {
			c.Close()
			return nil, &address.Unreached{Reason: broker.OwnPort}
		}
		return g.Direct(c, t, locked)
	}
}

// denied holds for an upstream that a rule of policy denies.
func denied(g launch.Gateway, u *url.URL) bool {
	port := uint16(443)
	if u.Scheme == "http" {
		port = 80
	}
	if p, err := address.ParsePort(u.Port()); err == nil {
		port = p
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil {
		return g.DeniesAddress(a, port)
	}
	n, err := address.ParseName(u.Hostname())
	return err == nil && g.Denies(address.Target{Name: n, Port: port})
}

// found is the credential for a model, and where it goes.
type found struct {
	source   broker.Source
	name     string            // for the journal
	facts    map[string]string // what a login says; nil: it is a key
	upstream *url.URL
	trusted  bool   // the user named the upstream
	missing  string // there is none: what the user has to do
}

// upstreamOf is where the requests go: to the host that a secret is for, else where the
// launcher's variable says, else to the vendor.
func (ms *models) upstreamOf(m agent.Model) (u *url.URL, trusted bool, err error) {
	if s := secretFor(ms.Base.Law, m.API); s != nil && len(s.Hosts) > 0 {
		v := s.Hosts[0].Value
		if !strings.Contains(v, "://") {
			v = "https://" + v
		}
		u, err := parseUpstream(v)
		return u, true, err
	}
	if name, v := ms.baseOf(m); v != "" {
		u, err := parseUpstream(v)
		if err != nil {
			return nil, false, fault.New(fault.Usage, "", "%s: %w", name, err)
		}
		return u, true, nil
	}
	u, err = url.Parse(m.Upstream)
	return u, false, err
}

// baseOf is the launcher's variable that names another upstream than the vendor's.
func (ms *models) baseOf(m agent.Model) (name, value string) {
	for _, name := range m.Base {
		if v := ms.Getenv(name); v != "" {
			return name, v
		}
	}
	return "", ""
}

// onlyVendor leads what was kept for the vendor to the vendor. A variable in the
// environment is no word about a credential that was stored without it: a file of a
// project may have set it. A gateway on the loopback of this machine is the person's own.
func (ms *models) onlyVendor(m agent.Model, f *found) error {
	vendor, err := url.Parse(m.Upstream)
	if err != nil || !f.trusted || loopback(f.upstream) || f.upstream.Scheme == vendor.Scheme && f.upstream.Host == vendor.Host {
		return err
	}
	name, _ := ms.baseOf(m)
	ms.Warn(fmt.Sprintf("%s names %s, and %s is for %s alone: it goes there and nowhere else; for the other host: ringfence secret set NAME --use %s --host %[2]s",
		name, f.upstream.Host, f.name, vendor.Host, m.API))
	f.upstream, f.trusted = vendor, false
	return nil
}

func parseUpstream(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errNoUpstream // never with the value: it may hold a password
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	return u, nil
}

// secretFor finds the user's own secret for a kind of credential.
func secretFor(l launch.Law, use string) *usable {
	for _, u := range secrets(l) {
		if u.Kind() == use {
			return &u
		}
	}
	return nil
}

// credentialOf finds the credential for a model: the user's own word first, then the
// launcher's environment, then the login of the host.
func (ms *models) credentialOf(m agent.Model) (found, error) {
	up, trusted, err := ms.upstreamOf(m)
	if err != nil {
		return found{}, err
	}
	f := found{name: m.API, upstream: up, trusted: trusted}
	if s := secretFor(ms.Base.Law, m.API); s != nil {
		f.source, f.name = ms.kept.one(ms.Base, &keptSecret{ref: refOf(s.Secret), kind: string(modelapi.Key)}), s.Name
		if s.off != "" {
			f.missing, f.source = s.off, absent{s.off}
		}
		if len(s.Hosts) == 0 {
			err = ms.onlyVendor(m, &f)
		}
		return f, err
	}
	for _, k := range m.Keys {
		if v := ms.Getenv(k.Env); v != "" {
			if name, base := ms.baseOf(m); base != "" && !ms.Filed(k.Env) {
				ms.Notice(fmt.Sprintf("%s of the launcher is where %s requests go; the agent is not told", name, m.API))
			}
			if k.As == string(modelapi.OAuth) {
				f.facts = map[string]string{}
			}
			f.source, f.name = variable{k.Env, v, k.As}, k.Env
			if ms.Filed(k.Env) {
				err = ms.onlyVendor(m, &f)
			}
			return f, err
		}
	}
	if ok, err := ms.loginOf(m, &f); ok || err != nil {
		return f, err
	}
	f.missing = fmt.Sprintf("%s has no credential for %s on this host: %s", ms.Profile.Title, m.API, m.Hint)
	f.source = absent{f.missing}
	return f, nil
}

// shapeOf is what the vendor's credentials look like.
func shapeOf(api string, login bool) (prefix string, length int) {
	switch {
	case api == "anthropic" && login:
		return "sk-ant-oat01-", 108
	case api == "anthropic":
		return "sk-ant-api03-", 108
	case api == "gemini":
		return "AIzaSy", 39
	}
	return "sk-proj-", 164
}

// extraHeaders reads fields in the form "Name: value", one a line.
func extraHeaders(text string) (http.Header, error) {
	h := http.Header{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		if !ok || name == "" || strings.ContainsAny(name, " \t\"(),/:;<=>?@[\\]{}") {
			return nil, fmt.Errorf("a line is not NAME: VALUE")
		}
		h.Add(name, strings.TrimSpace(value))
	}
	return h, nil
}

// modelAllow is what policy allows of a provider beyond answering, in a mode of the network.
func modelAllow(l launch.Law, mode string) modelapi.Allow {
	var a modelapi.Allow
	for _, f := range l.Policy.In(mode).ModelFeatures() {
		switch f {
		case "search":
			a.Search = true
		case "code":
			a.Code = true
		case "files":
			a.Files = true
		case "fetch":
			a.Fetch = true
		case "mcp":
			a.MCP = true
		}
	}
	return a
}
