package session

import (
	"fmt"
	"runtime"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/git/repo"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/seccomp"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// tree is a directory of the host that the agent may change.
type tree struct {
	mount  int    // in draft.mounts
	prefix string // ".git" for a git directory
	rules  *hostexec.Rules
	pinned []string
	masked map[string][]byte // what of it shows phantoms since the launch
}

func (t *tree) keepMask(rel string, data []byte) {
	if t.masked == nil {
		t.masked = map[string][]byte{}
	}
	t.masked[rel] = data
}

// addTree mounts a directory that may be changed, in the view that policy says.
func (d *draft) addTree(m plan.Mount, prefix string) {
	m.Write = true
	d.trees = append(d.trees, tree{mount: len(d.mounts), prefix: prefix})
	d.mounts = append(d.mounts, m)
}

func (d *draft) view() plan.View {
	if v := d.Policy.Workspace.View; v != nil && v.Value == string(plan.Review) {
		return plan.Review
	}
	return plan.Live
}

// keepTrees gives every tree its view, its layer and its rules.
func (d *draft) keepTrees() error {
	builtin, err := hostexec.Builtin()
	if err != nil {
		return err
	}
	d.undoFile, d.undoTotal = value(d.Policy.Workspace.UndoFile), value(d.Policy.Workspace.Undo)
	d.work.Agent, d.work.Project = d.Profile.Name, d.projectRoot()
	d.work.Name, d.work.Cwd, d.work.Stays = d.Name, d.opt.Dir, d.opt.Keep
	for i := range d.trees {
		t := &d.trees[i]
		m := &d.mounts[t.mount]
		m.View = d.view()
		wt := review.Tree{Path: m.Src, View: review.View(m.View), Prefix: t.prefix}
		if d.Repo != nil && t.prefix == "" && file.Within(m.Src, d.Repo.Root()) {
			wt.Head = repo.Head(d.Repo)
		}
		n := d.work.Add(wt)
		m.Layer = &plan.Layer{Upper: d.work.Upper(n), Work: d.work.Scratch(n)}
		t.rules = builtin.With(d.executed(m.Src))
		if t.prefix != "" {
			t.rules = t.rules.InGit()
		}
		for _, p := range d.pinned {
			if p != m.Src && file.Within(p, m.Src) {
				rel := strings.TrimPrefix(p[len(m.Src):], "/")
				t.pinned = append(t.pinned, rel)
				if data, ok := d.masking.phantoms[p]; ok {
					t.keepMask(rel, data)
				}
			}
		}
	}
	if len(d.trees) > 0 && d.view() == plan.Review {
		if d.filter, err = seccomp.Review(runtime.GOARCH); err == nil && d.opt.Learn {
			d.watch, err = seccomp.Learn(runtime.GOARCH, false)
		}
		return err
	}
	if d.opt.Learn {
		d.watch, err = seccomp.Learn(runtime.GOARCH, len(d.trees) > 0)
		return err
	}
	d.watch, err = seccomp.Watch(runtime.GOARCH)
	return err
}

// addClone shows a clone in the place of the repository. It is the session's own, so
// nothing in it is held: the host gets commits by fetching them.
func (d *draft) addClone(m plan.Mount) error {
	switch {
	case d.Repo == nil || d.Repo.WorkTree != m.Src:
		return fault.New(fault.Refused, "start in the root of a git repository, or leave --clone out", "--clone: %s is not the root of a git repository", plan.Show(m.Src))
	case repo.Head(d.Repo) == "":
		return fault.New(fault.Refused, "commit something first", "--clone: %s has no commit yet", plan.Show(m.Src))
	}
	d.clones = m.Src
	m.Src, m.ID, m.Write, m.Why = d.work.CloneDir(), nil, true, "clone of the workspace"
	d.mounts = append(d.mounts, m)
	d.notice(fmt.Sprintf("clone      on branch %s, without what is not committed; fetch it with: git fetch %s", d.work.Branch(), d.ID))
	return nil
}

// gitPrefix is for a workspace that is a bare repository.
func (d *draft) gitPrefix(path string) string {
	if d.Repo != nil && d.Repo.WorkTree == "" && d.Repo.GitDir == path {
		return ".git"
	}
	return ""
}

// View says in a word how a workspace is shown.
func (s *Session) View(ws Workspace) string {
	switch {
	case !ws.Write:
		return "ro"
	case ws.Path == s.clones:
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
func (d *draft) executed(root string) []string {
	if d.Repo == nil {
		return nil
	}
	var out []string
	for _, p := range repo.Executed(d.Repo) {
		if p != root && file.Within(p, root) {
			out = append(out, strings.TrimPrefix(p[len(root):], "/"))
		}
	}
	return out
}
