package hostexec

import (
	"bytes"
	"strings"

	"ringfence.dev/ringfence/internal/file"
)

// Judge is JudgeIn for a path of which nothing is known but its names.
func (r *Rules) Judge(rel string, dir bool) Verdict {
	if dir {
		return r.JudgeIn(nil, rel, KindDir)
	}
	return r.JudgeIn(nil, rel, KindFile)
}

// JudgeLink is Judge for a symbolic link. More of them are held than of files: a
// link in a git directory, or in the place of a directory in which names are held.
func (r *Rules) JudgeLink(rel string) Verdict { return r.JudgeIn(nil, rel, KindLink) }

// HoldRoot returns the topmost path at or above rel that is held as a whole. It
// takes rel for no directory: ask Judge first if it may be one. Verdict.Root is
// the same.
func (r *Rules) HoldRoot(rel string) (root string, ok bool) {
	v := r.Judge(rel, false)
	return v.Root, v.Hold
}

// Below reports whether a directory at rel gives names below it a meaning that
// they do not have elsewhere, so that some of them are held. Whoever moves a
// directory there has to judge what is in it by its new path.
func (r *Rules) Below(rel string) bool {
	s := r.scan(rel, false, true)
	return s.root > 0 || s.git
}

// named judges by the names of a path alone.
func (r *Rules) named(rel string, kind Kind) Verdict {
	return r.scan(rel, kind == KindDir, kind == KindLink).verdict(rel)
}

// found is what a scan found.
type found struct {
	best *rule
	root int  // the number of names of the topmost path that is held; 0 for none
	git  bool // the path lies in a git directory, or is one
}

func (s *found) take(hit *rule, names int) {
	if hit == nil {
		return
	}
	v := hit.verdict
	if v.Hold && s.root == 0 {
		s.root = names
	}
	if s.best == nil || v.Rank < s.best.verdict.Rank || v.Hold && !s.best.verdict.Hold {
		s.best = hit
	}
}

func (s found) verdict(rel string) Verdict {
	if s.best == nil {
		return Verdict{Rank: Source}
	}
	v := *s.best.verdict
	v.Rule = s.best.text
	if v.Hold {
		v.Root = leading(rel, s.root)
	}
	return v
}

// leading returns the first n names of rel.
func leading(rel string, n int) string {
	end := 0
	for ; n > 0; n-- {
		next := strings.IndexByte(rel[end:], '/')
		if next < 0 {
			return rel
		}
		end += next + 1
	}
	return rel[:max(end-1, 0)]
}

// scanner goes over the names of a path, outermost first.
type scanner struct {
	rules      *Rules
	path       []byte // folded
	start, end int    // the name at hand
	begun      bool   // there is a name at hand
	last       bool   // it is the last one
	parent     []byte // the name before it
	dir, link  bool   // what the path stands for

	git int // where the names in a git directory begin; -1 outside
}

func (r *Rules) scan(rel string, dir, link bool) found {
	var buf [512]byte
	s := scanner{rules: r, path: appendFold(buf[:0], rel), dir: dir, link: link, git: r.start}
	var out found
	for n := 1; s.next(); n++ {
		out.take(s.match(), n)
		s.step()
	}
	out.git = s.git >= 0
	if len(r.extra) > 0 {
		s.extra(&out)
	}
	return out
}

// next goes on to the next name, and reports whether there is one.
func (s *scanner) next() bool {
	if s.last {
		return false
	}
	if s.begun {
		s.parent, s.start = s.path[s.start:s.end], s.end+1
	}
	s.begun = true
	if n := bytes.IndexByte(s.path[s.start:], '/'); n >= 0 {
		s.end = s.start + n
	} else {
		s.end, s.last = len(s.path), true
	}
	return true
}

// step takes in what the name at hand means for those that follow. What lies in a
// git directory stays in it, however deep: a directory below objects, refs or logs
// can be made a git directory like any other.
func (s *scanner) step() {
	if string(s.path[s.start:s.end]) == ".git" {
		s.git = s.end + 1
	}
}

// match returns the rule for the name at hand: one that spells the name out, unless
// one with a star says more of its parents and holds it. In a git directory only
// rules about git directories count: of all else there, nothing passes unknown.
func (s *scanner) match() *rule {
	name := s.path[s.start:s.end]
	exact := s.spelled(name)
	if exact != nil && exact.verdict.Hold {
		return exact
	}
	star := s.star(name)
	if exact != nil && (star == nil || !star.verdict.Hold || len(star.names) <= len(exact.names)) {
		return exact
	}
	return star
}

func (s *scanner) spelled(name []byte) *rule {
	r := s.rules
	if s.git >= 0 {
		return s.exact(r.git, name)
	}
	hit := s.exact(r.whole, name)
	if s.last && (hit == nil || s.link && !hit.verdict.Hold) {
		if as := s.exact(r.names, name); hit == nil || as != nil && as.verdict.Hold {
			hit = as // a link in the place of a directory in which names are held
		}
	}
	return hit
}

func (s *scanner) exact(x *index, name []byte) *rule {
	for rule := x.exact.find(name); rule != nil; rule = rule.next {
		if s.fits(&rule.pattern) {
			return rule
		}
	}
	return nil
}

// star returns the first rule with a star that fits.
func (s *scanner) star(name []byte) *rule {
	if s.git >= 0 {
		return s.first(s.rules.git, name, nil)
	}
	best := s.first(s.rules.whole, name, nil)
	if s.last {
		best = s.first(s.rules.names, name, best)
	}
	return best
}

func (s *scanner) first(x *index, name []byte, best *rule) *rule {
	if len(name) == 0 {
		return best
	}
	if dot := bytes.LastIndexByte(name, '.'); dot >= 0 {
		best = s.earlier(x.ending.find(name[dot+1:]), name, best)
	}
	best = s.earlier(x.starting[name[0]], name, best)
	best = s.earlier(x.below.find(s.parent), name, best)
	return s.earlier(x.rest, name, best)
}

func (s *scanner) earlier(rule *rule, name []byte, best *rule) *rule {
	for ; rule != nil; rule = rule.next {
		if (best == nil || rule.order < best.order) && file.Star(rule.last(), name) && s.fits(&rule.pattern) {
			best = rule
		}
	}
	return best
}

// fits compares all of a pattern but its last name.
func (s *scanner) fits(r *pattern) bool {
	if !r.whole && (!s.last || s.dir) || r.links && !s.link {
		return false
	}
	from := 0
	switch r.place {
	case outsideGit:
		if s.git >= 0 {
			return false
		}
	case inGit:
		from = s.git
	}
	return r.above(s.path, s.start, from)
}

// extra looks for paths that only this tree has. A link above one leads elsewhere,
// and is held too.
func (s *scanner) extra(out *found) {
	for _, rule := range s.rules.extra {
		n, ended := s.common(rule.names)
		if n > 0 && (n == len(rule.names) || ended && s.link) && (out.root == 0 || n < out.root) {
			out.root, out.best = n, rule
		}
	}
}

// common counts the leading names that the path has in common with names, and
// reports whether it has no others.
func (s *scanner) common(names []string) (n int, ended bool) {
	rest := s.path
	for _, name := range names {
		next := bytes.IndexByte(rest, '/')
		if next < 0 {
			if string(rest) == name {
				return n + 1, true
			}
			return 0, false
		}
		if string(rest[:next]) != name {
			return 0, false
		}
		n, rest = n+1, rest[next+1:]
	}
	return n, false
}

// judged is the verdict of the built-in rules for what is no directory.
func judged(rel string) (Verdict, bool) {
	r, err := Builtin()
	if err != nil {
		return Verdict{Rank: Unasked, Who: "unknown", When: "unknown", Why: err.Error()}, false
	}
	return r.Judge(rel, false), true
}
