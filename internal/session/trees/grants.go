package trees

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/git/repo"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/knownsecrets"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/launch"
)

// addClone shows a clone in the place of the repository. It is the session's own, so
// nothing in it is held: the host gets commits by fetching them.
func (gs *grants) addClone(m plan.Mount) error {
	switch {
	case gs.Repo == nil || gs.Repo.WorkTree != m.Src:
		return fault.New(fault.Refused, "start in the root of a git repository, or leave --clone out", "--clone: %s is not the root of a git repository", plan.Show(m.Src))
	case repo.Head(gs.Repo) == "":
		return fault.New(fault.Refused, "commit something first", "--clone: %s has no commit yet", plan.Show(m.Src))
	}
	gs.Clone = m.Src
	m.Src, m.ID, m.Write, m.Why = gs.Work.CloneDir(), nil, true, "clone of the workspace"
	gs.Mounts = append(gs.Mounts, m)
	gs.Notice(fmt.Sprintf("clone      on branch %s, without what is not committed; fetch it with: git fetch %s", gs.Work.Branch(), gs.ID))
	return nil
}

// gitPrefix is for a workspace that is a bare repository.
func gitPrefix(p launch.Place, path string) string {
	if p.Repo != nil && p.Repo.WorkTree == "" && p.Repo.GitDir == path {
		return ".git"
	}
	return ""
}

// grants are what the user and policy named: workspaces, further paths, masks.
type grants struct {
	launch.Base
	launch.Contribution
}

// Grants adds them to the view. Each is judged by the catalogue of credentials
// first.
func Grants(b launch.Base) (launch.Contribution, error) {
	gs := &grants{Base: b}
	err := gs.prepare()
	return gs.Contribution, err
}

func (gs *grants) prepare() error {
	for _, ws := range gs.Workspaces {
		if gs.Server.Private { // a directory of ours, made for this server
			id := ws.ID
			gs.Mounts = append(gs.Mounts, plan.Mount{Src: ws.Path, Dst: ws.Path, ID: &id, Write: true, Why: ws.Why})
			continue
		}
		if err := gs.RefuseCredentials(ws.Path, ws.Why); err != nil {
			return err
		}
		if err := gs.refuseOwn(ws.Path, ws.Write); err != nil {
			return fault.New(fault.Refused, "name another --workspace", "workspace %q %w", ws.Path, err)
		}
		gs.pinSettings(ws)
		id := ws.ID
		m := plan.Mount{Src: ws.Path, Dst: ws.Path, ID: &id, Why: "workspace (" + ws.Why + ")"}
		switch {
		case ws.Write && gs.Asked.Clone && ws.Path == gs.Workspaces[0].Path:
			if err := gs.addClone(m); err != nil {
				return err
			}
		case ws.Write:
			gs.AddTree(m, gitPrefix(gs.Base.Place, ws.Path))
		default:
			gs.Mounts = append(gs.Mounts, m)
		}
		gs.Link(ws.Given, ws.Path)
		gs.warnLinked(ws.Path)
	}
	for _, g := range policy.Grants(gs.Policy, gs.User.Home) {
		if g.Workspace {
			continue
		}
		err := gs.grant(g)
		if errors.Is(err, fs.ErrNotExist) && !g.Write && g.Source.Line > 0 {
			// A file may be for several machines; a flag is for this one.
			gs.Warn(fmt.Sprintf("%s: %q is not there, and is not shown", g.Source.String(), g.Path))
			continue
		}
		if err != nil {
			return err
		}
	}
	for _, r := range gs.Policy.Files.Mask {
		gs.mask(r)
	}
	gs.Mounts = append(gs.Mounts, gs.Asked.Binds...)
	if gs.Asked.Server == "" {
		gs.Missing = missingSiblings(gs.Base, gs.Mounts)
	}
	return nil
}

// warnLinked warns of a credential that may have a second name in the workspace.
// The workspace is not searched for it: that would cost as much as it is large.
func (gs *grants) warnLinked(ws string) {
	for _, f := range knownsecrets.Linked(gs.User.Home, ws) {
		gs.Warn(fmt.Sprintf("%s has a second hard link; if it lies in the workspace, the agent can read it (find %s -samefile %s)",
			plan.Show(f.Path), plan.Show(ws), plan.Show(f.Path)))
	}
}

// TryGrant says why a path cannot be granted.
func TryGrant(b launch.Base, r policy.Grant) error { return (&grants{Base: b}).grant(r) }

// grant makes one path of the host visible at its own place.
func (gs *grants) grant(r policy.Grant) error {
	given, write := r.Path, r.Write
	if err := gs.RefusePlanted(given); err != nil {
		return fault.New(fault.Refused, "name the path itself if you mean it", "%s: %w", r.Source.String(), err)
	}
	real, err := filepath.EvalSymlinks(given)
	if err != nil {
		return fault.New(fault.Refused, "name a path that exists and that you can read", "%s: %q: %w", r.Source.String(), given, launch.Cause(err))
	}
	st, err := os.Stat(real)
	if err != nil {
		return fmt.Errorf("%s: %q: %w", r.Source.String(), given, launch.Cause(err))
	}
	if err := gs.refuseGrant(real, st, write); err != nil {
		return fault.New(fault.Refused, "", "%s: %q: %w", r.Source.String(), given, err)
	}
	// What will be mounted is judged, and what was written: a link that changes
	// between the two looks must not decide.
	for _, p := range []string{real, given} {
		if err := gs.RefuseCredentials(p, r.Source.String()); err != nil {
			return err
		}
	}
	id := launch.Identity(st)
	m := plan.Mount{Src: real, Dst: real, Write: write, ID: &id, Why: r.Source.String()}
	if write && st.IsDir() {
		gs.AddTree(m, "")
	} else {
		gs.Mounts = append(gs.Mounts, m)
	}
	gs.Pinned = append(gs.Pinned, real)
	if st.IsDir() {
		gs.GrantDirs = append(gs.GrantDirs, real)
	}
	gs.Link(given, real)
	return nil
}

func (gs *grants) refuseGrant(real string, st os.FileInfo, write bool) error {
	if !st.IsDir() && !st.Mode().IsRegular() {
		return errors.New("is neither a directory nor a regular file: a socket or device of the host does not come inside")
	}
	if real == "/" || real == gs.User.Home {
		return errors.New("would show everything; name what is needed")
	}
	for _, p := range launch.UnderNothing {
		if file.Within(real, p) {
			return fmt.Errorf("lies in %s, which is the sandbox's own", p)
		}
	}
	for _, ws := range gs.Workspaces {
		if real != ws.Path && file.Within(ws.Path, real) && write {
			return nil
		}
	}
	if write && (launch.System(real) || file.Within(real, "/etc")) {
		return errors.New("is a directory of the system and stays read-only")
	}
	if err := gs.refuseOwn(real, write); err != nil {
		return err
	}
	return readable(real)
}

// readable opens the path once: what cannot be read now would only fail later,
// and less clearly.
func readable(real string) error {
	f, err := os.Open(real)
	if err != nil {
		return launch.Cause(err)
	}
	return f.Close()
}

// mask hides a path: one relative to the workspaces in each of them.
func (gs *grants) mask(r policy.Rule) {
	paths := []string{policy.Expand(r.Value, gs.User.Home)}
	if !strings.HasPrefix(r.Value, "/") && !strings.HasPrefix(r.Value, "~/") {
		paths = nil
		for _, ws := range gs.Workspaces {
			paths = append(paths, filepath.Join(ws.Path, r.Value))
		}
	}
	hidden := false
	for _, p := range paths {
		if _, err := os.Lstat(p); err == nil {
			hidden = true
			gs.Pinned = append(gs.Pinned, p)
		}
		gs.Masks = append(gs.Masks, plan.Mask{Path: p, Why: "mask (" + r.Source.String() + ")"})
	}
	if !hidden && strings.HasPrefix(r.Source.File, "flag ") {
		gs.Warn(fmt.Sprintf("%s %s: nothing is there now; what is made later under this name is not hidden", r.Source.File, plan.Show(r.Value)))
	}
}

// unusedExposures names credentials that were to be exposed and that no grant shows.
func unusedExposures(b launch.Base, mounts []plan.Mount) (out []string) {
	for _, r := range b.Policy.Files.Expose {
		p := policy.Expand(r.Value, b.User.Home)
		shown := func(m plan.Mount) bool { return file.Within(p, m.Dst) || file.Within(m.Dst, p) }
		if !slices.ContainsFunc(mounts, shown) {
			out = append(out, fmt.Sprintf("%s: %s is not shown by any grant; add --ro %[2]s to show it", r.Source.String(), plan.Show(p)))
		}
	}
	return out
}
