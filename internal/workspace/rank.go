package workspace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/change"
	"ringfence.dev/ringfence/internal/gitdir"
	"ringfence.dev/ringfence/internal/hostexec"
	"ringfence.dev/ringfence/internal/place"
	"ringfence.dev/ringfence/internal/sys"
	"ringfence.dev/ringfence/internal/undo"
)

// judge ranks the changes of one review.
type judge struct {
	contents
	trees []*judged
	notes []string
}

// judged is a tree with what is known of it.
type judged struct {
	*Tree
	root  int // descriptor; -1: the tree is gone
	rules *hostexec.Rules
	there map[string]bool // paths that the session made
	git   map[string]bool // directories: whether they look like a git directory
}

func (w *Work) newJudge(log *undo.Log) (*judge, error) {
	builtin, err := hostexec.Builtin()
	if err != nil {
		return nil, err
	}
	j := &judge{contents: contents{w, log}}
	for n := range w.Trees {
		t := &judged{Tree: &w.Trees[n], root: -1, there: map[string]bool{}, git: map[string]bool{}}
		if fd, err := sys.OpenSource(t.Path); err == nil {
			t.root = fd
		}
		extra, err := executed(t.Path)
		if err != nil {
			j.notes = append(j.notes, fmt.Sprintf("what git's settings in %q run is not known: %v", t.Path, err))
		}
		t.rules = builtin.With(extra)
		j.trees = append(j.trees, t)
	}
	return j, nil
}

func (j *judge) close() {
	for _, t := range j.trees {
		if t.root >= 0 {
			unix.Close(t.root)
		}
	}
}

// executed names what the host's settings of a repository make git run from a tree.
func executed(root string) ([]string, error) {
	repo, err := gitdir.Find(root, "/")
	if repo == nil || err != nil {
		return nil, err
	}
	var out []string
	for _, p := range gitdir.Executed(repo) {
		if p != root && place.Within(p, root) {
			out = append(out, strings.TrimPrefix(p[len(root):], "/"))
		}
	}
	return out, nil
}

func (j *judge) rankAll(entries []Entry) {
	for _, e := range entries {
		if e.New != nil {
			j.trees[e.Tree].there[e.Path] = true
		}
	}
	for i := range entries {
		j.rank(&entries[i])
	}
}

// rank says of one change how soon the host executes it, and why.
func (j *judge) rank(e *Entry) {
	t := j.trees[e.Tree]
	v := t.verdict(e.Path, e.New, e.Old)
	if e.From != "" {
		if was := t.verdict(e.From, e.Old, nil); was.Rank < v.Rank {
			v = was
		}
	}
	plain := j.plain(t, e, v)
	e.Findings = j.findings(t, e, v, plain)
	if plain {
		v = hostexec.Verdict{Rank: hostexec.Source}
	}
	e.Rank = v.Rank
	for _, f := range e.Findings {
		e.Rank = min(e.Rank, f.Rank)
	}
	if e.Masked {
		e.Rank = min(e.Rank, hostexec.Secret)
	}
	if e.Text = t.text(e, v); plain && e.Text == "git's own data" && e.New.Type == change.File {
		e.Text = "makes git run nothing"
	}
}

// plain holds for what is executed by nobody although its path is in a rule: a
// directory, of which what is in it has entries of its own, and what git itself
// writes in ordinary work.
func (j *judge) plain(t *judged, e *Entry, v hostexec.Verdict) bool {
	switch {
	case v.Rank != hostexec.Unasked || e.From != "" || e.New == nil:
		return false
	case e.New.Type == change.Directory:
		return e.Old == nil || e.Old.Type == change.Directory
	case e.New.Type != change.File || e.Old != nil && e.Old.Type != change.File || !inGit(join(t.Prefix, e.Path)):
		return false
	}
	old, new := j.old(e), j.new(e)
	return is(new, e.New) && (e.Old == nil || is(old, e.Old)) && j.harmlessText(t, join(t.Prefix, e.Path), old, new)
}

// text is the one line for people: the most specific thing that gives the rank.
func (t *judged) text(e *Entry, v hostexec.Verdict) string {
	if e.Masked {
		return "masked inside: never written back"
	}
	for _, f := range e.Findings {
		if f.Rank == e.Rank && f.Rank != hostexec.Source {
			return f.Who + ", " + f.When + ": " + f.Why
		}
	}
	switch {
	case e.Rank != hostexec.Source:
		return v.Who + ", " + v.When + ": " + v.Why
	case t.ownData(e.Path):
		return "git's own data"
	case len(e.Findings) > 0:
		return e.Findings[0].Why
	}
	return ""
}

// ownData holds for what lies in a git directory.
func (t *judged) ownData(rel string) bool {
	return slices.ContainsFunc(t.spellings(rel), inGit)
}

// inGit holds for a path with a .git in it.
func inGit(p string) bool { return strings.Contains("/"+p+"/", "/.git/") }

// spellings are the paths that a path is judged by: its own, and the one that it
// would have if each directory that looks like a git directory were called .git.
func (t *judged) spellings(rel string) []string {
	if rel == "." {
		return nil
	}
	out := []string{join(t.Prefix, rel)}
	for dir := dirOf(rel); dir != "."; dir = dirOf(dir) {
		if baseOf(dir) != ".git" && t.looksGit(dir) {
			out = append(out, join(t.Prefix, dir)+"/.git/"+rel[len(dir)+1:])
		}
	}
	if t.Prefix == "" && t.looksGit(".") {
		out = append(out, ".git/"+rel)
	}
	return out
}

// looksGit reports whether git would take a directory for a bare repository.
func (t *judged) looksGit(dir string) bool {
	is, known := t.git[dir]
	if !known {
		is = t.has(join(dir, "HEAD")) && t.has(join(dir, "objects")) && t.has(join(dir, "refs"))
		t.git[dir] = is
	}
	return is
}

// has reports whether a path is there, in the layer or on the host.
func (t *judged) has(rel string) bool {
	if t.there[rel] {
		return true
	}
	if t.root < 0 {
		return false
	}
	fd, err := sys.OpenBeneath(t.root, rel)
	if err != nil {
		return false
	}
	unix.Close(fd)
	return true
}

// verdict asks the rules about a path. node is what is there, or else was.
func (t *judged) verdict(rel string, node, was *change.Node) hostexec.Verdict {
	if node == nil {
		node = was
	}
	v := hostexec.Verdict{Rank: hostexec.Source}
	for _, p := range t.spellings(rel) {
		one := t.rules.Judge(p, node != nil && node.Type == change.Directory)
		if node != nil && node.Type == change.Symlink {
			one = t.rules.JudgeLink(p)
		}
		if one.Rank < v.Rank || one.Hold && !v.Hold {
			v = one
		}
	}
	return v
}

// findings looks at what a change brings: a deletion brings nothing.
func (j *judge) findings(t *judged, e *Entry, v hostexec.Verdict, plain bool) []hostexec.Finding {
	if e.New == nil || e.Path == "." {
		return nil
	}
	var out []hostexec.Finding
	add := func(f *hostexec.Finding) {
		if f != nil && !slices.Contains(out, *f) {
			out = append(out, *f)
		}
	}
	add(hostexec.Name(e.Path))
	mode := uint32(0)
	if e.Old != nil {
		mode = e.Old.Mode
	}
	if plain {
		mode |= 0o111 // nobody executes it, whatever its mode
	}
	switch e.New.Type {
	case change.Symlink:
		add(hostexec.Link(e.Path, e.New.Link))
		for _, p := range t.spellings(e.Path) {
			add(hostexec.Link(p, e.New.Link))
		}
	case change.Directory:
		add(hostexec.Mode(e.Path, mode|0o1777, e.New.Mode))
		add(t.bare(e))
	case change.File:
		add(hostexec.Mode(join(t.Prefix, e.Path), mode, e.New.Mode))
		out = append(out, j.inspect(t, e, v)...)
		add(t.bare(e))
	case change.Special:
		add(&hostexec.Finding{Rank: hostexec.Source, Who: "nobody", When: "never", Why: "neither a file, a directory nor a link: never brought to the host"})
	}
	slices.SortStableFunc(out, func(a, b hostexec.Finding) int { return cmp.Compare(a.Rank, b.Rank) })
	return out
}

// inspect reads what a file says.
func (j *judge) inspect(t *judged, e *Entry, v hostexec.Verdict) []hostexec.Finding {
	same := e.Old != nil && e.Old.Hash == e.New.Hash && e.Old.Hash != "" && e.From == ""
	if same || v.Rank == hostexec.Source && slices.ContainsFunc(t.spellings(e.Path), bulk) {
		return nil
	}
	old, new := j.old(e), j.new(e)
	if e.From != "" {
		old = nil // under this name all of it is new
	}
	if new == nil {
		return []hostexec.Finding{{Rank: v.Rank, Who: "unknown", When: "unknown", Why: "cannot be read"}}
	}
	var out []hostexec.Finding
	for _, p := range t.spellings(e.Path) {
		for _, f := range t.rules.Inspect(p, old, new) {
			if !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	return out
}

// bulk holds for the many files of a git directory in which nobody reads.
func bulk(p string) bool {
	_, in, ok := strings.Cut("/"+p, "/.git/")
	in = "/" + in
	return ok && (strings.Contains(in, "/objects/") || strings.Contains(in, "/refs/") || strings.Contains(in, "/logs/") || strings.HasSuffix(in, "/index"))
}

// bare says of a directory, or of the HEAD in it, that it became a repository that
// is not called .git.
func (t *judged) bare(e *Entry) *hostexec.Finding {
	dir := e.Path
	if baseOf(e.Path) == "HEAD" {
		dir = dirOf(e.Path)
	}
	if e.Old != nil || t.Prefix != "" || inGit(dir) || !t.looksGit(dir) {
		return nil
	}
	return &hostexec.Finding{
		Rank: hostexec.Unasked, Who: "git", When: "at the next git command in this directory",
		Why: "a new bare repository, with its own hooks and configuration",
	}
}
