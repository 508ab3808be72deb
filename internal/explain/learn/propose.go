package learn

import (
	"fmt"

	"ringfence.dev/ringfence/internal/policy"
)

// Situation is what a proposal is made for.
type Situation struct {
	Home   string
	Trees  []string       // the workspaces
	Own    []string       // ringfence's own directories
	PATH   []string       // where the host finds its programs
	Env    []string       // of the launcher: a value that may be a secret is not proposed
	Policy *policy.Policy // that holds without the proposal
	Reach  policy.Reach   // what of the network it gives
}

// Line is one value that a policy would have more.
type Line struct {
	Section string `json:"section"`
	Key     string `json:"key"`
	Value   string `json:"value"`
	Seen    int    `json:"sessions"` // in how many sessions it was wanted
	Lets    string `json:"lets_in"`  // what it would let in
}

// Comment stands behind the line in a file.
func (l Line) Comment() string {
	n := "1 session"
	if l.Seen != 1 {
		n = fmt.Sprintf("%d sessions", l.Seen)
	}
	return "seen in " + n + "; " + l.Lets
}

// Not is something that was wanted and is not proposed.
type Not struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Proposal is the smallest policy that gives what was seen, and what it leaves out.
type Proposal struct {
	Lines []Line `json:"lines"`
	Not   []Not  `json:"not_proposed"`
}

// maxLines bounds a proposal: what nobody would read nobody should confirm.
const maxLines = 100

// Propose makes a proposal of what was seen.
func Propose(s Seen, in Situation) Proposal {
	var p Proposal
	in.paths(s.Paths, &p)
	in.hosts(s.Hosts, &p)
	in.env(s.Env, &p)
	if len(p.Lines) > maxLines {
		for _, l := range p.Lines[maxLines:] {
			p.not(l.Value, "there is too much to be read at once; save this and learn again")
		}
		p.Lines = p.Lines[:maxLines]
	}
	return p
}

func (p *Proposal) not(what, why string) { p.Not = append(p.Not, Not{what, why}) }

// Policy is the layer that lines make.
func Policy(lines []Line) *policy.Policy {
	p := &policy.Policy{}
	for _, l := range lines {
		p.Add(l.Section, l.Key, policy.Rule{Value: l.Value, Source: policy.Source{File: "proposal"}})
	}
	return p
}
