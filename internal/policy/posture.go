package policy

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Posture is a bundle of policy for what somebody is about to do. It lies upon the user's
// own policy, and below what flags and the ceiling say.
type Posture struct {
	Name  string `json:"name"`
	For   string `json:"for"`   // one line: when to take it
	Level string `json:"level"` // of the ladder that it wants

	Highest  bool `json:"highest_rung"` // the highest rung that can be had, unless a flag names one
	Alone    bool `json:"no_servers"`   // no MCP server of the user's is there, unless a flag names it
	Distrust bool `json:"distrust"`     // what was trusted of the project counts as not trusted
	Silent   bool `json:"no_input"`     // nobody is asked anything

	Text string `json:"policy"` // as it is printed

	set   *Policy // what it sets, whatever the user's own policy says
	bound *Policy // what it leaves of it
}

// Project is which bundle a project gets. A nil field was not written.
type Project struct {
	For *Rule // the name of a posture; nil means the first

	// Demanded are those that the project's file and the ceiling name besides: they take
	// away and give nothing. Only Resolve fills it.
	Demanded List
}

//go:embed postures/*.toml
var postureFiles embed.FS

// postureNames are all of them, the usual one first, in the order in which people are told.
var postureNames = []string{"work", "research", "untrusted-repo", "untrusted-text", "autonomous", "ci", "paranoid"}

// PostureNames lists the postures; the first is that of who names none.
func PostureNames() []string { return postureNames }

// Postures are all of them.
var Postures = sync.OnceValue(func() (out []*Posture) {
	for _, name := range postureNames {
		text, err := postureFiles.ReadFile("postures/" + name + ".toml")
		if err != nil {
			panic(err) // a test reads them all
		}
		p, err := readPosture(name, string(text))
		if err != nil {
			panic(fmt.Sprintf("the posture %s: %v", name, err))
		}
		out = append(out, p)
	}
	return out
})

// PostureOf returns the posture of that name; the first where there is none.
func PostureOf(name string) *Posture {
	all := Postures()
	for _, p := range all {
		if p.Name == name {
			return p
		}
	}
	return all[0]
}

const postureSplit = "# ---\n"

// readPosture reads a file of postures: lines "# NAME: VALUE", a policy that is laid upon
// the user's, and behind a line of dashes one that bounds it.
func readPosture(name, text string) (*Posture, error) {
	p := &Posture{Name: name}
	rest := text
	for {
		line, after, _ := strings.Cut(rest, "\n")
		word, ok := strings.CutPrefix(line, "# ")
		if !ok || line+"\n" == postureSplit {
			break
		}
		if err := p.say(word); err != nil {
			return nil, err
		}
		rest = after
	}
	set, bound, _ := strings.Cut(rest, postureSplit)
	p.Text = strings.TrimSpace(set + "\n# Of your own policy there is no more left than:\n" + bound)
	if bound == "" {
		p.Text = strings.TrimSpace(set)
	}
	var err error
	if p.set, err = decode([]byte(set), "posture "+name); err != nil {
		return nil, err
	}
	p.bound, err = decode([]byte(bound), "posture "+name)
	return p, err
}

func (p *Posture) say(line string) error {
	key, value, _ := strings.Cut(line, ": ")
	switch key + ": " + value {
	case "rung: highest":
		p.Highest = true
	case "servers: none":
		p.Alone = true
	case "project: distrusted":
		p.Distrust = true
	case "input: none":
		p.Silent = true
	case "for: " + value:
		p.For = value
	case "level: " + value:
		p.Level = value
	default:
		return fmt.Errorf("%q is no word of a posture", line)
	}
	return nil
}

// Posture is the one that a policy names.
func (p *Policy) Posture() *Posture { return PostureOf(p.Project.For.Text()) }

// postures are all that hold: the one that was chosen, and those that were demanded.
func (p *Policy) postures() []*Posture {
	out := []*Posture{p.Posture()}
	for _, r := range p.Project.Demanded {
		out = append(out, PostureOf(r.Value))
	}
	return out
}

// Distrusts reports whether what was trusted of a project counts as not trusted.
func (p *Policy) Distrusts() bool {
	return slices.ContainsFunc(p.postures(), func(w *Posture) bool { return w.Distrust })
}

// WantsHighest reports whether a posture wants the highest rung that can be had.
func (p *Policy) WantsHighest() bool {
	return slices.ContainsFunc(p.postures(), func(w *Posture) bool { return w.Highest })
}

// Task names the postures for people.
func (p *Policy) Task() string {
	text := p.Posture().Name
	for _, r := range p.Project.Demanded {
		text += " and " + r.Value + " (" + r.Source.String() + ")"
	}
	return text
}

// upon lays a posture upon a policy.
func (s scope) upon(p *Policy, which *Posture) *Policy {
	out := s.tighten(Merge(p, which.set), which.bound)
	if which.Alone {
		out.withoutServers()
	}
	return out
}

// under bounds a policy by a posture that somebody else chose: it takes away and gives
// nothing.
func (s scope) under(p *Policy, which *Posture) *Policy {
	out := s.tighten(s.tighten(p, which.set), which.bound)
	if which.Alone {
		out.withoutServers()
	}
	return out
}

// withoutServers takes the MCP servers away; what is said of ringfence's own stays.
func (p *Policy) withoutServers() {
	var own []Server
	for _, s := range p.MCP {
		if s.Name == OwnServer {
			own = append(own, s)
		}
	}
	p.MCP = own
}

// For is what the flag --for says; nothing, if it is empty.
func For(name string) (*Policy, error) {
	p := &Policy{}
	if name == "" {
		return p, nil
	}
	k := findKey("project", "for")
	if err := k.admit(name); err != nil {
		return nil, err
	}
	p.Project.For = &Rule{Value: name, Source: Source{File: "flag --for"}}
	return p, nil
}
