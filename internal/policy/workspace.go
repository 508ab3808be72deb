package policy

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// The views of a workspace, from tight to wide.
const (
	Review = "review"
	Live   = "live"
)

var views = []string{Review, Live}

// Reviewed reports whether changes wait for review. What is unknown (it cannot come
// from Decode) does.
func (w *Workspace) Reviewed() bool { return w.View != nil && w.View.Value != Live }

// tightenWorkspace takes from over what can only take away.
//
//   - The view: review, if either says so.
//   - Masks: both. What is revealed: what both reveal.
//   - What is kept for undo is base's. To keep less protects less, and to keep more
//     takes more of the host's disk: neither is for others to say.
func (s scope) tightenWorkspace(out, base, over *Policy) {
	w, o := &out.Workspace, &over.Workspace
	if o.Reviewed() && !w.Reviewed() {
		w.View = o.View
	}
	w.Mask = join(w.Mask, o.Mask)
	w.Reveal = both(w.Reveal, o.Reveal, s.reveals(over), s.reveals(base))
	s.spreadMasks(out, base)
	s.spreadMasks(out, over)
	s.pinReveals(out, base)
}

// reveals returns the test whether p reveals all that a value does.
func (s scope) reveals(p *Policy) func(string) bool {
	dirs := s.workspaces(p, true)
	return func(v string) bool {
		v = Expand(v, s.home)
		return slices.ContainsFunc(p.Workspace.Reveal, func(r Rule) bool {
			have := Expand(r.Value, s.home)
			if relative(have) == relative(v) {
				return globCovers(have, v)
			}
			return relative(have) && dirs.cover(have, v)
		})
	}
}

// cover reports whether a relative glob covers an absolute one in one of the
// directories. One whose own name could be read as a glob does not count.
func (g grants) cover(have, v string) bool {
	for dir := v; dir != "/" && dir != "."; {
		dir = path.Dir(dir)
		if _, named := g[dir]; named && !strings.ContainsAny(dir, meta) &&
			globCovers(have, strings.TrimPrefix(strings.TrimPrefix(v, dir), "/")) {
			return true
		}
	}
	return false
}

// spreadMasks lets the masks of from that are paths count in every directory, where
// a place that gave them their meaning is gone while part of it is still in view.
func (s scope) spreadMasks(out, from *Policy) {
	var spread List
	for _, m := range from.Workspace.Mask {
		if strings.Contains(m.Value, "/") && !strings.HasPrefix(m.Value, "**/") {
			spread = append(spread, Rule{"**/" + m.Value, m.Source})
		}
	}
	if spread == nil {
		return
	}
	view := s.view(out, true)
	if slices.ContainsFunc(Grants(from, s.home), func(g Grant) bool {
		_, still := view[g.Path]
		return !still && view.touches(g.Path)
	}) {
		out.Workspace.Mask = join(out.Workspace.Mask, spread)
	}
}

// pinReveals binds what is revealed to the workspaces of base, where out has a place
// that base does not name: a relative path would mean another file there.
func (s scope) pinReveals(out, base *Policy) {
	named := s.view(base, true)
	if !out.Workspace.Reveal.relative() ||
		!slices.ContainsFunc(Grants(out, s.home), func(g Grant) bool { _, ok := named[g.Path]; return !ok }) {
		return
	}
	dirs := slices.Sorted(maps.Keys(s.workspaces(base, true)))
	if len(dirs)*len(out.Workspace.Reveal) > maxRules {
		dirs = nil // a hostile file: reveal less rather than multiply
	}
	var pinned List
	for _, r := range out.Workspace.Reveal {
		if !relative(r.Value) {
			pinned = append(pinned, r)
			continue
		}
		for _, dir := range dirs {
			if v := path.Join(dir, r.Value); !strings.ContainsAny(dir, meta) && len(v) <= maxGlob {
				pinned = append(pinned, Rule{v, r.Source})
			}
		}
	}
	out.Workspace.Reveal = join(List{}, pinned)
}

// widensWorkspace lists what of one key of over base does not give already, the
// further workspaces apart.
func (s scope) widensWorkspace(k *key, base, over *Policy) List {
	var out List
	switch k.name {
	case "view":
		if v := over.Workspace.View; v != nil && !over.Workspace.Reviewed() && base.Workspace.Reviewed() {
			out = List{*v}
		}
	case "reveal":
		reveals := s.reveals(base)
		for _, r := range over.Workspace.Reveal {
			if !reveals(r.Value) {
				out = append(out, r)
			}
		}
	case "undo", "undo-file":
		have, want := *k.limit(base), *k.limit(over)
		if want != nil && (have == nil || have.Value != want.Value) {
			out = List{{formatLimit(k, want.Value), want.Source}}
		}
	}
	return out
}

// elsewhere returns the test whether a place is none that p names, if p reveals
// relative paths: in such a place they would mean other files.
func (s scope) elsewhere(p *Policy) func(string) bool {
	if !p.Workspace.Reveal.relative() {
		return func(string) bool { return false }
	}
	named := s.view(p, true)
	return func(at string) bool {
		_, ok := named[at]
		return !ok
	}
}

// relative reports whether a path of the list is taken in every workspace.
func (l List) relative() bool {
	return slices.ContainsFunc(l, func(r Rule) bool { return relative(r.Value) })
}

// reveals finds what one layer both masks and reveals.
func (c *checker) reveals() {
	masks := map[Rule]Source{}
	for _, m := range c.p.Workspace.Mask {
		masks[Rule{m.Value, Source{File: layer(m.Source)}}] = m.Source
	}
	for _, r := range c.p.Workspace.Reveal {
		if src, both := masks[Rule{r.Value, Source{File: layer(r.Source)}}]; both {
			c.add(r.Source, "%q is to be revealed here and masked in %s: say one", r.Value, src)
		}
	}
}

// outright lists what the user asked for in so many words and the ceiling forbids.
// Elsewhere a ceiling bounds without a word; a view that is not the one asked for
// would surprise.
func (l *Layers) outright() []Problem {
	if l.Ceiling == nil || !l.Ceiling.Workspace.Reviewed() {
		return nil
	}
	var asked *Rule
	for _, p := range []*Policy{l.User, l.Flags} {
		if p != nil && p.Workspace.View != nil {
			asked = p.Workspace.View
		}
	}
	if asked == nil || asked.Value != Live {
		return nil
	}
	return []Problem{{asked.Source, `the view live is asked for here, and ` + l.Ceiling.Workspace.View.Source.String() + ` says review for everybody`}}
}
