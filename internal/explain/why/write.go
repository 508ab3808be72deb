package why

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

var errNotDir = syscall.ENOTDIR

// reserved begins the names under which ringfence itself writes to a tree.
const reserved = ".ringfence-"

// write judges writing, and making what is not there.
func (w *World) write(s *spot) Finding {
	f := Finding{Access: Write, Verdict: Denied, Ours: true, By: WallReadOnly}
	if s.mask != nil {
		return w.hidden(s, f)
	}
	if s.op == nil {
		f.Reason, f.Rule, f.Source = "the root of the session is empty and read-only", "empty root", BuiltIn
		return f
	}
	switch s.op.Do {
	case plan.DoTmpfs:
		return w.writePrivate(s, f)
	case plan.DoBind, plan.DoLayer, plan.DoCache:
		return w.writeTree(s, f)
	case plan.DoDevice, plan.DoPts:
		f.Verdict, f.By, f.Reason = Private, WallPrivate, "a device of the session's own /dev"
		f.Rule, f.Source = rule(s.op), BuiltIn
		return f
	}
	f.Reason, f.Rule, f.Source = rule(s.op)+": read-only inside", rule(s.op), BuiltIn
	switch {
	case secrets(s.op):
		f.By, f.Reason = WallMask, "it holds secrets and shows phantoms: what is written to it is private, and waits for review"
	case s.op.Do == plan.DoFile || s.op.Do == plan.DoSymlink:
		f.Help = "no grant changes what ringfence itself makes"
	case s.op.Do == plan.DoProc:
		f.Help = "no grant changes it: the kernel's settings are the host's"
	}
	return f
}

// writePrivate is a write to a file system of the session's own.
func (w *World) writePrivate(s *spot, f Finding) Finding {
	f.Rule, f.Source = rule(s.op), BuiltIn
	switch {
	case string(s.op.Dst) == "/dev":
		f.Reason, f.Help = "/dev is minimal and read-only", "no grant adds to /dev"
		return f
	case file.Within(s.path, plan.Own):
		f.By, f.Reason, f.Help = WallLandlock, "what ringfence tells the agent cannot be changed", "no grant changes it"
		return f
	}
	f.Verdict, f.By = Private, WallPrivate
	f.Reason = fmt.Sprintf("what is written there is the session's own (%s) and never the host's", rule(s.op))
	return f
}

// writeTree is a write below something of the host's.
func (w *World) writeTree(s *spot, f Finding) Finding {
	f.Rule, f.Source = w.showing(s)
	t := w.tree(s)
	switch {
	case t == nil && s.op.Write && w.own(s):
		f.Verdict, f.By = Private, WallPrivate
		f.Reason = fmt.Sprintf("what is written there is kept for the session or the project (%s) and never the host's", rule(s.op))
		return f
	case t == nil && !s.op.Write:
		f.Reason = "it is mounted read-only: " + rule(s.op)
		return f
	}
	if p, st, ok := w.changeable(s); !ok {
		return w.permission(Write, p, st)
	}
	if t == nil {
		f.Verdict, f.By, f.Reason = Allowed, "mount", "it is mounted read-write: "+rule(s.op)
		return f
	}
	if strings.HasPrefix(filepath.Base(s.path), reserved) {
		f.By, f.Reason, f.Help = WallKeeper, "names that begin with "+reserved+" are ringfence's own", "choose another name"
		f.Source = BuiltIn
		return f
	}
	if t.View == plan.Review {
		f.Verdict, f.By, f.Reason = Held, WallReview, "every change waits: the host has it when you apply it"
		f.Rule, f.Source = `[workspace] view = "review"`, where(t.Rule.Source)
		f.Help = "after the session: ringfence diff, then ringfence apply; --live lets changes reach the host at once"
		return f
	}
	return w.keep(t, s, f)
}

// keep asks what the keeper holds back.
func (w *World) keep(t *Tree, s *spot, f Finding) Finding {
	rel := strings.TrimPrefix(strings.TrimPrefix(s.path, t.Path), "/")
	v := judged(t, rel, s.st)
	if v.Hold {
		f.Verdict, f.By = Held, WallKeeper
		f.Rule, f.Source = v.Rule, BuiltIn
		if f.Rule == "" {
			f.Rule = "a repository that begins in the session"
		}
		f.Reason = strings.TrimSpace(fmt.Sprintf("the host would run it (%s %s), so it is private until you look", v.Who, v.When))
		f.Help = "no grant is needed: after the session ringfence diff shows it and ringfence apply brings it to the host"
		return f
	}
	f.Verdict, f.By, f.Reason = Allowed, "mount", "changes reach the host at once, and can be undone: "+rule(s.op)
	if v.Form != hostexec.FormAny {
		f.Rule, f.Source = "what leads programs is judged by content", BuiltIn
		f.Reason = "what makes no program run anything comes to the host, at the latest when the session ends; the rest waits until you look"
		f.Help = "no grant is needed: after the session ringfence diff shows what waits"
	}
	return f
}

// judged asks the table as the keeper does.
func judged(t *Tree, rel string, st fs.FileInfo) hostexec.Verdict {
	if rel == "" {
		return hostexec.Verdict{}
	}
	kind := hostexec.KindFile
	if st != nil {
		kind = kindOf(st.Mode())
	}
	return t.Rules.JudgeIn(hostTree(t.Path), rel, kind)
}

// hostTree tells the rules what the host has.
type hostTree string

func (root hostTree) At(rel string) (hostexec.Kind, bool) {
	st, err := os.Lstat(filepath.Join(string(root), rel))
	if err != nil {
		return 0, false
	}
	return kindOf(st.Mode()), true
}

func kindOf(mode fs.FileMode) hostexec.Kind {
	switch {
	case mode.IsRegular():
		return hostexec.KindFile
	case mode.IsDir():
		return hostexec.KindDir
	case mode&fs.ModeSymlink != 0:
		return hostexec.KindLink
	}
	return hostexec.KindSpecial
}

// changeable says whether the file's own permissions let it be changed, or made where
// nothing is; and if not, what is in the way.
func (w *World) changeable(s *spot) (path string, st fs.FileInfo, ok bool) {
	root := string(s.op.Src)
	if dir, st := w.barred(s.host, root); dir != "" {
		return dir, st, false
	}
	if s.st != nil {
		return s.host, s.st, w.permits(s.host, s.st, mayWrite)
	}
	for dir := filepath.Dir(s.host); file.Within(dir, root) && dir != "/"; dir = filepath.Dir(dir) {
		st, err := os.Stat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return dir, nil, false
		}
		return dir, st, w.permits(dir, st, mayWrite)
	}
	return "", nil, true
}

// execute judges running a file.
func (w *World) execute(s *spot) Finding {
	f := w.read(s)
	f.Access = Execute
	switch {
	case f.Verdict != Allowed && f.Verdict != Private:
		return f
	case s.st == nil || s.st.IsDir():
		if s.op != nil && s.op.NoExec {
			f.Verdict, f.By, f.Reason, f.Help = Denied, WallNoExec, "nothing there can be run: "+rule(s.op), "run it from the workspace or /tmp"
			f.Rule, f.Source = rule(s.op), BuiltIn
		}
		return f
	case s.st.Mode().IsRegular() && !w.permits(s.host, s.st, mayExecute):
		return Finding{Access: Execute, Verdict: Denied, By: WallPermission, Reason: "it is no program: " + owned(s.host, s.st),
			Help: "this is not ringfence's doing: chmod +x"}
	}
	return f
}
