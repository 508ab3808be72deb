package gitproxy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/git/object"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

// folder is what of a tree matters: the entries that are on the way to a path
// that runs.
type folder struct {
	entries map[string]object.Entry
	err     error // the tree is not well-formed
}

var emptyFolder = &folder{}

// maxRuns bounds what of one directory is compared.
const maxRuns = 256

// runs tells which paths a forge runs, by the same data by which a session's changes
// are ranked. New has seen that it can be read.
func runs() *hostexec.Pushed {
	p, err := hostexec.OnPush()
	if err != nil {
		panic(err)
	}
	return p
}

// readFolder returns one and the same folder for all trees that have nothing to
// say, for those are nearly all.
func readFolder(data []byte) *folder {
	out, twice, known := &folder{}, false, runs()
	out.err = object.EachEntry(data, func(e object.Entry) {
		if !known.Part(e.Name) {
			return
		}
		if out.entries == nil {
			out.entries = map[string]object.Entry{}
		}
		_, had := out.entries[e.Name] // as a file, and now as a directory
		twice = twice || had
		out.entries[e.Name] = e
	})
	switch {
	case out.err == nil && twice:
		out.err = fmt.Errorf("%w: tree with two entries of one name", object.ErrFormat)
	case out.err == nil && len(out.entries) > maxRuns:
		out.err = fmt.Errorf("a directory has more than %d files that the forge may run", maxRuns)
	}
	if out.err == nil && out.entries == nil {
		return emptyFolder
	}
	return out
}

// spot is a path of a tree, and the rule for which it counts.
type spot struct{ rule, path string }

// form is what a commit has at the paths that run.
type form map[spot]object.Entry

// key is the same for forms that are the same.
func (f form) key() string {
	var b strings.Builder
	for _, s := range f.spots() {
		fmt.Fprintf(&b, "%q %q %s %s\n", s.rule, s.path, f[s].Mode, f[s].ID)
	}
	return b.String()
}

func (f form) spots() []spot {
	return slices.SortedFunc(maps.Keys(f), func(a, b spot) int { return cmp.Or(strings.Compare(a.rule, b.rule), strings.Compare(a.path, b.path)) })
}

// changed returns a path that runs and that a new commit has in a form which none
// of these has: the commits it stands on, the branch as it was, the default
// branch. A first commit stands on nothing, so nothing is a form too.
func (p *proof) changed(c command, tip object.ID) (string, error) {
	way, err := p.walk(tip)
	if err != nil {
		return "", err
	}
	path, err := p.changedOn(c, way)
	if err != nil || path == "" {
		return path, err
	}
	found, err := p.narrow(tip)
	if err != nil || !found {
		return path, err
	}
	if way, err = p.walk(tip); err != nil {
		return "", err
	}
	return p.changedOn(c, way)
}

// changedOn does it for one idea of what is new.
func (p *proof) changedOn(c command, way reach) (string, error) {
	if len(way.fresh) == 0 {
		return "", nil
	}
	base := slices.Clone(way.edge)
	if strings.HasPrefix(c.ref, headsPrefix) && !c.old.IsZero() {
		base = append(base, c.old)
	}
	if id, ok := p.state.refs[p.state.head]; ok {
		base = append(base, id)
	}
	before, err := p.forms(base)
	if err != nil {
		return "", err
	}
	if way.root {
		before = append(before, form{})
	}
	after, err := p.forms(way.fresh)
	if err != nil {
		return "", err
	}
	p.r.f.known.put(p, append(base, way.fresh[0]))
	all := form{}
	for _, f := range slices.Concat(before, after) {
		maps.Copy(all, f)
	}
	for _, s := range all.spots() { // where a form has nothing it has the zero Entry
		for _, f := range after {
			if !slices.ContainsFunc(before, func(b form) bool { return b[s] == f[s] }) {
				return s.rule, nil
			}
		}
	}
	return "", nil
}

// forms returns the forms of commits, each that there is once. What is missing is
// asked of the server, level by level.
func (p *proof) forms(ids []object.ID) ([]form, error) {
	if err := p.needCommits(ids); err != nil {
		return nil, err
	}
	roots := map[object.ID]bool{}
	for _, id := range ids {
		roots[p.commits[id].Tree] = true
	}
	if err := p.needFolders(roots); err != nil {
		return nil, err
	}
	inner := map[object.ID]bool{}
	for root := range roots {
		for id := range p.folders[root].inner() {
			inner[id] = true
		}
	}
	if err := p.needFolders(inner); err != nil {
		return nil, err
	}
	var out []form
	seen := map[string]bool{}
	for root := range roots {
		f := p.form(root)
		if key := f.key(); !seen[key] {
			seen[key], out = true, append(out, f)
		}
	}
	return out, nil
}

// inner are the directories on the way to a path that runs.
func (f *folder) inner() map[object.ID]bool {
	out := map[object.ID]bool{}
	for name, e := range f.entries {
		if e.IsTree() && runs().Leads(name) {
			out[e.ID] = true
		}
	}
	return out
}

// form reads a form out of folders that are there.
func (p *proof) form(root object.ID) form {
	out, known := form{}, runs()
	for first, e := range p.folders[root].entries {
		for _, rule := range known.Runs(first, "", e.IsTree()) {
			out[spot{rule, first}] = e
		}
		if !e.IsTree() || !known.Leads(first) {
			continue
		}
		for second, inner := range p.folders[e.ID].entries {
			for _, rule := range known.Runs(first, second, inner.IsTree()) {
				out[spot{rule, first + "/" + second}] = inner
			}
		}
	}
	return out
}
