package session

import (
	"fmt"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/git/repo"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// tree is a directory of the host that the agent may change.
type tree struct {
	path   string
	prefix string // ".git" for a git directory
	rules  *hostexec.Rules
	pinned []string
	masked map[string][]byte // what of it shows phantoms since the launch
}

// treeAt finds the tree of a path: the plan and the session number theirs apart.
func treeAt(trees []tree, path plan.Raw) (*tree, error) {
	at := slices.IndexFunc(trees, func(t tree) bool { return t.path == string(path) })
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

// keep gives every tree its view, its layer and its rules.
func (ts *Trees) keep(b Base, total *Contribution) error {
	builtin, err := hostexec.Builtin()
	if err != nil {
		return err
	}
	ts.clone = total.clone
	b.work.Agent, b.work.Project = b.Profile.Name, b.projectRoot()
	b.work.Name, b.work.Cwd, b.work.Stays = b.Name, b.asked.Dir, b.asked.Keep
	if total.mounts, err = plan.Join(total.mounts); err != nil {
		return err
	}
	for i := range total.mounts {
		m := &total.mounts[i]
		at := slices.IndexFunc(total.trees, func(t tree) bool { return t.path == m.Dst })
		if at < 0 || !m.Write { // a tighter rule took its place
			continue
		}
		t := total.trees[at]
		m.View = b.viewOf()
		wt := review.Tree{Path: m.Src, View: review.View(m.View), Prefix: t.prefix}
		if b.Repo != nil && t.prefix == "" && file.Within(m.Src, b.Repo.Root()) {
			wt.Head = repo.Head(b.Repo)
		}
		n := b.work.Add(wt)
		m.Layer = &plan.Layer{Upper: b.work.Upper(n), Work: b.work.Scratch(n)}
		t.rules = builtin.With(executed(b.place, m.Src))
		if t.prefix != "" {
			t.rules = t.rules.InGit()
		}
		t.pin(m.Src, total.pinned, ts.masking.phantoms)
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

// addClone shows a clone in the place of the repository. It is the session's own, so
// nothing in it is held: the host gets commits by fetching them.
func (gs *grants) addClone(m plan.Mount) error {
	switch {
	case gs.Repo == nil || gs.Repo.WorkTree != m.Src:
		return fault.New(fault.Refused, "start in the root of a git repository, or leave --clone out", "--clone: %s is not the root of a git repository", plan.Show(m.Src))
	case repo.Head(gs.Repo) == "":
		return fault.New(fault.Refused, "commit something first", "--clone: %s has no commit yet", plan.Show(m.Src))
	}
	gs.clone = m.Src
	m.Src, m.ID, m.Write, m.Why = gs.work.CloneDir(), nil, true, "clone of the workspace"
	gs.mounts = append(gs.mounts, m)
	gs.notice(fmt.Sprintf("clone      on branch %s, without what is not committed; fetch it with: git fetch %s", gs.work.Branch(), gs.ID))
	return nil
}

// gitPrefix is for a workspace that is a bare repository.
func gitPrefix(p place, path string) string {
	if p.Repo != nil && p.Repo.WorkTree == "" && p.Repo.GitDir == path {
		return ".git"
	}
	return ""
}

// View says in a word how a workspace is shown.
func (s *Session) View(ws Workspace) string {
	switch {
	case !ws.Write:
		return "ro"
	case ws.Path == s.Trees.clone:
		return "clone"
	}
	for _, t := range s.work.Trees {
		if t.Path == ws.Path {
			return string(t.View)
		}
	}
	return "rw"
}

// executed names what the repository's own settings make git run from the tree:
// the targets of links and paths, which no name gives away.
func executed(p place, root string) []string {
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
