package trees

import (
	"fmt"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/git/repo"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// tree is a directory of the host that the agent may change.
type tree struct {
	launch.TreeMount
	rules  *hostexec.Rules
	pinned []string
	masked map[string][]byte // what of it shows phantoms since the launch
}

// treeAt finds the tree of a path: the plan and the session number theirs apart.
func treeAt(trees []tree, path plan.Raw) (*tree, error) {
	at := slices.IndexFunc(trees, func(t tree) bool { return t.Path == string(path) })
	if at < 0 {
		return nil, fmt.Errorf("%s is no tree of this session", plan.Show(string(path)))
	}
	return &trees[at], nil
}

func (t *tree) keepMask(rel string, data []byte) {
	if t.masked == nil {
		t.masked = map[string][]byte{}
	}
	t.masked[rel] = data
}

// Keep gives every tree its view, its layer and its rules.
func (ts *Trees) Keep(b launch.Base, total *launch.Contribution) error {
	builtin, err := hostexec.Builtin()
	if err != nil {
		return err
	}
	ts.Clone = total.Clone
	b.Work.Agent, b.Work.Project = b.Profile.Name, b.ProjectRoot()
	b.Work.Name, b.Work.Cwd, b.Work.Stays = b.Name, b.Asked.Dir, b.Asked.Keep
	// Settings of the project that show phantoms are held in place by those.
	total.Mounts = slices.DeleteFunc(total.Mounts, func(m plan.Mount) bool {
		return m.Why == settingsOfProject && ts.masking.phantoms[m.Dst] != nil
	})
	if total.Mounts, err = plan.Join(total.Mounts); err != nil {
		return err
	}
	for i := range total.Mounts {
		m := &total.Mounts[i]
		at := slices.IndexFunc(total.Trees, func(t launch.TreeMount) bool { return t.Path == m.Dst })
		if at < 0 || !m.Write { // a tighter rule took its place
			continue
		}
		t := tree{TreeMount: total.Trees[at]}
		m.View = b.ViewMode()
		wt := review.Tree{Path: m.Src, View: review.View(m.View), Prefix: t.Prefix}
		if b.Repo != nil && t.Prefix == "" && file.Within(m.Src, b.Repo.Root()) {
			wt.Head = repo.Head(b.Repo)
		}
		n := b.Work.Add(wt)
		m.Layer = &plan.Layer{Upper: b.Work.Upper(n), Work: b.Work.Scratch(n)}
		t.rules = builtin.With(executed(b.Place, m.Src))
		if t.Prefix != "" {
			t.rules = t.rules.InGit()
		}
		t.pin(m.Src, total.Pinned, ts.masking.phantoms)
		ts.list = append(ts.list, t)
	}
	return nil
}

// Any holds for a session that may change something.
func (ts *Trees) Any() bool { return len(ts.list) > 0 }

// Rules are those of a tree.
func (ts *Trees) Rules(path string) *hostexec.Rules {
	t, err := treeAt(ts.list, plan.Raw(path))
	if err != nil {
		return nil
	}
	return t.rules
}

// pin keeps in the tree what rules name, and what shows phantoms since the launch.
func (t *tree) pin(root string, pinned []string, phantoms map[string][]byte) {
	for _, p := range pinned {
		if p == root || !file.Within(p, root) {
			continue
		}
		rel := strings.TrimPrefix(p[len(root):], "/")
		t.pinned = append(t.pinned, rel)
		if data, ok := phantoms[p]; ok {
			t.keepMask(rel, data)
		}
	}
}

// executed names what the repository's own settings make git run from the tree:
// the targets of links and paths, which no name gives away.
func executed(p launch.Place, root string) []string {
	if p.Repo == nil {
		return nil
	}
	var out []string
	for _, run := range repo.Executed(p.Repo) {
		if run != root && file.Within(run, root) {
			out = append(out, strings.TrimPrefix(run[len(root):], "/"))
		}
	}
	return out
}
