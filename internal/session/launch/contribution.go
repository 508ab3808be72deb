package launch

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/git/repo"
	"ringfence.dev/ringfence/internal/network/upstream"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/registry/ready"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// Origin is a place on the host where a credential is kept.
type Origin struct {
	Path string
	What string
	Ours bool // ringfence reads it, and it may be replaced at any time
	Dir  bool
}

// Contribution is what one part adds to a session.
type Contribution struct {
	Mounts []plan.Mount
	Masks  []plan.Mask
	Files  []plan.File
	Links  []plan.Link
	Trees  []TreeMount // which of the mounts may be changed
	Caches []Cache     // private directories below which something is ready

	// others are files of other parts, as they are to be shown.
	Others []plan.File

	Env     []policy.Setting
	Path    string // PATH inside
	Command command
	Args    []string // lead the agent to the broker and to its servers

	// overlays are keys of the agent's settings files, by path; managed is added to the
	// end of such a file.
	overlays map[string]map[string]any
	managed  map[string][]byte
	state    []stateItem

	Pinned    []string // paths that rules of the user name
	GrantDirs []string // directories that grants of the user show
	Clone     string   // the repository that the session works in a clone of
	Origins   []Origin // where credentials lie on the host

	Git       *repo.Curated // the settings of git inside …
	Rewrites  []string      // … what leads remotes to the broker …
	GitConfig string        // … and what is added at their end
	Ignore    []byte        // what git passes over in every repository

	Brokered Brokered
	Offered  Offered
	Upstream *upstream.Proxy
	Capture  *plan.Capture
	Lure     *Lure

	Missing []Missing // what the project builds on and is not shown

	Remember []func() error // written with the project's state

	Keys     []string // what the broker uses, and by whose word: for people
	Warnings []string // what the user should know in any case
	Notices  []string // what the user should know before the agent starts
	Dropped  []string // PATH entries that stay outside, with the reason
}

// command is what is to be run.
type command struct {
	program []string // with what its profile gives it; none: rest is the command
	rest    []string
}

func (c command) Argv(args []string) []string {
	if c.program == nil {
		return c.rest
	}
	return slices.Concat(c.program, args, c.rest)
}

func (c *Contribution) Add(o Contribution) {
	c.Trees, c.Caches = append(c.Trees, o.Trees...), append(c.Caches, o.Caches...)
	c.Mounts, c.Masks, c.Links = append(c.Mounts, o.Mounts...), append(c.Masks, o.Masks...), append(c.Links, o.Links...)
	if o.Git != nil {
		c.Git = o.Git
		c.Put(GitConfigPath, nil, "curated git config") // settle writes it
	}
	if c.Ignore == nil && o.Ignore != nil {
		c.Put(GitIgnorePath, nil, "what git passes over: by your settings, and what shows phantoms") // settle writes it
	}
	c.Ignore = append(c.Ignore, o.Ignore...)
	c.Files, c.Others = append(c.Files, o.Files...), append(c.Others, o.Others...)
	c.Rewrites, c.GitConfig = append(c.Rewrites, o.Rewrites...), c.GitConfig+o.GitConfig
	c.Env, c.Args, c.state = append(c.Env, o.Env...), append(c.Args, o.Args...), append(c.state, o.state...)
	for path, set := range o.overlays {
		c.Overlay(path, set)
	}
	for path, end := range o.managed {
		c.Manage(path, end)
	}
	c.Pinned, c.GrantDirs, c.Origins = append(c.Pinned, o.Pinned...), append(c.GrantDirs, o.GrantDirs...), append(c.Origins, o.Origins...)
	c.Brokered.add(o.Brokered)
	c.Missing = append(c.Missing, o.Missing...)
	c.Remember = append(c.Remember, o.Remember...)
	c.Keys, c.Dropped = append(c.Keys, o.Keys...), append(c.Dropped, o.Dropped...)
	c.Warnings, c.Notices = append(c.Warnings, o.Warnings...), append(c.Notices, o.Notices...)
	c.addOnes(o)
}

// addOnes takes over what only one part has.
func (c *Contribution) addOnes(o Contribution) {
	c.Path, c.Clone = cmp.Or(c.Path, o.Path), cmp.Or(c.Clone, o.Clone)
	c.Upstream, c.Capture, c.Lure = cmp.Or(c.Upstream, o.Upstream), cmp.Or(c.Capture, o.Capture), cmp.Or(c.Lure, o.Lure)
	if o.Command.rest != nil || o.Command.program != nil {
		c.Command = o.Command
	}
	if o.Offered.Agent != "" {
		c.Offered = o.Offered
	}
}

// Settle joins what several parts say about one thing.
func (c *Contribution) Settle() {
	if c.Git != nil {
		conf := *c.Git
		conf.Rewrites = c.Rewrites
		text := repo.CuratedConfig(conf) + c.GitConfig
		if c.Ignore != nil {
			text += "[core]\n\texcludesFile = \"" + GitIgnorePath + "\"\n"
		}
		c.Others = append([]plan.File{{Dst: GitConfigPath, Data: []byte(text)}, {Dst: GitIgnorePath, Data: c.Ignore}}, c.Others...)
	}
	c.joinFiles()
	for _, o := range c.Others {
		for i := range c.Files {
			if c.Files[i].Dst == o.Dst {
				c.Files[i].Data = o.Data
			}
		}
	}
	c.Brokered.close()
}

// joinFiles makes one of the files that several parts write lines of.
func (c *Contribution) joinFiles() {
	first := map[string]int{}
	files := c.Files[:0:0]
	for _, f := range c.Files {
		i, has := first[f.Dst]
		if !has {
			first[f.Dst] = len(files)
			files = append(files, f)
			continue
		}
		files[i].Data = append(slices.Clone(files[i].Data), f.Data...)
		files[i].Why += "; " + f.Why
	}
	c.Files = files
}

// ShownLinks leaves out a link where a mount or another link shows already what is there.
func (c *Contribution) ShownLinks() (out []plan.Link) {
	for _, l := range c.Links {
		if !slices.ContainsFunc(c.Mounts, func(m plan.Mount) bool { return file.Within(l.At, m.Dst) }) &&
			!slices.ContainsFunc(out, func(o plan.Link) bool { return file.Within(l.At, o.At) }) {
			out = append(out, l)
		}
	}
	return out
}

// Missing is a directory of the host that a file of the project names and that is not shown.
type Missing struct{ Path, By string }

// Cache is a directory in HOME below which something is ready.
type Cache struct {
	At   string
	Sign string // what a private directory has in it that needs nothing ready
	Held *ready.Held
}

// TreeMount is a mount that may be changed.
type TreeMount struct {
	Path   string
	Prefix string // ".git" for a git directory
}

// view is what a session shows. It is asked while the session runs.
type view struct {
	Mounts []plan.Mount
	Masks  []plan.Mask
}

// Hides holds for what is hidden altogether.
func (v *view) Hides(p string) bool { return Hidden(v.Masks, p) }

func Hidden(masks []plan.Mask, p string) bool {
	return slices.ContainsFunc(masks, func(m plan.Mask) bool { return file.Within(p, m.Path) })
}

func (c *Contribution) Notice(s string) { c.Notices = append(c.Notices, s) }

func (c *Contribution) Warn(s string) { c.Warnings = append(c.Warnings, s) }

// SortedKeys are the keys of a map, in their order.
func SortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// Set sets variables.
func (c *Contribution) Set(source, name, value string) {
	c.Env = append(c.Env, policy.Setting{Name: name, Value: value, Source: policy.Source{File: source}})
}

// Put puts a generated file at p, read-only.
func (c *Contribution) Put(p string, data []byte, why string) {
	c.Files = append(c.Files, plan.File{Dst: p, Data: data, Why: why})
}

// Overlay remembers what a settings file of the agent's says inside.
func (c *Contribution) Overlay(path string, set map[string]any) {
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

// Manage adds to the end of a file that the agent reads as its organisation's.
func (c *Contribution) Manage(path string, end []byte) {
	if c.managed == nil {
		c.managed = map[string][]byte{}
	}
	c.managed[path] = append(c.managed[path], end...)
}

// AddTree mounts a directory that may be changed, in the view that policy says.
func (c *Contribution) AddTree(m plan.Mount, prefix string) {
	m.Write = true
	c.Trees = append(c.Trees, TreeMount{m.Dst, prefix})
	c.Mounts = append(c.Mounts, m)
}

// Hides holds for what is hidden altogether.
func (c *Contribution) Hides(p string) bool {
	return Hidden(c.Masks, p)
}

// Link keeps the path by which the user came working where it is a symlink and
// lies in what is private to the sandbox.
func (c *Contribution) Link(given, real string) {
	if given == real || System(given) || file.Within(given, "/etc") {
		return
	}
	if parent, err := filepath.EvalSymlinks(filepath.Dir(given)); err != nil || parent != filepath.Dir(given) {
		return
	}
	c.Links = append(c.Links, plan.Link{At: given, To: real})
}

const (
	AptConfigPath     = plan.Own + "/apt.conf"
	GitConfigPath     = plan.Own + "/gitconfig"
	GitIgnorePath     = plan.Own + "/gitignore"
	GitAttributesPath = plan.Own + "/gitattributes"
)
