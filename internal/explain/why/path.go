package why

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// IfThere judges one access to a path, as if the host had a file of the user's own
// there if it has none. No grant is looked for.
func (w *World) IfThere(path, access string) Finding {
	s := view{w.Plan}.find(filepath.Clean(path))
	s.assumed = s.st == nil && errors.Is(s.err, fs.ErrNotExist) || s.host == ""
	switch access {
	case Write:
		return w.write(&s)
	case Execute:
		return w.execute(&s)
	}
	return w.read(&s)
}

// AboutPath answers for a path, which is absolute.
func (w *World) AboutPath(path string) *Answer {
	path = filepath.Clean(path)
	a := &Answer{Kind: Path, Subject: path}
	s := view{w.Plan}.find(path)
	if s.path != path {
		a.Leads = s.path
	}
	read, write, execute := w.read(&s), w.write(&s), w.execute(&s)
	written := w.grantPath(path, &s, &write, nil)
	w.grantPath(path, &s, &read, written)
	if execute.Verdict == read.Verdict && execute.By == read.By {
		execute.Grant, execute.Help = read.Grant, read.Help // what shows it also lets it be run
	} else {
		w.grantPath(path, &s, &execute, written)
	}
	a.Findings = []Finding{read, write, execute}
	w.notePath(a, &s)
	return a
}

// read judges reading.
func (w *World) read(s *spot) Finding {
	f := Finding{Access: Read, Verdict: Allowed, Ours: true, By: WallView}
	switch {
	case s.mask != nil:
		return w.hidden(s, f)
	case s.op != nil && s.op.Do == plan.DoFile && s.path == string(s.op.Dst):
		return w.generated(s, f)
	case s.host == "" && s.exists():
		f.Verdict, f.By, f.Reason = Private, WallPrivate, "it is the session's own: "+rule(s.op)
		f.Rule, f.Source = rule(s.op), BuiltIn
		return f
	case s.host == "" || s.st == nil && !errors.Is(s.err, fs.ErrPermission) && w.own(s):
		return w.missing(s, f)
	case s.st == nil && !s.assumed:
		return w.unseen(s, f)
	}
	if dir, st := w.barred(s.host, string(s.op.Src)); dir != "" {
		return w.permission(Read, dir, st)
	}
	if s.st != nil && !w.permits(s.host, s.st, mayRead) {
		return w.permission(Read, s.host, s.st)
	}
	f.By, f.Reason = "mount", "it is in the view: "+rule(s.op)
	f.Rule, f.Source = w.showing(s)
	return f
}

// own says whether a mount leads to the session's state and not to a path of the
// host's at its own place.
func (w *World) own(s *spot) bool { return s.op.Src != s.op.Dst && s.op.Why != "system" }

// missing is a path of which the view has nothing.
func (w *World) missing(s *spot, f Finding) Finding {
	_, err := os.Lstat(s.path)
	if !s.assumed && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir)) {
		f.Verdict, f.Ours, f.By = Absent, false, WallNothing
		f.Reason = "it is not there on the host either, so ringfence is not the reason"
		return f
	}
	f.Verdict, f.By = Absent, WallView
	f.Rule, f.Source = "the view holds only what policy put there", BuiltIn
	known := "the host has it"
	if err != nil && !s.assumed { // whoever asks may not look
		known = fmt.Sprintf("whether the host has it is not known (%s)", cause(err))
		f.Help = unreachable
	}
	f.Reason = known + ", and no rule shows it"
	if s.op != nil {
		f.Reason = fmt.Sprintf("%s, and inside %s is %s", known, s.op.Dst, rule(s.op))
	}
	for _, d := range w.Decoys {
		if file.Within(d, s.path) || file.Within(s.path, d) {
			f.Reason += "; what is found there is a decoy, and reading it is told"
			break
		}
	}
	return f
}

// cause is an error without the path.
func cause(err error) error {
	var named *fs.PathError
	if errors.As(err, &named) {
		return named.Err
	}
	return err
}

// unseen is a path below a mount that shows the host's own, and where nothing is.
func (w *World) unseen(s *spot, f Finding) Finding {
	if errors.Is(s.err, fs.ErrPermission) {
		if dir, st := w.barred(s.host, string(s.op.Src)); dir != "" {
			return w.permission(f.Access, dir, st)
		}
		return w.permission(f.Access, s.host, nil)
	}
	f.Verdict, f.Ours, f.By = Absent, false, WallNothing
	f.Reason = "it is not there on the host either, so ringfence is not the reason"
	return f
}

// hidden is a path under a mask.
func (w *World) hidden(s *spot, f Finding) Finding {
	f.Verdict, f.By, f.Reason = Denied, WallMask, "it is hidden: an empty stand-in is there, "+s.mask.Why
	f.Rule, f.Source = s.mask.Why, BuiltIn
	f.Help = "no grant shows what ringfence itself hides"
	for _, r := range w.Policy.Files.Mask {
		at := policy.Expand(r.Value, w.User.Home)
		if at == string(s.mask.Dst) || !filepath.IsAbs(at) && strings.HasSuffix(string(s.mask.Dst), "/"+at) {
			f.Rule, f.Source = fmt.Sprintf("[files] mask = [%q]", r.Value), where(r.Source)
			f.Help = "no grant is stronger than a mask: take it out of " + f.Source
		}
	}
	return f
}

// generated is a file that ringfence made.
func (w *World) generated(s *spot, f Finding) Finding {
	f.Rule, f.Source = s.op.Why, BuiltIn
	if !secrets(s.op) {
		f.Verdict, f.By, f.Reason = Private, WallPrivate, "ringfence made it: "+s.op.Why
		return f
	}
	f.Verdict, f.By = Denied, WallMask
	f.Reason = "it holds secrets: the same keys are shown with phantom values"
	for _, r := range w.Policy.Workspace.Mask {
		f.Rule = fmt.Sprintf("%s; [workspace] mask = [%q] may be why", s.op.Why, r.Value)
	}
	return f
}

// secrets says whether a file stands for one of secrets.
func secrets(op *plan.Op) bool {
	return op.Do == plan.DoFile && strings.HasPrefix(op.Why, "secrets, masked")
}

// showing returns the rule that shows a path, and where it was written.
func (w *World) showing(s *spot) (text, src string) {
	for _, r := range w.Policy.Workspace.Reveal {
		at := policy.Expand(r.Value, w.User.Home)
		if at == s.path || !filepath.IsAbs(at) && filepath.Join(string(s.op.Dst), at) == s.path {
			return fmt.Sprintf("[workspace] reveal = [%q]", r.Value), where(r.Source)
		}
	}
	for _, l := range []struct {
		key  string
		list policy.List
	}{{"[files] write", w.Policy.Files.Write}, {"[files] read", w.Policy.Files.Read}, {"[workspace] paths", w.Policy.Workspace.Paths}} {
		for _, r := range l.list {
			dir, _ := policy.SplitWorkspace(r.Value)
			path := policy.Expand(dir, w.User.Home)
			real, err := filepath.EvalSymlinks(path)
			if path == string(s.op.Dst) || err == nil && real == string(s.op.Dst) {
				return fmt.Sprintf("%s = [%q]", l.key, r.Value), where(r.Source)
			}
		}
	}
	return rule(s.op), BuiltIn
}

// rule says by which rule something is in the view, for people.
func rule(op *plan.Op) string {
	if op == nil {
		return "empty root"
	}
	return op.Why
}
