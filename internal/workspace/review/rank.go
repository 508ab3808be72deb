package review

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/git/repo"
	"ringfence.dev/ringfence/internal/workspace/change"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

// judge ranks the changes of one review.
type judge struct {
	contents
	trees    []*judged
	notes    []string
	harmless []map[string]bool // by tree: what may be applied without a person
	groups   *groups           // of what waits
}

// judged is a tree with what is known of it.
type judged struct {
	*Tree
	lists
	root   int // descriptor; -1: the tree is gone
	rules  *hostexec.Rules
	memory *hostexec.Memory // while nothing is brought to the host
	nested *repo.Nested
}

// lists are the changes of a tree, by path.
type lists struct {
	waits []change.Change
	live  []change.Change
}

// changeAt looks for the change of a path. There may be hundreds of thousands, and few are asked for.
func changeAt(all []change.Change, rel string) *change.Change {
	at, ok := slices.BinarySearchFunc(all, rel, byPath)
	if !ok {
		return nil
	}
	return &all[at]
}

func byPath(c change.Change, rel string) int { return cmp.Compare(c.Path, rel) }

// inOrderOfPath sorts what is not sorted, as most lists are.
func inOrderOfPath(all []change.Change) {
	if !slices.IsSortedFunc(all, change.Compare) {
		slices.SortFunc(all, change.Compare)
	}
}

func newJudge(w *Work, log *history) (*judge, error) {
	builtin, err := hostexec.Builtin()
	if err != nil {
		return nil, err
	}
	j := &judge{contents: contents{w, log}, harmless: make([]map[string]bool, len(w.Trees))}
	for n := range w.Trees {
		t := &judged{Tree: &w.Trees[n], root: -1, nested: &repo.Nested{Root: w.Trees[n].Path}}
		if fd, err := sys.OpenSource(t.Path); err == nil {
			t.root = fd
		}
		extra, err := executed(t.Path)
		if err != nil {
			j.notes = append(j.notes, fmt.Sprintf("what git's settings in %q run is not known: %v", t.Path, err))
		}
		t.rules = builtin.With(extra)
		if t.Prefix != "" {
			t.rules = t.rules.InGit()
		}
		j.trees = append(j.trees, t)
	}
	return j, nil
}

// At tells what is at a path, in the layer or on the host. What the session deleted
// counts as there: a person may apply the rest without the deletion.
func (t *judged) At(rel string) (hostexec.Kind, bool) {
	for _, all := range [][]change.Change{t.waits, t.live} {
		if c := changeAt(all, rel); c != nil && c.New != nil {
			return kindOf(c.New.Type), true
		}
	}
	if t.root < 0 {
		return 0, false
	}
	fd, err := sys.OpenBeneath(t.root, rel)
	if err != nil {
		return 0, false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return 0, false
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return hostexec.KindFile, true
	case unix.S_IFDIR:
		return hostexec.KindDir, true
	case unix.S_IFLNK:
		return hostexec.KindLink, true
	}
	return hostexec.KindSpecial, true
}

// tree is whom the rules ask.
func (t *judged) tree() hostexec.Tree {
	if t.memory != nil {
		return t.memory
	}
	return t
}

func kindOf(t change.Type) hostexec.Kind {
	switch t {
	case change.File:
		return hostexec.KindFile
	case change.Directory:
		return hostexec.KindDir
	case change.Symlink:
		return hostexec.KindLink
	}
	return hostexec.KindSpecial
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
	own, err := repo.Find(root, "/")
	if own == nil || err != nil {
		return nil, err
	}
	var out []string
	for _, p := range repo.Executed(own) {
		if p != root && file.Within(p, root) {
			out = append(out, strings.TrimPrefix(p[len(root):], "/"))
		}
	}
	return out, nil
}

func (j *judge) rankAll(entries []Entry, all []lists) {
	waits := make([][]change.Change, len(j.trees))
	for n, t := range j.trees {
		waits[n], t.live = all[n].waits, all[n].live
		inOrderOfPath(t.live)
	}
	j.findHarmless(waits)
	// From here on the judge only reads.
	side(entries, func(from, to int) {
		j := j.reading()
		for i := from; i < to; i++ {
			j.rank(&entries[i])
		}
	})
}

// reading is the same judge for one worker, which remembers the directory that it is in.
func (j *judge) reading() *judge {
	out := *j
	out.trees = nil
	for _, t := range j.trees {
		mine := *t
		mine.memory = &hostexec.Memory{Tree: t}
		out.trees = append(out.trees, &mine)
	}
	return &out
}

// rank says of one change how soon the host executes it, and why.
func (j *judge) rank(e *Entry) {
	t := j.trees[e.Tree]
	e.own = t.ownData(e.Path)
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
	if e.Text = e.text(v); plain && e.Text == "git's own data" && e.New.Type == change.File {
		e.Text = "makes git run nothing"
	}
	if e.Masked && e.State == Waits {
		e.Text = j.work.tree(e.Tree).mergeText(e.Change)
		if e.Rank == hostexec.Unasked && len(e.Findings) > 0 { // what apply would bring is more than a secret: that first
			e.Findings = append(e.Findings, hostexec.Finding{Rank: hostexec.Secret, Who: "ringfence apply", When: "when you ask for it", Why: e.Text})
			e.Text = e.Findings[0].Who + ", " + e.Findings[0].When + ": " + e.Findings[0].Why
		}
	}
}

// plain holds for what is executed by nobody although its path is in a rule: a
// directory, of which what is in it has entries of its own, and what git itself
// writes in ordinary work, as a whole.
func (j *judge) plain(t *judged, e *Entry, v hostexec.Verdict) bool {
	switch {
	case v.Rank != hostexec.Unasked || e.From != "" || e.New == nil:
		return false
	case e.New.Type == change.Directory:
		return e.Old == nil || e.Old.Type == change.Directory
	}
	if e.State == OnHost { // it was applied: by itself, or by a person
		g := &groups{judge: j, up: map[location]location{}, bad: map[location]bool{}}
		return e.own && g.fine(e.Tree, e.Change, OnHost)
	}
	return j.harmless[e.Tree][e.Path]
}

// text is the one line for people: the most specific thing that gives the rank.
func (e *Entry) text(v hostexec.Verdict) string {
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
	case e.own:
		return "git's own data"
	case len(e.Findings) > 0:
		return e.Findings[0].Why
	}
	return ""
}

// ownData holds for what lies in a git directory.
func (t *judged) ownData(rel string) bool { return rel != "." && t.rules.InGitDirectory(t.tree(), rel) }

// verdict asks the rules about a path. node is what is there, or else was.
func (t *judged) verdict(rel string, node, was *change.Node) hostexec.Verdict {
	if node == nil {
		node = was
	}
	if rel == "." || node == nil {
		return hostexec.Verdict{Rank: hostexec.Source}
	}
	v := t.rules.JudgeIn(t.tree(), rel, kindOf(node.Type))
	if e, ok := t.nested.Executed(rel); ok && !v.Hold {
		v = t.rules.With([]string{e}).JudgeIn(t.tree(), rel, kindOf(node.Type))
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
	case change.Directory:
		add(t.bare(e))
	case change.File:
		add(hostexec.Mode(join(t.Prefix, e.Path), mode, e.New.Mode))
		found := j.inspect(t, e, v, plain)
		if bad := j.misshapen(e, v); !raise(found, bad, v.Form) {
			add(bad)
		}
		out = append(out, found...)
		if baseOf(e.Path) == "HEAD" {
			add(t.bare(e))
		}
	case change.Special:
		add(&hostexec.Finding{Rank: hostexec.Source, Who: "nobody", When: "never", Why: "neither a file, a directory nor a link: never brought to the host"})
	}
	slices.SortStableFunc(out, func(a, b hostexec.Finding) int { return cmp.Compare(a.Rank, b.Rank) })
	return out
}

// inspect reads what a file says. What is plain was judged as a whole: what its
// settings would execute elsewhere they do not execute here.
func (j *judge) inspect(t *judged, e *Entry, v hostexec.Verdict, plain bool) []hostexec.Finding {
	same := e.Old != nil && e.Old.Hash == e.New.Hash && e.Old.Hash != "" && e.From == ""
	if same || v.Rank == hostexec.Source && e.own {
		return nil
	}
	if e.Plain && !t.rules.Looks(t.tree(), e.Path, e.New.Size) {
		return nil // it was read already: there is nothing to be found in it
	}
	old, new := j.old(e), j.new(e)
	if e.From != "" {
		old = nil // under this name all of it is new
	}
	if new == nil {
		return []hostexec.Finding{{Rank: v.Rank, Who: "unknown", When: "unknown", Why: "cannot be read"}}
	}
	found := t.rules.InspectIn(t.tree(), e.Path, old, new)
	if plain {
		found = slices.DeleteFunc(found, func(f hostexec.Finding) bool { return f.Rank == hostexec.Unasked })
	}
	return found
}

// raise gives what was found in a file of variables the rank that the whole file has: then
// that need not be said once more.
func raise(found []hostexec.Finding, bad *hostexec.Finding, form hostexec.Form) (said bool) {
	for i := range found {
		if bad != nil && form == hostexec.FormEnv && found[i].Who == bad.Who {
			found[i].Rank, said = bad.Rank, true
		}
	}
	return said
}

// misshapen looks into files that lead git by their content, such as its index.
func (j *judge) misshapen(e *Entry, v hostexec.Verdict) *hostexec.Finding {
	if v.Hold || v.Form == hostexec.FormAny {
		return nil
	}
	out := &hostexec.Finding{Rank: hostexec.Unasked, Who: "git", When: "at a git command that reads it", Why: "cannot be read"}
	if v.Form == hostexec.FormEnv {
		out.Who, out.When = hostexec.EnvReaders, hostexec.EnvWhen
	}
	content := j.newMost(e, hostexec.MaxJudged)
	if content == nil {
		return out
	}
	var config []byte
	if part, ok := j.trees[e.Tree].rules.Part(j.trees[e.Tree], e.Path, hostexec.KindFile); ok {
		config = j.settings(e.Tree, part)
	}
	err := hostexec.FitsAfter(v.Form, j.before(e), content, config)
	if err == nil {
		return nil
	}
	out.Why = err.Error()
	return out
}

// bare says of a directory, or of the HEAD in it, that it became a repository that
// is not called .git.
func (t *judged) bare(e *Entry) *hostexec.Finding {
	dir := e.Path
	if baseOf(e.Path) == "HEAD" {
		dir = dirOf(e.Path)
	}
	if dir == "" {
		dir = "."
	}
	if e.Old != nil || t.Prefix != "" || t.ownData(dir) || !t.rules.InGitDirectory(t.tree(), join(dir, "x")) {
		return nil
	}
	return &hostexec.Finding{
		Rank: hostexec.Unasked, Who: "git", When: "at the next git command in this directory",
		Why: "a new bare repository, with its own hooks and configuration",
	}
}
