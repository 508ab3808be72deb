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
	Plain    bool `json:"plain_env"`    // the environment has nothing of the user's, unless a flag names it
	Wide     bool `json:"wide"`         // it may set a wider mode than the user's own

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
	case "environment: built-in":
		p.Plain = true
	case "mode: wide":
		p.Wide = true
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

// WantsHighest reports whether a posture wants the highest rung that can be had. A flag
// that names a rung outranks the posture that was chosen, and none that was demanded.
func (p *Policy) WantsHighest(flag bool) bool {
	all := p.postures()
	if flag {
		all = all[1:]
	}
	return slices.ContainsFunc(all, func(w *Posture) bool { return w.Highest })
}

// PlainEnv reports whether nothing of the user's own is in the environment.
func (p *Policy) PlainEnv() bool {
	return slices.ContainsFunc(p.postures(), func(w *Posture) bool { return w.Plain })
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
	out := Merge(p, which.set)
	if !which.Wide && width(p.Network.Mode) < width(out.Network.Mode) {
		out.Network.Mode = p.Network.Mode
	}
	return s.bounded(out, which)
}

// bounded leaves of a policy what a posture does. Models stay reachable by the user's own
// secrets: without them a session would go past a company's gateway, or have no model.
func (s scope) bounded(p *Policy, which *Posture) *Policy {
	models := List{}
	for _, secret := range p.SecretsOn() {
		if slices.Contains([]string{"anthropic", "openai", "gemini"}, secret.Kind()) {
			models = append(models, Rule{Value: secret.Name, Source: secret.Source})
		}
	}
	out := s.tighten(p, which.bound)
	if which.bound.Broker.Secrets != nil {
		out.Broker.Secrets = models
	}
	if which.set.Rung.Network != nil {
		out.Rung.Network = which.set.Rung.Network
	}
	if which.Plain {
		out.Env = Builtin().clone().Env
	}
	if which.Alone {
		out.withoutServers(which)
	}
	return out
}

// under bounds a policy by a posture that somebody else chose: it takes away and gives
// nothing.
func (s scope) under(p *Policy, which *Posture) *Policy {
	return s.bounded(s.tighten(p, which.set), which)
}

// source is where the rules of a posture stand.
func (p *Posture) source() Source { return Source{File: "posture " + p.Name} }

// withoutServers switches the MCP servers off, but for ringfence's own.
func (p *Policy) withoutServers(by *Posture) {
	if p.UnnamedServers() != UnnamedNone {
		p.Unnamed = &Rule{Value: UnnamedNone, Source: by.source()}
	}
	p.MCP = slices.Clone(p.MCP)
	for i := range p.MCP {
		if s := &p.MCP[i]; s.Name != OwnServer && !s.IsOff() {
			s.Off = &Flag{true, by.source()}
		}
	}
}

// withServers switches those on again that a flag names, where the posture that was chosen
// switched them off and nobody else.
func (p *Policy) withServers(flags *Policy) {
	if flags == nil {
		return
	}
	p.MCP = slices.Clone(p.MCP)
	for _, f := range flags.MCP {
		if s := p.FindServer(f.Name); s != nil && s.IsOff() && s.Off.Source == p.Posture().source() {
			s.Off = nil
		}
	}
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
