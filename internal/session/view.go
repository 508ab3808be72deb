package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/knownsecrets"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// grants are what the user and policy named: workspaces, further paths, masks.
type grants struct {
	Base
	Contribution
}

// prepareGrants adds them to the view. Each is judged by the catalogue of credentials
// first.
func prepareGrants(b Base) (Contribution, error) {
	gs := &grants{Base: b}
	err := gs.prepare()
	return gs.Contribution, err
}

func (gs *grants) prepare() error {
	for _, ws := range gs.Workspaces {
		if gs.server.private { // a directory of ours, made for this server
			id := ws.ID
			gs.mounts = append(gs.mounts, plan.Mount{Src: ws.Path, Dst: ws.Path, ID: &id, Write: true, Why: ws.Why})
			continue
		}
		if err := gs.refuseCredentials(ws.Path, ws.Why); err != nil {
			return err
		}
		if err := gs.refuseOwn(ws.Path, ws.Write); err != nil {
			return fault.New(fault.Refused, "name another --workspace", "workspace %q %w", ws.Path, err)
		}
		gs.pinSettings(ws)
		id := ws.ID
		m := plan.Mount{Src: ws.Path, Dst: ws.Path, ID: &id, Why: "workspace (" + ws.Why + ")"}
		switch {
		case ws.Write && gs.asked.Clone && ws.Path == gs.Workspaces[0].Path:
			if err := gs.addClone(m); err != nil {
				return err
			}
		case ws.Write:
			gs.addTree(m, gitPrefix(gs.Base.place, ws.Path))
		default:
			gs.mounts = append(gs.mounts, m)
		}
		gs.link(ws.Given, ws.Path)
		gs.warnLinked(ws.Path)
	}
	for _, g := range policy.Grants(gs.Policy, gs.User.Home) {
		if g.Workspace {
			continue
		}
		if err := gs.grant(g); err != nil {
			return err
		}
	}
	for _, r := range gs.Policy.Files.Mask {
		gs.mask(r)
	}
	gs.mounts = append(gs.mounts, gs.asked.Binds...)
	return nil
}

// warnLinked warns of a credential that may have a second name in the workspace.
// The workspace is not searched for it: that would cost as much as it is large.
func (gs *grants) warnLinked(ws string) {
	for _, f := range knownsecrets.Linked(gs.User.Home, ws) {
		gs.warn(fmt.Sprintf("%s has a second hard link; if it lies in the workspace, the agent can read it (find %s -samefile %s)",
			plan.Show(f.Path), plan.Show(ws), plan.Show(f.Path)))
	}
}

// grant makes one path of the host visible at its own place.
func (gs *grants) grant(r policy.Grant) error {
	given, write := r.Path, r.Write
	if err := gs.refusePlanted(given); err != nil {
		return fault.New(fault.Refused, "name the path itself if you mean it", "%s: %w", r.Source.String(), err)
	}
	real, err := filepath.EvalSymlinks(given)
	if err != nil {
		return fault.New(fault.Refused, "name a path that exists and that you can read", "%s: %q: %w", r.Source.String(), given, cause(err))
	}
	st, err := os.Stat(real)
	if err != nil {
		return fmt.Errorf("%s: %q: %w", r.Source.String(), given, cause(err))
	}
	if err := gs.refuseGrant(real, st, write); err != nil {
		return fault.New(fault.Refused, "", "%s: %q: %w", r.Source.String(), given, err)
	}
	// What will be mounted is judged, and what was written: a link that changes
	// between the two looks must not decide.
	for _, p := range []string{real, given} {
		if err := gs.refuseCredentials(p, r.Source.String()); err != nil {
			return err
		}
	}
	id := identity(st)
	m := plan.Mount{Src: real, Dst: real, Write: write, ID: &id, Why: r.Source.String()}
	if write && st.IsDir() {
		gs.addTree(m, "")
	} else {
		gs.mounts = append(gs.mounts, m)
	}
	gs.pinned = append(gs.pinned, real)
	if st.IsDir() {
		gs.grantDirs = append(gs.grantDirs, real)
	}
	gs.link(given, real)
	return nil
}

func (gs *grants) refuseGrant(real string, st os.FileInfo, write bool) error {
	if !st.IsDir() && !st.Mode().IsRegular() {
		return errors.New("is neither a directory nor a regular file: a socket or device of the host does not come inside")
	}
	if real == "/" || real == gs.User.Home {
		return errors.New("would show everything; name what is needed")
	}
	for _, p := range underNothing {
		if file.Within(real, p) {
			return fmt.Errorf("lies in %s, which is the sandbox's own", p)
		}
	}
	for _, ws := range gs.Workspaces {
		if real != ws.Path && file.Within(ws.Path, real) && write {
			return nil
		}
	}
	if write && (system(real) || file.Within(real, "/etc")) {
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
		return cause(err)
	}
	return f.Close()
}

// refuseCredentials refuses a path in which the catalogue knows credentials,
// unless --expose names them.
func (b Base) refuseCredentials(path, why string) error {
	var expose []string
	for _, r := range b.Policy.Files.Expose {
		expose = append(expose, policy.Expand(r.Value, b.User.Home))
	}
	found := b.credentialsIn(path, expose)
	if len(found) == 0 {
		return nil
	}
	var list strings.Builder
	for _, f := range found {
		fmt.Fprintf(&list, "\n  %s  (%s)", plan.Show(f.Path), f.Entry.What)
	}
	return fault.New(fault.Refused, fmt.Sprintf("name a narrower path, or add --expose %s if the agent must have it", plan.Show(found[0].Path)),
		"%s: %q holds credentials:%s", why, path, list.String())
}

// credentialsIn lists those of the catalogue that a path would show.
func (p person) credentialsIn(path string, expose []string) []knownsecrets.Finding {
	for _, home := range p.homes() {
		if found := knownsecrets.Under(home, unalias(path, home), expose); len(found) > 0 {
			return found
		}
	}
	return nil
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
			gs.pinned = append(gs.pinned, p)
		}
		gs.masks = append(gs.masks, plan.Mask{Path: p, Why: "mask (" + r.Source.String() + ")"})
	}
	if !hidden && strings.HasPrefix(r.Source.File, "flag ") {
		gs.warn(fmt.Sprintf("%s %s: nothing is there now; what is made later under this name is not hidden", r.Source.File, plan.Show(r.Value)))
	}
}

// unusedExposures names credentials that were to be exposed and that no grant shows.
func unusedExposures(b Base, mounts []plan.Mount) (out []string) {
	for _, r := range b.Policy.Files.Expose {
		p := policy.Expand(r.Value, b.User.Home)
		shown := func(m plan.Mount) bool { return file.Within(p, m.Dst) || file.Within(m.Dst, p) }
		if !slices.ContainsFunc(mounts, shown) {
			out = append(out, fmt.Sprintf("%s: %s is not shown by any grant; add --ro %[2]s to show it", r.Source.String(), plan.Show(p)))
		}
	}
	return out
}

// link keeps the path by which the user came working where it is a symlink and
// lies in what is private to the sandbox.
func (c *Contribution) link(given, real string) {
	if given == real || system(given) || file.Within(given, "/etc") {
		return
	}
	if parent, err := filepath.EvalSymlinks(filepath.Dir(given)); err != nil || parent != filepath.Dir(given) {
		return
	}
	c.links = append(c.links, plan.Link{At: given, To: real})
}
