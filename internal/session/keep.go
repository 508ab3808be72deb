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
	mount  int    // which of the mounts
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

// calls are those of the sandbox that are looked at, in programs of seccomp.
type calls struct{ watch, filter []byte }

// keepTrees gives every tree its view, its layer and its rules.
func (s *Session) keepTrees(total *Contribution) (calls, error) {
	builtin, err := hostexec.Builtin()
	if err != nil {
		return calls{}, err
	}
	s.work.Agent, s.work.Project = s.Profile.Name, s.projectRoot()
	s.work.Name, s.work.Cwd, s.work.Stays = s.Name, s.asked.Dir, s.asked.Keep
	s.trees = total.trees
	for i := range s.trees {
		t := &s.trees[i]
		m := &total.mounts[t.mount]
		m.View = s.viewOf()
		wt := review.Tree{Path: m.Src, View: review.View(m.View), Prefix: t.prefix}
		if s.Repo != nil && t.prefix == "" && file.Within(m.Src, s.Repo.Root()) {
			wt.Head = repo.Head(s.Repo)
		}
		n := s.work.Add(wt)
		m.Layer = &plan.Layer{Upper: s.work.Upper(n), Work: s.work.Scratch(n)}
		t.rules = builtin.With(s.executed(m.Src))
		if t.prefix != "" {
			t.rules = t.rules.InGit()
		}
		t.pin(m.Src, total.pinned, s.masking.phantoms)
	}
	return watchedCalls(len(s.trees) > 0, s.viewOf() == plan.Review, s.asked.Learn)
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

func watchedCalls(trees, reviewed, learns bool) (c calls, err error) {
	switch {
	case trees && reviewed:
		if c.filter, err = seccomp.Review(runtime.GOARCH); err == nil && learns {
			c.watch, err = seccomp.Learn(runtime.GOARCH, false)
		}
	case learns:
		c.watch, err = seccomp.Learn(runtime.GOARCH, trees)
	default:
		c.watch, err = seccomp.Watch(runtime.GOARCH)
	}
	return c, err
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
func (p place) gitPrefix(path string) string {
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
func (p place) executed(root string) []string {
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
