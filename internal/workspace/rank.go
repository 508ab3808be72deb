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
	root   int // descriptor; -1: the tree is gone
	rules  *hostexec.Rules
	there  map[string]bool     // paths that the session made
	dirs   map[string]bool     // those of them that are directories
	git    map[string]bool     // directories: whether they look like a git directory
	heads  map[string][]string // directories: which ones from there upward have a HEAD
	nested *gitdir.Nested
}

func (w *Work) newJudge(log *history) (*judge, error) {
	builtin, err := hostexec.Builtin()
	if err != nil {
		return nil, err
	}
	j := &judge{contents: contents{w, log}}
	for n := range w.Trees {
		t := &judged{Tree: &w.Trees[n], root: -1, there: map[string]bool{}, dirs: map[string]bool{}, git: map[string]bool{},
			heads: map[string][]string{}, nested: &gitdir.Nested{Root: w.Trees[n].Path}}
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

// judge also knows what the settings of a repository in the tree lead to.
func (t *judged) judge(rel string, dir bool) hostexec.Verdict {
	v := t.rules.Judge(rel, dir)
	if v.Hold {
		return v
	}
	if e, ok := t.nested.Executed(rel); ok {
		return t.rules.With([]string{e}).Judge(rel, dir)
	}
	return v
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
			t := j.trees[e.Tree]
			t.there[e.Path], t.dirs[e.Path] = true, e.New.Type == change.Directory
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

// ownData holds for what lies in a git directory that is one by all that git needs.
func (t *judged) ownData(rel string) bool { return t.inWhole(rel, inGit) }

// inWhole asks about a path as it is, and as it is in git directories that are whole.
func (t *judged) inWhole(rel string, holds func(string) bool) bool {
	return rel != "." && (holds(join(t.Prefix, rel)) || slices.ContainsFunc(t.headed(dirOf(rel)), func(dir string) bool {
		return t.looksGit(dir) && holds(".git/"+in(dir, rel))
	}))
}

// inGit holds for a path with a .git in it.
func inGit(p string) bool { return strings.Contains("/"+p+"/", "/.git/") }

// spellings are the paths that a path is judged by: its own, and the one that it
// would have if each directory that may be a git directory were called .git.
func (t *judged) spellings(rel string) []string {
	if rel == "." {
		return nil
	}
	out := []string{join(t.Prefix, rel)}
	for _, dir := range t.headed(dirOf(rel)) {
		if t.looksGit(dir) || !inGit(join(t.Prefix, dir)) && t.steers(in(dir, rel)) {
			out = append(out, join(join(t.Prefix, dir), ".git/"+in(dir, rel)))
		}
	}
	return out
}

// in is the path from a directory of the tree.
func in(dir, rel string) string {
	if dir == "." {
		return rel
	}
	return rel[len(dir)+1:]
}

// maxHeads bounds how many directories with a HEAD are looked at for one path, the
// nearest first. What git runs lies near to the HEAD that it belongs to.
const maxHeads = 8

// headed lists the directories from dir upward that have a HEAD, without those that
// are called .git. It is enough to be beside one: with commondir git finds all else
// elsewhere, and what is still missing may come later.
func (t *judged) headed(dir string) []string {
	if dirs, known := t.heads[dir]; known {
		return dirs
	}
	var dirs []string
	if dir != "." {
		dirs = t.headed(dirOf(dir))
	}
	named := baseOf(dir) == ".git" || dir == "." && t.Prefix != ""
	if has, isDir := t.has(join(dir, "HEAD")); !named && has && !isDir {
		dirs = append([]string{dir}, dirs[:min(len(dirs), maxHeads-1)]...)
	}
	t.heads[dir] = dirs
	return dirs
}

// steers holds for a path in a git directory by which git is led or run.
func (t *judged) steers(in string) bool {
	first, _, _ := strings.Cut(in, "/")
	return t.rules.InGitDir(first) || strings.EqualFold(in, "info/attributes")
}

// looksGit reports whether git would take a directory for a bare repository.
func (t *judged) looksGit(dir string) bool {
	is, known := t.git[dir]
	if !known {
		is = t.hasAll(dir, "HEAD", "objects", "refs")
		t.git[dir] = is
	}
	return is
}

func (t *judged) hasAll(dir string, names ...string) bool {
	for _, name := range names {
		if has, _ := t.has(join(dir, name)); !has {
			return false
		}
	}
	return true
}

// has reports whether a path is there, in the layer or on the host, and is a directory.
func (t *judged) has(rel string) (has, isDir bool) {
	if t.there[rel] {
		return true, t.dirs[rel]
	}
	if t.root < 0 {
		return false, false
	}
	fd, err := sys.OpenBeneath(t.root, rel)
	if err != nil {
		return false, false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	return true, unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// verdict asks the rules about a path. node is what is there, or else was.
func (t *judged) verdict(rel string, node, was *change.Node) hostexec.Verdict {
	if node == nil {
		node = was
	}
	v := hostexec.Verdict{Rank: hostexec.Source}
	for _, p := range t.spellings(rel) {
		one := t.judge(p, node != nil && node.Type == change.Directory)
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
	if same || v.Rank == hostexec.Source && t.inWhole(e.Path, bulk) {
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
	if e.Old != nil || t.Prefix != "" || inGit(dir) || !t.looksGit(dir) && !t.hasAll(dir, "HEAD", "commondir") {
		return nil
	}
	return &hostexec.Finding{
		Rank: hostexec.Unasked, Who: "git", When: "at the next git command in this directory",
		Why: "a new bare repository, with its own hooks and configuration",
	}
}
