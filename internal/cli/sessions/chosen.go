package sessions

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/control"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// chosen is the session that a command of the review is about, and the part of its
// changes that was named.
type chosen struct {
	work   *review.Work
	report *review.Report
	sel    []review.Selected // nil: all
	failed error             // of the review: the report is not complete
}

// look makes the report, once. What a running session changed elsewhere is brought here
// before. One that cannot be asked is looked at as it lies here.
func (ch *chosen) look() *review.Report {
	if ch.report == nil {
		var stale error
		if ch.work.Running() {
			_, stale = control.Ask(ch.work.ID, control.Request{Do: "sync"})
			if f := (*fault.Error)(nil); errors.As(stale, &f) {
				stale = nil
			}
		}
		ch.report, ch.failed = ch.work.Review()
		ch.failed = errors.Join(stale, ch.failed)
	}
	return ch.report
}

// What a command looks for in a session.
func (ch *chosen) waits() bool {
	waits, err := ch.work.Waits()
	return err != nil || waits
}

func (ch *chosen) live() bool { return len(ch.look().Live()) > 0 }

func (ch *chosen) any() bool { return len(ch.look().Entries) > 0 || ch.failed != nil }

// part is the named part of the report.
func (ch *chosen) part() *review.Report { return ch.report.Only(ch.sel) }

// shortest is how much of a session's name must be given.
const shortest = 4

// choose finds the session and the paths that the arguments name. Without a session
// it is the latest of this directory's project that has something.
func choose(c *command.Console, args []string, has func(*chosen) bool) (*chosen, error) {
	m, err := mean(c, args)
	if err != nil {
		return nil, err
	}
	ch := &chosen{work: m.work}
	if ch.work == nil {
		if ch = latest(m.works, m.here, has); ch == nil {
			return nil, fault.New(fault.Failed, "", "no session has left anything to review in %s", plan.Show(m.here))
		}
	}
	return ch, ch.only(m)
}

// meant is what the arguments of a command name, and what it could be.
type meant struct {
	works []*review.Work
	here  string
	work  *review.Work // nil: none is named
	paths []string
}

// mean takes the session from the arguments, if they begin with one.
func mean(c *command.Console, args []string) (m meant, err error) {
	if m.works, err = works(c); err != nil {
		return m, err
	}
	if m.here, err = canonicalHere(); err != nil {
		return m, err
	}
	if m.paths = args; len(args) == 0 || strings.ContainsAny(args[0], "/.") {
		return m, nil
	}
	first := args[0]
	found := matching(m.works, first)
	_, err = os.Lstat(filepath.Join(m.here, first))
	exists := err == nil
	switch {
	case len(found) == 1 && (found[0].ID == first || found[0].Name == first || !exists):
		m.work, m.paths = found[0], args[1:]
	case len(found) > 0 && exists:
		return m, fault.New(fault.Usage, fmt.Sprintf("./%s is the path; a session is meant by all of its name", first), "%q is a path, and the beginning of a session's name", first)
	case len(found) > 1:
		return m, fault.New(fault.Usage, "give more of its name", "%q is the beginning of %d sessions: %s", first, len(found), ids(found))
	}
	return m, nil
}

// only looks at the session, and keeps to the paths that are meant.
func (ch *chosen) only(m meant) (err error) {
	ch.look()
	if len(m.paths) > 0 {
		ch.sel, err = selection(ch.report, m.here, m.paths)
	}
	return err
}

// concerns reports whether a session could change a directory.
func concerns(w *review.Work, here string) bool {
	return file.Within(here, w.Project) || slices.ContainsFunc(w.Trees, func(t review.Tree) bool { return file.Within(here, t.Path) })
}

// works lists what sessions left. A record that cannot be read is told.
func works(c *command.Console) ([]*review.Work, error) {
	dirs, err := c.Dirs()
	if err != nil {
		return nil, err
	}
	works, err := review.List(dirs.State)
	if err != nil {
		c.Warn(err.Error())
	}
	return works, nil
}

func canonicalHere() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(here)
}

func matching(works []*review.Work, id string) (found []*review.Work) {
	for _, w := range works { // the latest first: a name may have been used before
		if w.ID == id || w.Name == id && id != "" {
			return []*review.Work{w}
		}
		if len(id) >= shortest && strings.HasPrefix(w.ID, id) {
			found = append(found, w)
		}
	}
	return found
}

// findWork returns the session that is meant, by its id, the beginning of it or its name.
func findWork(c *command.Console, arg string) (*review.Work, error) {
	works, err := works(c)
	if err != nil {
		return nil, err
	}
	found := matching(works, arg)
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, fault.New(fault.Failed, "ringfence ps -a lists them; a session is named by at least four characters", "nothing is kept of a session %q", arg)
	}
	return nil, fault.New(fault.Usage, "give more of its id", "%q is the beginning of %d sessions: %s", arg, len(found), ids(found))
}

func ids(works []*review.Work) string {
	var all []string
	for _, w := range works {
		all = append(all, w.ID)
	}
	return strings.Join(all, ", ")
}

// latest returns the latest session that could change the directory and has what
// is asked for, or else the latest of them.
func latest(works []*review.Work, here string, has func(*chosen) bool) (first *chosen) {
	for _, w := range works {
		if !concerns(w, here) {
			continue
		}
		ch := &chosen{work: w}
		if has(ch) {
			return ch
		}
		if first == nil {
			first = ch
		}
	}
	return first
}

// selection finds the changes that paths name: as seen from here, or as a report
// shows them. A path that stands for no change is an error.
func selection(r *review.Report, here string, paths []string) ([]review.Selected, error) {
	sel := []review.Selected{}
	for _, p := range paths {
		found := places(r, here, p)
		if len(found) == 0 {
			return nil, fault.New(fault.Usage, "`ringfence diff` lists its changes; a session is named by at least four characters",
				"session %s changed nothing at %s", r.Work.ID, plan.Show(p))
		}
		sel = append(sel, found...)
	}
	return sel, nil
}

func places(r *review.Report, here, p string) (out []review.Selected) {
	full := p
	if !filepath.IsAbs(p) {
		full = filepath.Join(here, p)
	}
	full = canonicalParent(filepath.Clean(full))
	for n, t := range r.Work.Trees {
		out = append(out, changed(r, n, relative(full, t.Path))...)
	}
	if len(out) > 0 || filepath.IsAbs(p) {
		return out
	}
	for n := range r.Work.Trees {
		out = append(out, changed(r, n, filepath.Clean(p))...)
	}
	return out
}

// canonicalParent follows the links in a path, but not what it names.
func canonicalParent(full string) string {
	if dir, err := filepath.EvalSymlinks(filepath.Dir(full)); err == nil {
		return filepath.Join(dir, filepath.Base(full))
	}
	return full
}

// relative is where a path lies in a tree: "." if the tree lies in it, "" if neither.
func relative(full, tree string) string {
	switch {
	case file.Within(tree, full):
		return "."
	case file.Within(full, tree):
		return strings.TrimPrefix(full[len(tree):], "/")
	}
	return ""
}

// changed returns the path if anything at it or below it changed.
func changed(r *review.Report, n int, rel string) []review.Selected {
	sel := []review.Selected{{Tree: n, Path: rel}}
	if rel == "" || len(r.Only(sel).Entries) == 0 {
		return nil
	}
	return sel
}

// stepping shows how many changes of a session are done with.
func stepping(c *command.Console, what string, ch *chosen, total int) (done func()) {
	n := 0
	step, done := c.Progress(what, total)
	ch.work.Step = func() {
		n++
		step(min(n, total)) // directories come along uncounted
	}
	return done
}
