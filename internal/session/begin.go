package session

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/environ"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/session/launch"
)

// Beginning is what is known before anything runs. Of the command there is its name
// alone: arguments may hold secrets.
func (s *Session) Beginning() ([]journal.Record, error) {
	pol, err := policyDigest(s.Policy)
	if err != nil {
		return nil, err
	}
	text, _, err := plan.Encode(s.Plan.Redacted())
	if err != nil {
		return nil, fmt.Errorf("digest of the plan: %w", err)
	}
	of := func(event string, r journal.Record, list []string) []journal.Record {
		r.Kind, r.Event = journal.Session, event
		return journal.Split(r, list)
	}
	argv := s.Plan.Process.Argv
	begin := journal.Record{Name: s.Name, Agent: s.Profile.Name, Version: s.Asked.Version, Mode: rung.Title(s.Rung), State: s.Mode(), Count: len(argv)}
	if len(argv) > 0 {
		begin.Command = string(argv[0])
	}
	out := of(journal.Begin, begin, []string{string(s.Plan.Process.Dir)})
	given := given(s.Policy)
	out = append(out, of(journal.Policy, journal.Record{Digest: pol, Name: s.Policy.Task()}, sourcesOf(given))...)
	out = append(out, of(journal.Planned, journal.Record{Digest: digest(text)}, nil)...)
	for _, ws := range s.Workspaces {
		out = append(out, of(journal.Granted, journal.Record{State: "workspace", Mode: s.View(ws)}, []string{ws.Path})...)
	}
	for _, k := range []environ.Kind{environ.Passed, environ.Set, environ.Added} {
		if names := envNames(s.Env.Of(k)); len(names) > 0 {
			out = append(out, of(journal.Env, journal.Record{State: string(k)}, names)...)
		}
	}
	for _, g := range given {
		out = append(out, of(journal.Granted, journal.Record{State: g.what, Source: g.source}, g.list)...)
	}
	return append(out, s.SharedIn()...), nil
}

// Walls is what holds, once the witness has seen it, and what does not.
func (s *Session) Walls() []journal.Record {
	out := journal.Split(journal.Record{Kind: journal.Session, Event: journal.Walls, Mode: rung.Title(s.Rung)}, wallNames(s.Plan.Walls))
	unraised := slices.DeleteFunc(plan.AllWalls(), func(w plan.Wall) bool { return slices.Contains(s.Plan.Walls, w) })
	if len(unraised) > 0 { // only where a test took one out
		out = append(out, journal.Split(journal.Record{Kind: journal.Session, Event: journal.Unheld, State: "not raised", Mode: rung.Title(s.Rung)}, wallNames(unraised))...)
	}
	return out
}

func wallNames(walls []plan.Wall) []string {
	var out []string
	for _, w := range walls {
		out = append(out, string(w))
	}
	return out
}

func envNames(entries []environ.Entry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.Name)
	}
	return out
}

// policyDigest is of the effective policy as policy.Write prints it, sources and all.
func policyDigest(p *policy.Policy) (string, error) {
	var b bytes.Buffer
	if err := policy.Write(&b, p); err != nil {
		return "", fmt.Errorf("digest of the policy: %w", err)
	}
	return digest(b.Bytes()), nil
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// gift is what one source gave of one kind.
type gift struct {
	what, source string
	list         []string
}

func sourcesOf(given []gift) []string {
	var out []string
	for _, g := range given {
		if !slices.Contains(out, g.source) {
			out = append(out, g.source)
		}
	}
	return out
}

// given is what policy gives beyond the built-in, in files and by flags.
func given(p *policy.Policy) []gift {
	var out []gift
	add := func(what string, rules policy.List) {
		for _, r := range rules {
			if r.Source.File == launch.BuiltIn {
				continue
			}
			i := slices.IndexFunc(out, func(g gift) bool { return g.what == what && g.source == r.Source.File })
			if i < 0 {
				i = len(out)
				out = append(out, gift{what: what, source: r.Source.File})
			}
			out[i].list = append(out[i].list, r.Value)
		}
	}
	add("read", p.Files.Read)
	add("write", p.Files.Write)
	add("expose", p.Files.Expose)
	add("reveal", p.Workspace.Reveal)
	add("pass", p.Env.Pass)
	add("force", p.Env.Force)
	add("group", p.Network.Groups)
	add("allow", p.Network.Allow)
	add("ip", p.Network.IP)
	add("publish", p.Network.Publish)
	add("host-port", p.Network.HostPorts)
	if p.Network.Mode != nil {
		add("net", policy.List{*p.Network.Mode})
	}
	if p.Agent.History != nil {
		add("history", policy.List{*p.Agent.History})
	}
	if p.Rung.Network != nil {
		add("gvisor-network", policy.List{*p.Rung.Network})
	}
	var set policy.List
	for _, v := range p.Env.Set {
		set = append(set, policy.Rule{Value: v.Name, Source: v.Source})
	}
	add("set", set)
	return out
}
