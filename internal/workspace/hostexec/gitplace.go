package hostexec

import (
	"slices"
	"strings"
)

// Kind is what stands at a path, or shall stand there.
type Kind int

// The kinds. KindSpecial is a pipe, a socket or a device.
const (
	KindFile Kind = iota
	KindDir
	KindLink
	KindSpecial
)

// Tree tells what a tree has at a path, as the kernel finds it with no link
// followed.
type Tree interface {
	At(rel string) (kind Kind, is bool)
}

// JudgeIn says what the host makes of a path of a tree. It goes by the names of the
// path, and by what git would make of the directories around it: whatever git could
// take for a git directory is one here, whatever it is called and wherever it lies.
// In it only what has the shape of git's own work passes; everything else is held.
//
// t may be nil. Then directories are known by their names alone, and those below
// modules and worktrees are taken for git directories.
func (r *Rules) JudgeIn(t Tree, rel string, kind Kind) Verdict {
	v := r.named(rel, kind)
	if !v.Hold && t != nil && kind == KindDir && gitName(baseName(rel)) {
		if _, is := t.At(rel); !is {
			return freshRepository(rel)
		}
	}
	var room [4]gitPlace
	places := r.gitPlaces(room[:0], t, rel)
	for i, p := range places {
		v = stricter(v, r.inPlace(t, places[i+1:], p, rel, kind))
	}
	if !v.Hold && v.Form == FormAny && kind == KindFile && folded(baseName(rel), ".gitmodules") && len(places) == 0 {
		v.Form = FormModules
	}
	if len(places) == 0 {
		v = r.byEnv(v, rel, kind)
	}
	return v
}

// freshRepository holds a repository that begins in the session, as a whole.
func freshRepository(rel string) Verdict {
	return Verdict{Rank: Unasked, Hold: true, Root: rel, Who: "git", When: "at the next git command there",
		Why: "a new repository has its own hooks and configuration", Rule: "a repository that begins in the session"}
}

// gitPlace is a directory that git takes, or could take, for a git directory.
type gitPlace struct {
	dir     string // "" is the root of the tree
	named   bool   // it is called .git: the rules by name know it
	certain bool   // it is one already, or lies where git keeps them
}

// maxPlaces bounds how deep git directories may lie in each other.
const maxPlaces = 64

// gitPlaces lists the git directories around a path, the outermost first. A HEAD
// makes a directory one that may become a git directory: everything else can come
// later, or lie elsewhere by way of commondir.
func (r *Rules) gitPlaces(out []gitPlace, t Tree, rel string) []gitPlace {
	if m, ok := t.(*Memory); ok {
		return append(out, m.around(r, rel)...)
	}
	return r.askPlaces(out, t, rel)
}

func (r *Rules) askPlaces(out []gitPlace, t Tree, rel string) []gitPlace {
	w := r.outermost(out, t)
	for end := range rel {
		if rel[end] == '/' {
			w = w.enter(t, rel[:end])
		}
	}
	return w.places
}

// way is what is known of git directories on the way down a path.
type way struct {
	places []gitPlace
	inGit  bool
	keeps  bool // with no tree: the directory before is modules or worktrees
}

// outermost is the way at the root of the tree.
func (r *Rules) outermost(room []gitPlace, t Tree) way {
	w := way{places: room, inGit: r.start == 0}
	if w.inGit {
		w.places = append(w.places, gitPlace{named: true, certain: true})
	} else if t != nil {
		w = w.look(t, "")
	}
	return w
}

// enter goes on to the next directory.
func (w way) enter(t Tree, dir string) way {
	name := baseName(dir)
	switch {
	case gitName(name):
		w.places, w.inGit, w.keeps = append(w.places, gitPlace{dir: dir, named: true, certain: true}), true, false
	case t != nil:
		w = w.look(t, dir)
	case w.keeps:
		w.places, w.keeps = append(w.places, gitPlace{dir: dir, certain: true}), false
	case w.inGit:
		w.keeps = name == "modules" || name == "worktrees"
	}
	return w
}

func (w way) look(t Tree, dir string) way {
	if len(w.places) < maxPlaces {
		if p, is := lookAt(t, dir, keptIn(w.places, dir)); is {
			w.places = append(w.places, p)
		}
	}
	return w
}

// lookAt asks the tree whether a directory may be a git directory. Where git keeps
// them, a HEAD is enough: what is missing may have been taken away.
func lookAt(t Tree, dir string, kept bool) (gitPlace, bool) {
	p := gitPlace{dir: dir, certain: kept}
	if kind, is := t.At(joined(dir, "HEAD")); !is || kind == KindDir {
		return p, false
	}
	if !p.certain {
		p.certain = has(t, dir, "commondir") || has(t, dir, "objects") && has(t, dir, "refs")
	}
	return p, true
}

// keptIn says whether a directory lies where the git directory around it keeps
// others: below modules or worktrees.
func keptIn(places []gitPlace, dir string) bool {
	for _, p := range slices.Backward(places) {
		if !p.certain {
			continue
		}
		s, _ := shapeOf(strings.TrimPrefix(dir[len(p.dir):], "/"), true)
		return s == nested
	}
	return false
}

func has(t Tree, dir, name string) bool {
	if t == nil {
		return false
	}
	_, is := t.At(joined(dir, name))
	return is
}

// inPlace judges a path by one of the git directories around it. further are those
// that lie deeper.
func (r *Rules) inPlace(t Tree, further []gitPlace, p gitPlace, rel string, kind Kind) Verdict {
	rest := rel
	if p.dir != "" {
		rest = rel[len(p.dir)+1:]
	}
	v := Verdict{Rank: Source}
	if !p.named {
		v = r.named(".git/"+rest, kind)
		if v.Hold {
			v.Root = joined(p.dir, strings.TrimPrefix(v.Root, ".git/"))
		}
		if first, _, _ := strings.Cut(rest, "/"); !p.certain && !r.InGitDir(first) && fold(rest) != "info/attributes" {
			return Verdict{Rank: Source}
		}
	}
	if !p.certain || v.Hold {
		return v
	}
	s, form := unknown, FormAny
	if kind == KindFile || kind == KindDir {
		s, form = shapeOf(rest, kind == KindDir)
	}
	if s == nested && (deeper(t, further, p.dir) || kind == KindDir && has(t, "", rel)) {
		s = known // the one that lies deeper decides, and what is there is there
	}
	if s == known {
		v.Form = form
		return v
	}
	return Verdict{Rank: Unasked, Hold: true, Root: joined(p.dir, unknownRoot(t, p.dir, rest)), Who: "git", When: "at a git command",
		Why: "it lies in a git directory and is nothing that git keeps there", Rule: "only what git itself keeps in a git directory"}
}

// deeper says whether one of the git directories of modules and worktrees holds the
// path. With no tree to ask, they are taken to be there.
func deeper(t Tree, further []gitPlace, dir string) bool {
	if t == nil {
		return true
	}
	for _, p := range further {
		if p.certain && (strings.HasPrefix(p.dir, joined(dir, "modules/")) || strings.HasPrefix(p.dir, joined(dir, "worktrees/"))) {
			return true
		}
	}
	return false
}

// unknownRoot is the topmost directory of rest that git does not know, or the path
// itself. Below modules and worktrees it is the first that is not there yet.
func unknownRoot(t Tree, dir, rest string) string {
	for end := range rest {
		if rest[end] != '/' {
			continue
		}
		part := rest[:end]
		switch s, _ := shapeOf(part, true); s {
		case unknown:
			return part
		case nested:
			if !has(t, dir, part) {
				return part
			}
		}
	}
	return rest
}

// stricter joins two judgements of the same path: what one holds is held, and what
// either asks of the content counts.
func stricter(a, b Verdict) Verdict {
	switch {
	case a.Hold && b.Hold:
		if len(b.Root) < len(a.Root) {
			a.Root = b.Root
		}
		return a
	case b.Hold:
		return b
	case a.Hold:
		return a
	}
	form := max(a.Form, b.Form)
	if a.Form != FormAny && b.Form != FormAny && a.Form != b.Form {
		form = FormEmpty // no content is both
	}
	if b.Rank < a.Rank {
		a = b
	}
	a.Form = form
	return a
}

func gitName(name string) bool { return folded(name, ".git") }

// folded reports whether a name is want to a file system that folds case.
func folded(name, want string) bool {
	var buf [128]byte
	return len(name) >= len(want) && string(appendFold(buf[:0], name)) == want
}

func baseName(rel string) string { return rel[strings.LastIndexByte(rel, '/')+1:] }

func joined(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// InGitDirectory reports whether a path lies in something that git takes for a git
// directory, or is called like one.
func (r *Rules) InGitDirectory(t Tree, rel string) bool {
	var room [4]gitPlace
	for _, p := range r.gitPlaces(room[:0], t, rel) {
		if p.certain {
			return true
		}
	}
	return gitName(baseName(rel))
}

// Part is a path of a git directory, and what git keeps there.
type Part struct {
	Dir   string // of the git directory; "" is the root of the tree
	Kept  bool   // it is called .git, or lies where another one keeps such
	Rest  string // the path in it
	Known bool   // git keeps something of that name and kind there
	Form  Form   // what its content has to be
}

// Part finds the git directory that a path belongs to. There is none if the path is
// in no git directory, or in one that lies where git keeps nothing.
func (r *Rules) Part(t Tree, rel string, kind Kind) (Part, bool) {
	var room [4]gitPlace
	var out Part
	found := false
	for _, p := range r.gitPlaces(room[:0], t, rel) {
		if !p.certain {
			continue
		}
		if found && !out.leads() {
			return Part{}, false
		}
		rest := rel
		if p.dir != "" {
			rest = rel[len(p.dir)+1:]
		}
		s, form := shapeOf(rest, kind == KindDir)
		if strings.HasPrefix(rest, "logs/") && kind == KindFile {
			form = FormLog
		}
		kept := p.named || found && out.Kept && out.nests()
		out, found = Part{p.dir, kept, rest, s == known || s == nested && kind == KindDir, form}, true
	}
	return out, found && (kind == KindFile || kind == KindDir)
}

// leads says whether another git directory may lie on the way to the path.
func (p Part) leads() bool { return p.nests() || p.Known && p.Form == FormAny }

func (p Part) nests() bool {
	return strings.HasPrefix(p.Rest, "modules/") || strings.HasPrefix(p.Rest, "worktrees/")
}

// InspectIn is Inspect for a path of a tree: settings of a git directory are found in
// whatever git takes for one.
func (r *Rules) InspectIn(t Tree, rel string, old, new []byte) []Finding {
	out := r.Inspect(rel, old, new)
	var room [4]gitPlace
	for _, p := range r.gitPlaces(room[:0], t, rel) {
		if p.named {
			continue
		}
		for _, f := range r.Inspect(".git/"+p.rest(rel), old, new) {
			if !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	return out
}

// Looks reports whether InspectIn looks for more in a file of a tree than for characters
// that hide others. Where it does not, a file of ASCII need not be read.
func (r *Rules) Looks(t Tree, rel string, size int64) bool {
	if size > maxLook || len(r.about(rel)) > 0 {
		return true
	}
	var room [4]gitPlace
	for _, p := range r.gitPlaces(room[:0], t, rel) {
		if !p.named && len(r.about(".git/"+p.rest(rel))) > 0 {
			return true
		}
	}
	return false
}

// rest is a path of the tree as it is in the git directory.
func (p gitPlace) rest(rel string) string {
	if p.dir == "" {
		return rel
	}
	return rel[len(p.dir)+1:]
}

// Settings is the path of the repository's settings: a linked worktree has those of
// the git directory that keeps it.
func (p Part) Settings(t Tree) string {
	if has(t, p.Dir, "commondir") {
		if dir, ok := strings.CutSuffix(p.Dir, "/"+baseName(p.Dir)); ok && baseName(dir) == "worktrees" {
			return joined(strings.TrimSuffix(strings.TrimSuffix(dir, "worktrees"), "/"), "config")
		}
	}
	return joined(p.Dir, "config")
}
