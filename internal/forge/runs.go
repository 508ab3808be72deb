package forge

import (
	"fmt"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/pack"
)

// runs are the paths that tell a forge what to run, two elements deep at most. A
// directory counts as a whole.
var runs = [...]string{".github/workflows", ".github/actions", ".gitea/workflows", ".forgejo/workflows", ".gitlab-ci.yml", ".woodpecker", ".woodpecker.yml",
	".circleci", ".drone.yml", ".travis.yml", "azure-pipelines.yml", "bitbucket-pipelines.yml", "Jenkinsfile"}

// folder is what of a tree matters: the entries that are on the way to a path
// that runs.
type folder struct {
	entries map[string]pack.Entry
	err     error // the tree is not well-formed
}

var (
	emptyFolder = &folder{}
	onTheWay    = func() map[string]bool {
		out := map[string]bool{}
		for _, path := range runs {
			for e := range strings.SplitSeq(path, "/") {
				out[e] = true
			}
		}
		return out
	}()
)

// readFolder returns one and the same folder for all trees that have nothing to
// say, for those are nearly all.
func readFolder(data []byte) *folder {
	out, twice := &folder{}, false
	out.err = pack.EachEntry(data, func(e pack.Entry) {
		if !onTheWay[e.Name] {
			return
		}
		if out.entries == nil {
			out.entries = map[string]pack.Entry{}
		}
		_, had := out.entries[e.Name] // as a file, and now as a directory
		twice = twice || had
		out.entries[e.Name] = e
	})
	if out.err == nil && twice {
		out.err = fmt.Errorf("%w: tree with two entries of one name", pack.ErrFormat)
	}
	if out.err == nil && out.entries == nil {
		return emptyFolder
	}
	return out
}

// form is what a commit has at the paths that run. The zero Entry: nothing.
type form [len(runs)]pack.Entry

// changed returns a path that runs and that a new commit has in a form which none
// of these has: the commits it stands on, the branch as it was, the default
// branch. A first commit stands on nothing, so nothing is a form too.
func (p *proof) changed(c command, tip pack.ID) (string, error) {
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
		before[form{}] = true
	}
	after, err := p.forms(way.fresh)
	if err != nil {
		return "", err
	}
	p.r.f.known.put(p, append(base, way.fresh[0]))
	for i, path := range runs {
		had := map[pack.Entry]bool{}
		for f := range before {
			had[f[i]] = true
		}
		for f := range after {
			if !had[f[i]] {
				return path, nil
			}
		}
	}
	return "", nil
}

// forms returns the forms of commits, each that there is once. What is missing is
// asked of the server, level by level.
func (p *proof) forms(ids []pack.ID) (map[form]bool, error) {
	if err := p.needCommits(ids); err != nil {
		return nil, err
	}
	roots := map[pack.ID]bool{}
	for _, id := range ids {
		roots[p.commits[id].Tree] = true
	}
	if err := p.needFolders(roots); err != nil {
		return nil, err
	}
	inner := map[pack.ID]bool{}
	for root := range roots {
		for id := range p.folders[root].inner() {
			inner[id] = true
		}
	}
	if err := p.needFolders(inner); err != nil {
		return nil, err
	}
	out := map[form]bool{}
	for root := range roots {
		out[p.form(root)] = true
	}
	return out, nil
}

// inner are the directories on the way to a path that runs.
func (f *folder) inner() map[pack.ID]bool {
	out := map[pack.ID]bool{}
	for _, path := range runs {
		if first, _, deep := strings.Cut(path, "/"); deep && f.entries[first].IsTree() {
			out[f.entries[first].ID] = true
		}
	}
	return out
}

// form reads a form out of folders that are there. What is not a directory where
// one belongs counts itself.
func (p *proof) form(root pack.ID) form {
	var out form
	for i, path := range runs {
		first, second, deep := strings.Cut(path, "/")
		e := p.folders[root].entries[first]
		if deep && e.IsTree() {
			e = p.folders[e.ID].entries[second]
		}
		out[i] = e
	}
	return out
}
