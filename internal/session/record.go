package session

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/environ"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// book is the journal of a running session. Every session has one, with a network
// or without.
type book struct {
	*journal.Writer
	unwritten atomic.Int64 // records about what had happened already
	ended     bool

	settling  sync.WaitGroup
	unsettled error
}

// openBook begins the journal. A session that cannot be recorded does not start.
func (l *live) openBook() error {
	s := l.session
	l.book.Writer = journal.Create(JournalDir(s.dirs), s.ID)
	l.book.Tell = l.heard
	records, err := s.beginning()
	for _, r := range records {
		if err = errors.Join(err, l.book.Write(r)); err != nil {
			break
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("record the session: %w", err), l.book.Close())
	}
	return nil
}

// settleOthers ends the journals of sessions that were killed, while nobody waits for it.
func (l *live) settleOthers() {
	l.book.settling.Go(func() { _, l.book.unsettled = journal.Settle(JournalDir(l.session.dirs)) })
}

// heard takes every record that was written.
func (l *live) heard(r journal.Record) {
	if l.denials.add(r) {
		l.tellStatus()
	}
}

// Record writes down what has happened already, so that nothing can be refused for
// it. What is lost is told at the end.
func (l *live) Record(records ...journal.Record) {
	for _, r := range records {
		if l.book.Write(r) != nil {
			l.book.unwritten.Add(1)
		}
	}
}

// closeBook writes the end and signs it.
func (l *live) closeBook(res *Result) error {
	if l.book.ended || l.book.Writer == nil {
		return nil
	}
	l.book.ended = true
	l.book.settling.Wait()
	if l.book.unsettled != nil {
		l.talk.Warn(fmt.Sprintf("the record of a session that was killed: %v", l.book.unsettled))
	}
	if res != nil {
		l.Record(ending(res)...)
	} else {
		l.Record(journal.Record{Kind: journal.Session, Event: journal.Exit, State: "not started", Code: 125})
	}
	err := l.book.Close()
	if n := l.book.unwritten.Load(); n > 0 {
		err = errors.Join(fmt.Errorf("%d records could not be written", n), err)
	}
	return err
}

// beginning is what is known before anything runs. Of the command there is its name
// alone: arguments may hold secrets.
func (s *Session) beginning() ([]journal.Record, error) {
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
	begin := journal.Record{Name: s.Name, Agent: s.Profile.Name, Version: s.asked.Version, Mode: rungName, State: s.Mode(), Count: len(argv)}
	if len(argv) > 0 {
		begin.Command = string(argv[0])
	}
	out := of(journal.Begin, begin, []string{string(s.Plan.Process.Dir)})
	given := given(s.Policy)
	out = append(out, of(journal.Policy, journal.Record{Digest: pol}, sourcesOf(given))...)
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
	return out, nil
}

// walls is what holds, once the witness has seen it, and what does not.
func (s *Session) walls() []journal.Record {
	out := journal.Split(journal.Record{Kind: journal.Session, Event: journal.Walls, Mode: rungName}, wallNames(s.Plan.Walls))
	unraised := slices.DeleteFunc(plan.AllWalls(), func(w plan.Wall) bool { return slices.Contains(s.Plan.Walls, w) })
	if len(unraised) > 0 { // only where a test took one out
		out = append(out, journal.Split(journal.Record{Kind: journal.Session, Event: journal.Unheld, State: "not raised", Mode: rungName}, wallNames(unraised))...)
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

// builtIn is the source of what every session has.
const builtIn = "built-in"

// given is what policy gives beyond the built-in, in files and by flags.
func given(p *policy.Policy) []gift {
	var out []gift
	add := func(what string, rules policy.List) {
		for _, r := range rules {
			if r.Source.File == builtIn {
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
	var set policy.List
	for _, v := range p.Env.Set {
		set = append(set, policy.Rule{Value: v.Name, Source: v.Source})
	}
	add("set", set)
	return out
}

// ending is how the session went: what waits, what was hit, and its status.
func ending(res *Result) []journal.Record {
	var out []journal.Record
	if r := res.Review; r != nil {
		out = append(reviewed(r, r.Live(), journal.Record{Event: journal.Changed}),
			reviewed(r, r.Waiting(), journal.Record{Event: journal.Waits, Verdict: journal.Wait})...)
	}
	for _, limit := range []struct {
		name string
		hit  int64
	}{{"memory", res.OOM}, {"processes", res.Forks}} {
		if limit.hit > 0 {
			out = append(out, journal.Record{Kind: journal.Session, Event: journal.Limit, Name: limit.name, Count: int(limit.hit)})
		}
	}
	state := "exited"
	switch {
	case res.Exit.Killed:
		state = "killed"
	case res.Exit.Status.Signaled():
		state = "signalled"
	}
	return append(out, journal.Record{Kind: journal.Session, Event: journal.Exit, State: state, Code: res.Exit.Code()})
}

// reviewed lists paths of a review, by what the host would do with them.
func reviewed(r *review.Report, entries []review.Entry, like journal.Record) []journal.Record {
	var out []journal.Record
	like.Kind = journal.Work
	for _, rank := range []hostexec.Rank{hostexec.Unasked, hostexec.Asked, hostexec.Secret, hostexec.Source} {
		var list []string
		for _, e := range entries {
			if e.Rank == rank {
				list = append(list, filepath.Join(r.Work.Trees[e.Tree].Path, string(e.Path)))
			}
		}
		if len(list) > 0 {
			like.State = rank.String()
			out = append(out, journal.Split(like, list)...)
		}
	}
	return out
}
