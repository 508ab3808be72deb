package review

import (
	"path"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

// Files that lead git to another directory are applied without a person only in the
// exact form that git writes, and only if both ends name each other: a worktree and
// its directory below worktrees, a submodule and its directory below modules. Both
// ends are directories that the kernel finds in the trees of the session without
// following a link; what is in a text is never cleaned and then believed.

// finePointer judges a file .git.
func (g *groups) finePointer(at location, text string) bool {
	tree := location{at.tree, dirOf(at.rel)}
	if tree.rel == "." {
		return false // the tree's own
	}
	var dir location
	if to, ok := worktreeText([]byte(text)); ok {
		if dir, ok = g.locate(to); !ok {
			return false
		}
		if back, ok := g.worktree(dir); !ok || back != tree {
			return false
		}
	} else {
		to, ok := strings.CutPrefix(text, "gitdir: ")
		dir = location{at.tree, path.Join(tree.rel, strings.TrimSuffix(to, "\n"))}
		if !ok || text != modulePointer(tree.rel, dir.rel) {
			return false
		}
		value, ok := g.coreWorktree(dir)
		if !ok || !g.module(dir, value) || path.Join(dir.rel, value) != tree.rel {
			return false
		}
	}
	if kind, is := g.trees[dir.tree].At(dir.rel + "/HEAD"); !is || kind != hostexec.KindFile {
		return false
	}
	for _, name := range []string{"HEAD", "config", "commondir", "gitdir"} {
		if changeAt(g.trees[dir.tree].waits, dir.rel+"/"+name) != nil {
			g.join(g.id(at.tree, at.rel), g.id(dir.tree, dir.rel+"/"+name))
		}
	}
	return true
}

// worktreeText reads the file .git of a worktree: an absolute path, as it is.
func worktreeText(text []byte) (string, bool) {
	to, ok := strings.CutPrefix(string(text), "gitdir: ")
	to, ended := strings.CutSuffix(to, "\n")
	return to, ok && ended && path.IsAbs(to) && path.Clean(to) == to && baseOf(dirOf(to)) == "worktrees"
}

func modulePointer(tree, dir string) string {
	rel, err := filepath.Rel(tree, dir)
	if err != nil {
		return ""
	}
	return "gitdir: " + rel + "\n"
}

// locate finds the tree of the session that an absolute path lies in.
func (g *groups) locate(abs string) (location, bool) {
	best := -1
	for n, t := range g.trees {
		if abs != t.Path && file.Within(abs, t.Path) && (best < 0 || len(t.Path) > len(g.trees[best].Path)) {
			best = n
		}
	}
	if best < 0 {
		return location{}, false
	}
	return location{best, strings.TrimPrefix(abs[len(g.trees[best].Path):], "/")}, true
}

// worktree judges the directory of a linked worktree, and returns the worktree.
func (g *groups) worktree(dir location) (location, bool) {
	t := g.trees[dir.tree]
	part, ok := t.rules.Part(t, dir.rel, hostexec.KindDir)
	if !ok || part.Rest != "worktrees/"+baseOf(dir.rel) || !g.directory(dir) {
		return location{}, false
	}
	common, ok := g.text(location{dir.tree, dir.rel + "/commondir"})
	if !ok || common != "../..\n" {
		return location{}, false
	}
	back, ok := g.text(location{dir.tree, dir.rel + "/gitdir"})
	back, ended := strings.CutSuffix(back, "\n")
	if !ok || !ended || path.Clean(back) != back || path.Base(back) != ".git" {
		return location{}, false
	}
	tree, ok := g.locate(path.Dir(back))
	if !ok || !g.worktreeDirectory(tree) {
		return location{}, false
	}
	text, ok := g.text(location{tree.tree, tree.rel + "/.git"})
	return tree, ok && text == "gitdir: "+path.Join(t.Path, dir.rel)+"\n"
}

// module judges the git directory of a submodule whose core.worktree is value.
func (g *groups) module(dir location, value string) bool {
	t := g.trees[dir.tree]
	part, ok := t.rules.Part(t, dir.rel, hostexec.KindDir)
	if !ok || !strings.HasPrefix(part.Rest, "modules/") || !g.directory(dir) {
		return false
	}
	if _, is := t.At(dir.rel + "/commondir"); is {
		return false
	}
	tree := location{dir.tree, path.Join(dir.rel, value)}
	if rel, err := filepath.Rel(dir.rel, tree.rel); err != nil || rel != value || strings.HasPrefix(tree.rel, "../") || !g.worktreeDirectory(tree) {
		return false
	}
	text, ok := g.text(location{tree.tree, tree.rel + "/.git"})
	return ok && text == modulePointer(tree.rel, dir.rel)
}

// coreWorktree reads the setting of a git directory.
func (g *groups) coreWorktree(dir location) (string, bool) {
	text, ok := g.text(location{dir.tree, dir.rel + "/config"})
	if !ok {
		return "", false
	}
	return hostexec.CoreWorktree([]byte(text))
}

// worktreeDirectory holds for a directory in which a worktree may be: below a tree, and
// in no git directory.
func (g *groups) worktreeDirectory(s location) bool {
	t := g.trees[s.tree]
	return s.rel != "" && s.rel != "." && s.rel != ".." && g.directory(s) && !t.rules.InGitDirectory(t, s.rel)
}

// directory says whether the kernel finds a directory there, in the layer or on the
// host, without following a link.
func (g *groups) directory(s location) bool {
	kind, is := g.trees[s.tree].At(s.rel)
	return is && kind == hostexec.KindDir
}

// maxPointer bounds a file that leads elsewhere, or the settings that do.
const maxPointer = 1 << 20

// text reads a file as it will be: what waits, or else what the host has.
func (j *judge) text(s location) (string, bool) {
	if c := changeAt(j.trees[s.tree].waits, s.rel); c != nil {
		b := j.new(&Entry{Tree: s.tree, Change: *c, State: Waits})
		return string(b), c.New != nil && is(b, c.New)
	}
	b := read(j.work.Layer(s.tree).OpenOld(s.rel))
	return string(b), b != nil && len(b) <= maxPointer
}
