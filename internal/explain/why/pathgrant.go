package why

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

// grantPath looks for the smallest grant that would show a path or let it be written.
// It returns the world with it. A launch that takes a path to be written also takes
// it to be read, all other checks being the same: written is such a world, if one was
// found, and saves a preparation.
func (w *World) grantPath(path string, s *spot, f *Finding, written *World) *World {
	if !f.refused() || f.Help != "" {
		return nil
	}
	ask := func(with *World) *Finding {
		now := view{with.Plan}.find(path)
		out := map[string]func(*spot) Finding{Read: with.read, Write: with.write, Execute: with.execute}[f.Access](&now)
		return &out
	}
	if s.op != nil && secrets(s.op) {
		return w.try(f, ask, written, Grant{Layer: &policy.Policy{Workspace: policy.Workspace{Reveal: granted(s.path)}},
			Also: []string{"the real secrets in it, to the agent and to whoever the agent talks to"}})
	}
	st, err := os.Lstat(path)
	if err != nil {
		switch {
		case f.Verdict == Private:
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir):
			f.Help = "the host has nothing there that could be shown"
		default:
			f.Help = unreachable
		}
		return nil
	}
	layer := &policy.Policy{}
	if f.Access == Write {
		layer.Files.Write = granted(path)
	} else {
		layer.Files.Read = granted(path)
	}
	found := w.Credentials(path)
	for _, c := range found {
		layer.Files.Expose = append(layer.Files.Expose, granted(c.Path)...)
	}
	g := Grant{Layer: layer}
	for i, c := range found {
		if i == maxAlso {
			g.Also = append(g.Also, fmt.Sprintf("%d more credentials", len(found)-i))
			break
		}
		g.Also = append(g.Also, fmt.Sprintf("the credential %s (%s)", plan.Show(c.Path), c.Entry.What))
	}
	g.Also = append(g.Also, alsoPath(path, st, f.Access == Write)...)
	if len(g.Also) == 0 {
		g.Also = []string{"nothing else: it is one file"}
	}
	return w.try(f, ask, written, g)
}

// unreachable is said of what may be there and cannot be looked at.
const unreachable = "what your own user cannot reach on the host cannot be shown inside"

// maxAlso bounds a list for people.
const maxAlso = 8

// alsoPath says what else comes with a path.
func alsoPath(path string, st fs.FileInfo, write bool) []string {
	var out []string
	if st.IsDir() {
		n, more := entries(path)
		text := fmt.Sprintf("everything below it: %d entries at the top", n)
		if more {
			text = fmt.Sprintf("everything below it: more than %d entries at the top", n)
		}
		out = append(out, text+", and what will be put there later")
	} else if own, ok := st.Sys().(*syscall.Stat_t); ok && own.Nlink > 1 {
		out = append(out, fmt.Sprintf("its other %d names, which are the same file", own.Nlink-1))
	}
	if write {
		if r, err := hostexec.Builtin(); err == nil && !st.IsDir() {
			if v := r.Judge(filepath.Base(path), false); v.Hold {
				out = append(out, fmt.Sprintf("to change what the host runs: %s %s", v.Who, v.When))
			}
		}
		out = append(out, "to read it too")
	}
	return out
}

// entries counts names of a directory, up to a bound.
func entries(path string) (n int, more bool) {
	const most = 1000
	d, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer d.Close()
	names, _ := d.Readdirnames(most + 1)
	return min(len(names), most), len(names) > most
}

// notePath adds what a person should know besides.
func (w *World) notePath(a *Answer, s *spot) {
	if c, ok := w.asked("files", []string{"read", "write"}, a.Subject); ok {
		a.Notes = append(a.Notes, fmt.Sprintf("%s asks for it and is not trusted: read it, then ringfence trust", c.Source))
	}
	if a.Leads != "" {
		a.Notes = append(a.Notes, fmt.Sprintf("inside, links lead from it to %s, which is what is judged", plan.Show(a.Leads)))
	}
	if s.op == nil || s.op.Do != plan.DoBind {
		return
	}
	for _, t := range w.Trees {
		if t.Path == s.path && t.View == plan.Live {
			a.Notes = append(a.Notes, "single paths below it may be held back or show phantoms: ask about them")
		}
	}
}
