package session

import (
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/explain/learn"
	"ringfence.dev/ringfence/internal/network/gate"
	"ringfence.dev/ringfence/internal/policy/environ"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/launch"
)

// pupil collects what a session to learn from wants.
type pupil struct {
	names *learn.Names
	gate  *gate.Gate // nil: the network is closed
}

// learn begins the collection, once it is known what the view shows.
func beginLesson(s *Session) {
	if !s.Asked.Learn {
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
	s.lesson = &pupil{names: learn.Collect(s.User.Home, shown, private, s.Paths())}
}

// Names are what was named inside; nil where nothing is learnt.
func (s *Session) Names() *learn.Names {
	if s.lesson == nil {
		return nil
	}
	return s.lesson.names
}

// LearnAt says which gate the session has.
func (s *Session) LearnAt(g *gate.Gate) {
	if s.lesson != nil {
		s.lesson.gate = g
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
	for _, l := range p.gate.Tally(MaxLines) {
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
		Own: []string{s.Dirs.State, s.Dirs.Config, filepath.Dir(launch.Ceiling)}}
	for _, ws := range s.Workspaces {
		in.Trees = append(in.Trees, ws.Path)
	}
	in.Env = s.Asked.Environ
	for _, e := range in.Env {
		if list, ok := strings.CutPrefix(e, "PATH="); ok {
			in.PATH = filepath.SplitList(list)
		}
	}
	return in
}

// Book is where what the sessions of this project saw is kept.
func (s *Session) Book() *learn.Book { return learn.Open(s.Dirs.State, s.ProjectRoot()) }

// LookNetwork is Look, and what of the network the agent would reach.
func LookNetwork(opt launch.Options) (*Session, error) {
	s, err := Look(opt)
	if err != nil {
		return nil, err
	}
	s.Reach, err = s.Policy.Reach(nil)
	return s, err
}

// ProjectDir is the root of the project, where its own policy lies.
func (s *Session) ProjectDir() string { return strings.TrimSuffix(s.Workspaces[0].Path, "/") }

// MaxLines bounds what a result tells of the network.
const MaxLines = 200
