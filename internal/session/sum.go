package session

import (
	"cmp"
	"maps"
	"slices"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/git/repo"
	"ringfence.dev/ringfence/internal/network/gate"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// Contribution is what one part adds to a session.
type Contribution struct {
	mounts []plan.Mount
	masks  []plan.Mask
	files  []plan.File
	links  []plan.Link
	trees  []tree // which of the mounts may be changed

	// others are files of other parts, as they are to be shown.
	others []plan.File

	env     []policy.Setting
	path    string // PATH inside
	command command
	args    []string // lead the agent to the broker and to its servers

	// overlays are keys of the agent's settings files, by path; managed is added to the
	// end of such a file.
	overlays map[string]map[string]any
	managed  map[string][]byte
	state    []stateItem

	pinned    []string // paths that rules of the user name
	grantDirs []string // directories that grants of the user show
	clone     string   // the repository that the session works in a clone of
	origins   []origin // where credentials lie on the host

	git       *repo.Curated // the settings of git inside …
	rewrites  []string      // … what leads remotes to the broker …
	gitConfig string        // … and what is added at their end

	brokered brokered
	offered  offered
	upstream *gate.Upstream
	capture  *plan.Capture
	lure     *lure

	remember []func() error // written with the project's state

	keys     []string // what the broker uses, and by whose word: for people
	warnings []string // what the user should know in any case
	notices  []string // what the user should know before the agent starts
	dropped  []string // PATH entries that stay outside, with the reason
}

// command is what is to be run.
type command struct {
	program []string // with what its profile gives it; none: rest is the command
	rest    []string
}

func (c command) argv(args []string) []string {
	if c.program == nil {
		return c.rest
	}
	return slices.Concat(c.program, args, c.rest)
}

// A part is one thing that a session has. It reads the base and no other part, so that
// it does not matter which is prepared first.
type part struct {
	name    string
	prepare func(Base) (Contribution, error)
}

// parts are all that a session is made of.
func parts() []part {
	return []part{
		{"models", prepareModels}, {"mcp", prepareServers}, {"hosts", prepareHosts}, {"program", prepareProgram}, {"network", prepareNetwork},
		{"toolchains", prepareToolchains}, {"git", prepareGit}, {"grants", prepareGrants}, {"hooks", prepareHooks}, {"supply", prepareSupply}, {"decoys", prepareDecoys},
	}
}

func partOf(name string) part {
	all := parts()
	return all[slices.IndexFunc(all, func(p part) bool { return p.name == name })]
}

// A look is what depends on the sum of the parts: what is hidden, on all that is shown.
// Each sees what the looks before it added, and nothing else passes between them.
type look struct {
	name    string
	prepare func(*Session, Contribution) (Contribution, error)
}

func looks() []look {
	return []look{
		{"broker", lookBroker}, {"foreign", lookForeign}, {"sources", lookSources}, {"masks", lookMasks}, {"pretrust", lookTrust},
		{"settings", lookSettings}, {"note", (*Session).tellAgent}, {"environment", lookEnvironment}, {"state", lookState}, {"laid", lookDecoys},
	}
}

// rank is in which order the sum has what the parts and the looks add: that in which
// people read it, and in which the last of two variables of one name counts.
var rank = []string{"models", "mcp", "hosts", "program", "network", "toolchains", "git", "broker", "grants", "foreign", "sources", "masks", "pretrust",
	"settings", "note", "hooks", "supply", "decoys", "environment", "state", "laid"}

// sum is what was added, by the name of the part or the look.
type sum map[string]Contribution

// prepareParts asks parts what they add.
func prepareParts(b Base, parts []part) (sum, error) {
	all := sum{"": b.said}
	for _, p := range parts {
		c, err := p.prepare(b)
		if err != nil {
			return nil, err
		}
		all[p.name] = c
	}
	return all, nil
}

// total is the sum.
func (s sum) total() Contribution {
	out := Contribution{}
	out.add(s[""])
	for _, name := range rank {
		out.add(s[name])
	}
	out.settle()
	return out
}

func (c *Contribution) add(o Contribution) {
	c.trees = append(c.trees, o.trees...)
	c.mounts, c.masks, c.links = append(c.mounts, o.mounts...), append(c.masks, o.masks...), append(c.links, o.links...)
	if o.git != nil {
		c.git = o.git
		c.put(gitConfigPath, nil, "curated git config") // settle writes it
	}
	c.files, c.others = append(c.files, o.files...), append(c.others, o.others...)
	c.rewrites, c.gitConfig = append(c.rewrites, o.rewrites...), c.gitConfig+o.gitConfig
	c.env, c.args, c.state = append(c.env, o.env...), append(c.args, o.args...), append(c.state, o.state...)
	for path, set := range o.overlays {
		c.overlay(path, set)
	}
	for path, end := range o.managed {
		c.manage(path, end)
	}
	c.pinned, c.grantDirs, c.origins = append(c.pinned, o.pinned...), append(c.grantDirs, o.grantDirs...), append(c.origins, o.origins...)
	c.brokered.add(o.brokered)
	c.remember = append(c.remember, o.remember...)
	c.keys, c.dropped = append(c.keys, o.keys...), append(c.dropped, o.dropped...)
	c.warnings, c.notices = append(c.warnings, o.warnings...), append(c.notices, o.notices...)
	c.addOnes(o)
}

// addOnes takes over what only one part has.
func (c *Contribution) addOnes(o Contribution) {
	c.path, c.clone = cmp.Or(c.path, o.path), cmp.Or(c.clone, o.clone)
	c.upstream, c.capture, c.lure = cmp.Or(c.upstream, o.upstream), cmp.Or(c.capture, o.capture), cmp.Or(c.lure, o.lure)
	if o.command.rest != nil || o.command.program != nil {
		c.command = o.command
	}
	if o.offered.agent != "" {
		c.offered = o.offered
	}
}

// settle joins what several parts say about one thing.
func (c *Contribution) settle() {
	if c.git != nil {
		conf := *c.git
		conf.Rewrites = c.rewrites
		c.others = append([]plan.File{{Dst: gitConfigPath, Data: []byte(repo.CuratedConfig(conf) + c.gitConfig)}}, c.others...)
	}
	for _, o := range c.others {
		for i := range c.files {
			if c.files[i].Dst == o.Dst {
				c.files[i].Data = o.Data
			}
		}
	}
	c.brokered.close()
}

// shownLinks leaves out a link where a mount or another link shows already what is there.
func (c *Contribution) shownLinks() (out []plan.Link) {
	for _, l := range c.links {
		if !slices.ContainsFunc(c.mounts, func(m plan.Mount) bool { return file.Within(l.At, m.Dst) }) &&
			!slices.ContainsFunc(out, func(o plan.Link) bool { return file.Within(l.At, o.At) }) {
			out = append(out, l)
		}
	}
	return out
}

// view is what a session shows. It is asked while the session runs.
type view struct {
	mounts []plan.Mount
	masks  []plan.Mask
}

// hides holds for what is hidden altogether.
func (v *view) hides(p string) bool { return hidden(v.masks, p) }

func hidden(masks []plan.Mask, p string) bool {
	return slices.ContainsFunc(masks, func(m plan.Mask) bool { return file.Within(p, m.Path) })
}

func (c *Contribution) notice(s string) { c.notices = append(c.notices, s) }
func (c *Contribution) warn(s string)   { c.warnings = append(c.warnings, s) }

// set sets variables.
func (c *Contribution) set(source, name, value string) {
	c.env = append(c.env, policy.Setting{Name: name, Value: value, Source: policy.Source{File: source}})
}

// put puts a generated file at p, read-only.
func (c *Contribution) put(p string, data []byte, why string) {
	c.files = append(c.files, plan.File{Dst: p, Data: data, Why: why})
}

// overlay remembers what a settings file of the agent's says inside.
func (c *Contribution) overlay(path string, set map[string]any) {
	if len(set) == 0 {
		return
	}
	if c.overlays == nil {
		c.overlays = map[string]map[string]any{}
	}
	if c.overlays[path] == nil {
		c.overlays[path] = map[string]any{}
	}
	maps.Copy(c.overlays[path], set)
}

// manage adds to the end of a file that the agent reads as its organisation's.
func (c *Contribution) manage(path string, end []byte) {
	if c.managed == nil {
		c.managed = map[string][]byte{}
	}
	c.managed[path] = append(c.managed[path], end...)
}

// addTree mounts a directory that may be changed, in the view that policy says.
func (c *Contribution) addTree(m plan.Mount, prefix string) {
	m.Write = true
	c.trees = append(c.trees, tree{path: m.Dst, prefix: prefix})
	c.mounts = append(c.mounts, m)
}

// hides holds for what is hidden altogether.
func (c *Contribution) hides(p string) bool {
	return hidden(c.masks, p)
}
