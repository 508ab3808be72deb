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

// grants adds to the view what the user and policy named: workspaces, further
// paths, masks. Each is judged by the catalogue of credentials first.
func (d *draft) grants() error {
	for _, ws := range d.Workspaces {
		if d.mcp.private { // a directory of ours, made for this server
			id := ws.ID
			d.mounts = append(d.mounts, plan.Mount{Src: ws.Path, Dst: ws.Path, ID: &id, Write: true, Why: ws.Why})
			continue
		}
		if err := d.refuseCredentials(ws.Path, ws.Why); err != nil {
			return err
		}
		if err := d.refuseOwn(ws.Path, ws.Write); err != nil {
			return fault.New(fault.Refused, "name another --workspace", "workspace %q %w", ws.Path, err)
		}
		d.pinSettings(ws)
		id := ws.ID
		m := plan.Mount{Src: ws.Path, Dst: ws.Path, ID: &id, Why: "workspace (" + ws.Why + ")"}
		switch {
		case ws.Write && d.opt.Clone && ws.Path == d.Workspaces[0].Path:
			if err := d.addClone(m); err != nil {
				return err
			}
		case ws.Write:
			d.addTree(m, d.gitPrefix(ws.Path))
		default:
			d.mounts = append(d.mounts, m)
		}
		d.link(ws.Given, ws.Path)
		d.warnLinked(ws.Path)
	}
	for _, g := range policy.Grants(d.Policy, d.User.Home) {
		if g.Workspace {
			continue
		}
		if err := d.grant(g); err != nil {
			return err
		}
	}
	for _, r := range d.Policy.Files.Mask {
		d.mask(r)
	}
	d.warnUnused()
	d.mounts = append(d.mounts, d.opt.Binds...)
	return d.hideForeign()
}

// warnLinked warns of a credential that may have a second name in the workspace.
// The workspace is not searched for it: that would cost as much as it is large.
func (d *draft) warnLinked(ws string) {
	for _, f := range knownsecrets.Linked(d.User.Home, ws) {
		d.Warnings = append(d.Warnings, fmt.Sprintf("%s has a second hard link; if it lies in the workspace, the agent can read it (find %s -samefile %s)",
			plan.Show(f.Path), plan.Show(ws), plan.Show(f.Path)))
	}
}

// grant makes one path of the host visible at its own place.
func (d *draft) grant(r policy.Grant) error {
	given, write := r.Path, r.Write
	if err := d.refusePlanted(given); err != nil {
		return fault.New(fault.Refused, "name the path itself if you mean it", "%s: %w", where(r.Source), err)
	}
	real, err := filepath.EvalSymlinks(given)
	if err != nil {
		return fault.New(fault.Refused, "name a path that exists and that you can read", "%s: %q: %w", where(r.Source), given, cause(err))
	}
	st, err := os.Stat(real)
	if err != nil {
		return fmt.Errorf("%s: %q: %w", where(r.Source), given, cause(err))
	}
	if err := d.refuseGrant(real, st, write); err != nil {
		return fault.New(fault.Refused, "", "%s: %q: %w", where(r.Source), given, err)
	}
	// What will be mounted is judged, and what was written: a link that changes
	// between the two looks must not decide.
	for _, p := range []string{real, given} {
		if err := d.refuseCredentials(p, where(r.Source)); err != nil {
			return err
		}
	}
	id := identity(st)
	m := plan.Mount{Src: real, Dst: real, Write: write, ID: &id, Why: where(r.Source)}
	if write && st.IsDir() {
		d.addTree(m, "")
	} else {
		d.mounts = append(d.mounts, m)
	}
	d.pinned = append(d.pinned, real)
	if st.IsDir() {
		d.grantDirs = append(d.grantDirs, real)
	}
	d.link(given, real)
	return nil
}

func (d *draft) refuseGrant(real string, st os.FileInfo, write bool) error {
	if !st.IsDir() && !st.Mode().IsRegular() {
		return errors.New("is neither a directory nor a regular file: a socket or device of the host does not come inside")
	}
	if real == "/" || real == d.User.Home {
		return errors.New("would show everything; name what is needed")
	}
	for _, p := range underNothing {
		if file.Within(real, p) {
			return fmt.Errorf("lies in %s, which is the sandbox's own", p)
		}
	}
	for _, ws := range d.Workspaces {
		if real != ws.Path && file.Within(ws.Path, real) && write {
			return nil
		}
	}
	if write && (system(real) || file.Within(real, "/etc")) {
		return errors.New("is a directory of the system and stays read-only")
	}
	if err := d.refuseOwn(real, write); err != nil {
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
func (d *draft) refuseCredentials(path, why string) error {
	var expose []string
	for _, r := range d.Policy.Files.Expose {
		expose = append(expose, policy.Expand(r.Value, d.User.Home))
	}
	found := d.credentialsIn(path, expose)
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
func (d *draft) credentialsIn(path string, expose []string) []knownsecrets.Finding {
	for _, home := range d.homes() {
		if found := knownsecrets.Under(home, d.unalias(path, home), expose); len(found) > 0 {
			return found
		}
	}
	return nil
}

// mask hides a path: one relative to the workspaces in each of them.
func (d *draft) mask(r policy.Rule) {
	paths := []string{policy.Expand(r.Value, d.User.Home)}
	if !strings.HasPrefix(r.Value, "/") && !strings.HasPrefix(r.Value, "~/") {
		paths = nil
		for _, ws := range d.Workspaces {
			paths = append(paths, filepath.Join(ws.Path, r.Value))
		}
	}
	hidden := false
	for _, p := range paths {
		if _, err := os.Lstat(p); err == nil {
			hidden = true
			d.pinned = append(d.pinned, p)
		}
		d.masks = append(d.masks, plan.Mask{Path: p, Why: "mask (" + where(r.Source) + ")"})
	}
	if !hidden && strings.HasPrefix(r.Source.File, "flag ") {
		d.Warnings = append(d.Warnings, fmt.Sprintf("%s %s: nothing is there now; what is made later under this name is not hidden", r.Source.File, plan.Show(r.Value)))
	}
}

// warnUnused names credentials that were to be exposed and that no grant shows.
func (d *draft) warnUnused() {
	for _, r := range d.Policy.Files.Expose {
		p := policy.Expand(r.Value, d.User.Home)
		shown := func(m plan.Mount) bool { return file.Within(p, m.Dst) || file.Within(m.Dst, p) }
		if !slices.ContainsFunc(d.mounts, shown) {
			d.Warnings = append(d.Warnings, fmt.Sprintf("%s: %s is not shown by any grant; add --ro %[2]s to show it", where(r.Source), plan.Show(p)))
		}
	}
}

// link keeps the path by which the user came working where it is a symlink and
// lies in what is private to the sandbox.
func (d *draft) link(given, real string) {
	if given == real || system(given) || file.Within(given, "/etc") {
		return
	}
	for _, m := range d.mounts {
		if file.Within(given, m.Dst) {
			return
		}
	}
	for _, l := range d.links {
		if file.Within(given, l.At) {
			return
		}
	}
	if parent, err := filepath.EvalSymlinks(filepath.Dir(given)); err != nil || parent != filepath.Dir(given) {
		return
	}
	d.links = append(d.links, plan.Link{At: given, To: real})
}
