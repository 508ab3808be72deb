package workspace

import (
	"bytes"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/change"
	"ringfence.dev/ringfence/internal/hostexec"
	"ringfence.dev/ringfence/internal/place"
	"ringfence.dev/ringfence/internal/sys"
	"ringfence.dev/ringfence/internal/undo"
)

// ApplyHarmless brings to the host what was held and needs nobody's eyes: what git
// itself writes in ordinary work and what makes git run nothing. Everything is
// judged by the content that is written.
func (w *Work) ApplyHarmless() ([]Outcome, error) {
	release, err := w.Seize()
	if err != nil {
		return nil, err
	}
	defer release()
	return w.Settle(nil)
}

// Settle is ApplyHarmless for the run that has the work, at the end of its session.
// Before anything changes on the host, store is told, so that it can be undone like
// the rest. Settle comes after the keeper was closed and before the store is.
func (w *Work) Settle(store *undo.Store) ([]Outcome, error) {
	j, err := w.newJudge(nil)
	if err != nil {
		return nil, err
	}
	defer j.close()
	var out []Outcome
	for n := range w.Trees {
		if w.Trees[n].View != Live {
			continue
		}
		results, err := w.settle(j, n, store)
		out = append(out, results...)
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

func (w *Work) settle(j *judge, n int, store *undo.Store) ([]Outcome, error) {
	l := w.Layer(n)
	l.Base = nil // what is written is what was judged, never a merged text
	all, err := l.Changes()
	if err != nil {
		return nil, err
	}
	if all, err = w.followModes(n, all); err != nil {
		return nil, err
	}
	for _, c := range all {
		if c.New != nil {
			j.trees[n].there[c.Path] = true
		}
	}
	chosen := j.harmless(n, all)
	if err := w.unchanged(n, all, chosen); err != nil {
		return nil, err
	}
	if store != nil {
		for _, c := range withDirectories(all, chosen) {
			if err := j.trees[n].save(store, n, c); err != nil {
				return nil, err
			}
		}
	}
	return w.bring(l, n, all, chosen)
}

// unchanged chooses what is again as the host had it before the session: a file that
// one branch has and another has not is deleted and made anew.
func (w *Work) unchanged(n int, all []change.Change, chosen map[string]bool) error {
	log, err := undo.Open(w.Undo())
	if err != nil {
		return nil // nothing was ever deleted
	}
	defer log.Close()
	if n >= len(log.Trees()) {
		return nil
	}
	live, err := log.Changes(n)
	if err != nil {
		return err
	}
	before := map[string]change.Node{}
	for _, c := range live {
		if c.Kind() == change.Deleted {
			before[c.Path] = *c.Old
		}
	}
	for _, c := range all {
		if c.Old == nil && c.From == "" && before[c.Path] == *c.New {
			chosen[c.Path] = true
		}
	}
	return nil
}

// followModes gives directories of the layer that lie above what is held the modes
// that they have on the host, and leaves them out.
func (w *Work) followModes(n int, all []change.Change) ([]change.Change, error) {
	upper, err := sys.OpenSource(w.Upper(n))
	if err != nil {
		return nil, err
	}
	defer unix.Close(upper)
	for _, c := range all {
		if !staleDirectory(c) {
			continue
		}
		fd, err := sys.OpenBeneath(upper, c.Path)
		if err != nil {
			return nil, err
		}
		err = unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), c.Old.Mode)
		unix.Close(fd)
		if err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(all, staleDirectory), nil
}

// save tells the store of a change that is about to be brought to the host. It asks
// for a copy: another link to a file would look like a change on the host.
func (t *judged) save(store *undo.Store, n int, c change.Change) error {
	dir, err := sys.OpenBeneath(t.root, dirOf(c.Path))
	if errors.Is(err, unix.ENOENT) {
		return store.Created(n, c.Path, c.New.Type == change.Directory)
	}
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	err = store.Save(n, c.Path, dir, baseOf(c.Path), undo.Write)
	if errors.Is(err, unix.ENOENT) && c.New != nil {
		return store.Created(n, c.Path, c.New.Type == change.Directory)
	}
	return err
}

// harmless returns the changes that may be applied. Changes of one git directory
// that is new, of one submodule or of one worktree belong together: all or none.
func (j *judge) harmless(n int, all []change.Change) map[string]bool {
	g := &groups{judge: j, tree: n, fresh: map[string]bool{}, of: map[string]string{}, bad: map[string]bool{}}
	for _, c := range all {
		if c.Old == nil && baseOf(c.Path) == ".git" {
			g.fresh[c.Path] = true
		}
	}
	for _, c := range all {
		id := g.id(join(g.prefix(), c.Path))
		g.of[c.Path] = id
		if to, ok := g.pointed(c); ok {
			g.same(id, to)
		}
	}
	for _, c := range all {
		if !g.fine(c) {
			g.bad[g.find(g.of[c.Path])] = true
		}
	}
	chosen := map[string]bool{}
	for _, c := range all {
		if !g.bad[g.find(g.of[c.Path])] {
			chosen[c.Path] = true
		}
	}
	return chosen
}

// groups finds out which changes belong together.
type groups struct {
	*judge
	tree  int
	fresh map[string]bool   // git directories and files .git that are new
	of    map[string]string // path: group
	up    map[string]string // groups that became part of another
	bad   map[string]bool
}

func (g *groups) prefix() string { return g.trees[g.tree].Prefix }

// id names the group of a path. A path that belongs to no other is a group itself.
func (g *groups) id(p string) string {
	names := strings.Split(p, "/")
	for i, name := range names {
		if name != ".git" {
			continue
		}
		dir := strings.Join(names[:i+1], "/")
		rest := names[i+1:]
		switch {
		case g.fresh[dir] && g.prefix() == "":
			return dir
		case len(rest) > 1 && (rest[0] == "modules" || rest[0] == "worktrees"):
			return dir + "/" + rest[0] + "/" + rest[1]
		}
	}
	return p
}

// pointed returns the group of the git directory that a file .git leads to.
func (g *groups) pointed(c change.Change) (string, bool) {
	e := &Entry{Tree: g.tree, Change: c, State: Waits}
	if baseOf(c.Path) != ".git" || c.From != "" {
		return "", false
	}
	text := g.new(e)
	if c.New == nil {
		text = g.old(e)
	}
	to, ok := bytes.CutPrefix(text, []byte("gitdir: "))
	if !ok {
		return "", false
	}
	p := strings.TrimSuffix(string(to), "\n")
	if path.IsAbs(p) {
		rel, err := filepath.Rel(g.trees[g.tree].Path, p)
		if err != nil {
			return "", false
		}
		p = rel
	} else {
		p = path.Join(dirOf(c.Path), p)
	}
	return g.id(p), true
}

// find and same join groups.
func (g *groups) find(id string) string {
	for g.up[id] != "" {
		id = g.up[id]
	}
	return id
}

func (g *groups) same(a, b string) {
	if a, b = g.find(a), g.find(b); a != b {
		if g.up == nil {
			g.up = map[string]string{}
		}
		g.up[a] = b
	}
}

// fine judges one change by itself. What is not known to be harmless is not.
func (g *groups) fine(c change.Change) bool {
	t := g.trees[g.tree]
	p := join(t.Prefix, c.Path)
	if c.From != "" || g.work.masked(g.tree, c) || hostexec.Name(c.Path) != nil || !inGit(p) {
		return false
	}
	node := c.New
	if node == nil {
		node = c.Old
	}
	switch {
	case c.New != nil && c.New.Mode&^0o775 != 0, c.Old != nil && c.New != nil && c.Old.Type != c.New.Type:
		return false
	case node.Type == change.Directory:
		return c.Old == nil || c.New == nil && !t.verdict(c.Path, node, nil).Hold
	case node.Type != change.File:
		return false
	}
	return g.fineFile(t, p, c)
}

func (g *groups) fineFile(t *judged, p string, c change.Change) bool {
	e := &Entry{Tree: g.tree, Change: c, State: Waits}
	var old, new []byte
	if c.New != nil && c.New.Size <= maxRead {
		if new = g.new(e); !is(new, c.New) {
			return false
		}
	}
	if t.verdict(c.Path, c.New, c.Old).Rank == hostexec.Source && c.New != nil {
		return gitData(p, new)
	}
	if c.New != nil && new == nil {
		return false
	}
	if c.Old != nil {
		if old = g.old(e); !is(old, c.Old) {
			return false
		}
	}
	if strings.HasSuffix(p, "/info/attributes") {
		return c.Old == nil && len(new) == 0
	}
	return g.harmlessText(t, p, old, new)
}

// harmlessText asks hostexec. What says that a worktree and its git directory belong
// together may lead to another tree of the same session: what is held is held there,
// too.
func (j *judge) harmlessText(t *judged, p string, old, new []byte) bool {
	if hostexec.HarmlessIn(t.begin(), p, old, new) {
		return true
	}
	text := new
	if text == nil {
		text = old
	}
	if name := baseOf(p); name != ".git" && name != "gitdir" || !j.inSession(text) {
		return false
	}
	return hostexec.HarmlessIn("", p, old, new)
}

// inSession reports whether the absolute path in a text is below a tree of the
// session.
func (j *judge) inSession(text []byte) bool {
	p := strings.TrimSuffix(strings.TrimPrefix(string(text), "gitdir: "), "\n")
	return path.IsAbs(p) && path.Clean(p) == p && slices.ContainsFunc(j.trees, func(t *judged) bool {
		return place.Within(p, t.Path) && p != t.Path && p != path.Join(t.Path, ".git")
	})
}

// begin is the directory that the paths of judgements begin in.
func (t *judged) begin() string {
	if t.Prefix != "" && filepath.Base(t.Path) == t.Prefix {
		return filepath.Dir(t.Path)
	}
	return t.Path
}

// gitFiles are files of a git directory that are data, whatever is in them.
var gitFiles = map[string]bool{
	"ORIG_HEAD": true, "FETCH_HEAD": true, "MERGE_HEAD": true, "MERGE_MSG": true, "MERGE_MODE": true, "CHERRY_PICK_HEAD": true,
	"REVERT_HEAD": true, "AUTO_MERGE": true, "COMMIT_EDITMSG": true, "SQUASH_MSG": true, "description": true, "packed-refs": true,
	"index": true, "shallow": true, "info/exclude": true, "info/refs": true,
}

// gitData reports whether a path that no rule names is one of git's own data.
func gitData(p string, content []byte) bool {
	p = p[strings.LastIndex("/"+p, "/.git/")+len(".git/"):]
	for strings.HasPrefix(p, "modules/") || strings.HasPrefix(p, "worktrees/") {
		_, rest, _ := strings.Cut(p, "/")
		if _, p, _ = strings.Cut(rest, "/"); p == "" {
			return false
		}
	}
	top, _, nested := strings.Cut(p, "/")
	switch {
	case nested && (top == "objects" || top == "refs" || top == "logs"), gitFiles[p]:
		return true
	case p == "HEAD":
		return headForm(content)
	}
	return false
}

// headForm holds for the two forms of a HEAD that git writes.
func headForm(content []byte) bool {
	text, ok := strings.CutSuffix(string(content), "\n")
	if ref, is := strings.CutPrefix(text, "ref: refs/"); is {
		return ok && ref != "" && !strings.ContainsAny(ref, "\n\\ ") && !slices.Contains(strings.Split(ref, "/"), "..")
	}
	return ok && (len(text) == 40 || len(text) == 64) && strings.Trim(text, "0123456789abcdef") == ""
}
