package review

import (
	"runtime"
	"slices"
	"strings"
	"sync"

	"ringfence.dev/ringfence/internal/workspace/change"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

// findHarmless judges what waits in all trees: which changes make git run nothing
// and may be applied without a person. Changes of one git directory that is new, of
// one submodule or of one worktree belong together: all or none.
func (j *judge) findHarmless(waits [][]change.Change) {
	g := &groups{judge: j, up: map[location]location{}, bad: map[location]bool{}}
	j.groups = g
	for n, all := range waits {
		inOrderOfPath(all)
		j.trees[n].waits = all
	}
	// Nothing is brought to the host until all is judged: what was asked of it stays true.
	for _, t := range j.trees {
		t.memory = &hostexec.Memory{Tree: t}
		defer func() { t.memory = nil }()
	}
	for n, all := range waits {
		g.ordinary = append(g.ordinary, j.findOrdinary(n, all))
	}
	for n, all := range waits {
		for i, c := range all {
			if id := g.id(n, c.Path); g.ordinary[n][i] && id.rel == c.Path {
				continue // nearly all: spoilt says so without a list
			} else if g.ordinary[n][i] || !g.fine(n, c, Waits) {
				g.bad[g.find(id)] = true
			}
		}
	}
	g.choose(waits)
}

// findOrdinary asks with all processors: a session may have made hundreds of thousands.
func (j *judge) findOrdinary(n int, all []change.Change) []bool {
	out := make([]bool, len(all))
	side(all, func(from, to int) {
		j := j.reading()
		for i := from; i < to; i++ {
			out[i] = j.isOrdinary(n, all[i])
		}
	})
	return out
}

// side runs do for parts of a list, side by side. Each is a run of neighbours, which lie
// in the same directories.
func side[T any](all []T, do func(from, to int)) {
	var group sync.WaitGroup
	step := max(len(all)/(4*runtime.GOMAXPROCS(0)), 256)
	for from := 0; from < len(all); from += step {
		group.Go(func() { do(from, min(from+step, len(all))) })
	}
	group.Wait()
}

// isOrdinary holds for a file that is nothing of git's: whatever it says, a person decides.
func (j *judge) isOrdinary(n int, c change.Change) bool {
	t := j.trees[n]
	if c.New == nil || c.New.Type != change.File || baseOf(c.Path) == ".git" {
		return false
	}
	if _, ok := t.rules.Part(t.tree(), c.Path, hostexec.KindFile); ok {
		return false
	}
	v := t.verdict(c.Path, c.New, nil)
	return v.Hold || v.Form == hostexec.FormAny
}

// choose lists what is in no group that is spoilt.
func (g *groups) choose(waits [][]change.Change) {
	g.harmless = make([]map[string]bool, len(waits))
	for n, all := range waits {
		g.harmless[n] = map[string]bool{}
		for i, c := range all {
			if !g.ordinary[n][i] && !g.spoilt(g.find(g.id(n, c.Path))) || mutated("judge") {
				g.harmless[n][c.Path] = true
			}
		}
	}
}

// location is a path of a tree.
type location struct {
	tree int
	rel  string
}

// groups finds out which changes belong together.
type groups struct {
	*judge
	up       map[location]location // groups that became part of another
	bad      map[location]bool
	ordinary [][]bool // by tree, beside what waits: each is spoilt, and mostly a group alone

	dir location // the last directory that was asked for
	top location // the group of what is in it
	one bool     // there is one
}

// id names the group of a path: the topmost directory above it that is new and in a
// git directory, or a git directory itself. A path that belongs to no other is a
// group itself.
func (g *groups) id(n int, rel string) location {
	if dir := (location{n, dirOf(rel)}); dir != g.dir {
		g.dir = dir
		g.top, g.one = g.topmost(n, rel)
	}
	if g.one {
		return g.top
	}
	return location{n, rel}
}

func (g *groups) topmost(n int, rel string) (location, bool) {
	t := g.trees[n]
	for end := range rel {
		if rel[end] != '/' {
			continue
		}
		dir := rel[:end]
		if c := changeAt(t.waits, dir); c != nil && c.Old == nil && t.rules.InGitDirectory(t.tree(), dir) {
			return location{n, dir}, true
		}
	}
	return location{}, false
}

// find and join put groups together.
func (g *groups) find(id location) location {
	for {
		up, ok := g.up[id]
		if !ok {
			return id
		}
		id = up
	}
}

func (g *groups) join(a, b location) {
	if a, b = g.find(a), g.find(b); a != b {
		g.up[a] = b
		g.bad[b] = g.spoilt(b) || g.spoilt(a)
	}
}

// spoilt says whether something in a group, which became part of no other, is not fine.
func (g *groups) spoilt(id location) bool {
	if g.bad[id] || id.tree >= len(g.ordinary) {
		return g.bad[id]
	}
	at, ok := slices.BinarySearchFunc(g.trees[id.tree].waits, id.rel, byPath)
	return ok && g.ordinary[id.tree][at]
}

// fine judges one change by itself. What is not known to be harmless is not.
func (g *groups) fine(n int, c change.Change, state State) bool {
	node := c.New
	if node == nil {
		node = c.Old
	}
	switch {
	case c.From != "" || g.work.Trees[n].masked(c):
		return false
	case c.New != nil && c.New.Mode&^0o775 != 0, c.Old != nil && c.New != nil && c.Old.Type != c.New.Type:
		return false
	case node.Type == change.Directory:
		return g.fineDirectory(n, c) && hostexec.Name(c.Path) == nil
	case node.Type != change.File:
		return false
	case c.New == nil:
		return g.fineDeletion(n, c, state) && hostexec.Name(c.Path) == nil
	}
	return g.fineFile(n, c, state) && hostexec.Name(c.Path) == nil
}

// fineDirectory takes the directories that git makes.
func (g *groups) fineDirectory(n int, c change.Change) bool {
	t := g.trees[n]
	if c.New == nil {
		return !t.verdict(c.Path, nil, c.Old).Hold
	}
	if baseOf(c.Path) == ".git" {
		return true
	}
	part, ok := t.rules.Part(t.tree(), c.Path, hostexec.KindDir)
	return ok && (part.Known || part.Rest == "hooks")
}

func (g *groups) fineDeletion(n int, c change.Change, state State) bool {
	t := g.trees[n]
	if baseOf(c.Path) == ".git" {
		_, ok := worktreeText(g.old(&Entry{Tree: n, Change: c, State: state}))
		return ok
	}
	part, ok := t.rules.Part(t.tree(), c.Path, hostexec.KindFile)
	switch {
	case !ok:
		return false
	case part.Rest == "commondir" || part.Rest == "gitdir":
		// With the directory, or not at all: without them the worktree is broken.
		dir := changeAt(t.waits, part.Dir)
		return dir != nil && dir.New == nil && baseOf(dirOf(part.Dir)) == "worktrees"
	}
	return part.Known && part.Rest != "HEAD" || sample(part.Rest)
}

func (g *groups) fineFile(n int, c change.Change, state State) bool {
	t := g.trees[n]
	e := &Entry{Tree: n, Change: c, State: state}
	part, ok := t.rules.Part(t.tree(), c.Path, hostexec.KindFile)
	if ok && part.Rest == "HEAD" && !part.Kept {
		return false // it would make a directory a repository
	}
	if ok && part.Known && part.Form == hostexec.FormAny {
		return true
	}
	if g.isOrdinary(n, c) {
		return false
	}
	most := int64(maxRead)
	if ok && part.Form == hostexec.FormIndex {
		most = hostexec.MaxJudged
	}
	new := g.newMost(e, most)
	if !is(new, c.New) {
		return false
	}
	switch {
	case baseOf(c.Path) == ".git":
		return g.finePointer(location{n, c.Path}, string(new))
	case !ok:
		return hostexec.FitsAfter(t.verdict(c.Path, c.New, nil).Form, g.before(e), new, nil) == nil
	case part.Known:
		return hostexec.Fits(part.Form, new, g.settings(n, part)) == nil
	}
	return g.fineSettings(e, part, new)
}

// before is what the host has, nil if that is not known for sure.
func (j *judge) before(e *Entry) []byte {
	if old := j.old(e); is(old, e.Old) {
		return old
	}
	return nil
}

// fineSettings judges what leads git: only what git writes in ordinary work passes.
func (g *groups) fineSettings(e *Entry, part hostexec.Part, new []byte) bool {
	dir := location{e.Tree, part.Dir}
	switch {
	case sample(part.Rest):
		return true
	case part.Rest == "info/attributes":
		return e.Old == nil && len(new) == 0
	case part.Rest == "commondir" || part.Rest == "gitdir":
		_, ok := g.worktree(dir)
		return ok
	case part.Rest != "config":
		return false
	}
	old := g.old(e)
	if e.Old != nil && !is(old, e.Old) {
		return false
	}
	return hostexec.HarmlessConfig(old, new, func(value string) bool { return g.module(dir, value) })
}

// sample holds for the examples that git puts beside its hooks and never runs.
func sample(rest string) bool {
	name, ok := strings.CutPrefix(rest, "hooks/")
	return ok && strings.HasSuffix(name, ".sample") && name != ".sample" && !strings.Contains(name, "/")
}

// settings reads those of the repository that a path belongs to.
func (j *judge) settings(n int, part hostexec.Part) []byte {
	text, _ := j.text(location{n, part.Settings(j.trees[n])})
	return []byte(text)
}
