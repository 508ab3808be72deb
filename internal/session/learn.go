package session

import (
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/explain/learn"
	"ringfence.dev/ringfence/internal/network/gate"
	"ringfence.dev/ringfence/internal/policy/environ"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/workspace/keeper"
)

// pupil collects what a session to learn from wants.
type pupil struct {
	names *learn.Names
	gate  *gate.Gate // nil: the network is closed
}

// learn begins the collection, once it is known what the view shows.
func (s *Session) learn() {
	if !s.asked.Learn {
		return
	}
	var shown, private []string
	for _, o := range s.Plan.Ops {
		switch {
		case o.Do == plan.DoSymlink, (o.Do == plan.DoBind || o.Do == plan.DoLayer) && o.Src == o.Dst:
			shown = append(shown, string(o.Dst))
		case o.Do == plan.DoBind:
			private = append(private, string(o.Dst))
		}
	}
	s.lesson = &pupil{names: learn.Collect(s.User.Home, shown, private, s.paths())}
}

// learnHosts lets unknown public hosts be reached where that is the mode's only no.
// What somebody locked stays locked, and nobody goes above the ceiling.
func (b *Base) learnHosts() {
	over := b.ceiling != nil && b.ceiling.Network.Mode != nil && b.ceiling.Network.Mode.Value != "internet"
	b.Reach.Learn = b.asked.Learn && b.Reach.Mode == "dev" && !over
}

// asked is what the keeper tells; nil where nothing is learnt.
func (p *pupil) asked() func(keeper.Ask) {
	if p == nil {
		return nil
	}
	return func(a keeper.Ask) { p.names.Asked(learn.Ask(a)) }
}

// at tells which gate the session has.
func (p *pupil) at(g *gate.Gate) {
	if p != nil {
		p.gate = g
	}
}

// hosts are those that were wanted and that no rule allows.
func (p *pupil) hosts() (out []learn.Host) {
	if p.gate == nil {
		return nil
	}
	known := map[string]bool{}
	for _, h := range p.gate.Learned() {
		known[string(h.Name)] = true
		out = append(out, learn.Host{Name: string(h.Name), Port: h.Port, Refused: h.Refused})
	}
	for _, h := range p.gate.Pending() {
		if !known[string(h.Name)] {
			out = append(out, learn.Host{Name: string(h.Name), Port: h.Port})
		}
		known[string(h.Name)] = true
	}
	for _, l := range p.gate.Tally(maxLines) {
		if n, err := address.ParseName(l.Host); err == nil && l.Denied > 0 && !l.Others && !known[string(n)] {
			out = append(out, learn.Host{Name: string(n), Refused: l.Reason})
		}
	}
	return out
}

// Lesson is what a session to learn from saw. It is asked for when the session has
// ended.
func (s *Session) Lesson() learn.Seen {
	if s.lesson == nil {
		return learn.Seen{}
	}
	var names []string
	for _, e := range s.Env.Of(environ.Dropped) {
		if e.Source.File == "launcher" {
			names = append(names, e.Name)
		}
	}
	out := s.lesson.names.Look(names)
	out.Hosts = s.lesson.hosts()
	return out
}

// Situation is what a proposal is made for.
func (s *Session) Situation() learn.Situation {
	in := learn.Situation{Home: s.User.Home, Policy: s.Policy, Reach: s.Reach,
		Own: []string{s.dirs.State, s.dirs.Config, filepath.Dir(Ceiling)}}
	for _, ws := range s.Workspaces {
		in.Trees = append(in.Trees, ws.Path)
	}
	in.Env = s.asked.Environ
	for _, e := range in.Env {
		if list, ok := strings.CutPrefix(e, "PATH="); ok {
			in.PATH = filepath.SplitList(list)
		}
	}
	return in
}

// Book is where what the sessions of this project saw is kept.
func (s *Session) Book() *learn.Book { return learn.Open(s.dirs.State, s.projectRoot()) }

// LookNetwork is Look, and what of the network the agent would reach.
func LookNetwork(opt Options) (*Session, error) {
	s, err := Look(opt)
	if err != nil {
		return nil, err
	}
	s.Reach, err = s.Policy.Reach(nil)
	return s, err
}

// ProjectDir is the root of the project, where its own policy lies.
func (s *Session) ProjectDir() string { return strings.TrimSuffix(s.Workspaces[0].Path, "/") }
