package session

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/probe"
)

// refuseOwn keeps ringfence's own files out of the agent's reach: who could write
// the trust store or the user's policy would write the next session's walls.
func (gs *grants) refuseOwn(path string, write bool) error {
	for _, dir := range []string{gs.dirs.State, gs.dirs.Config, filepath.Dir(Ceiling)} {
		if p := unalias(path, dir); file.Within(dir, p) || file.Within(p, dir) {
			return fmt.Errorf("holds ringfence's own files (%s)", plan.Show(dir))
		}
	}
	if !write {
		return nil
	}
	// A dotfiles repository may be where they really are.
	for _, f := range []string{gs.dirs.State, gs.dirs.Config, "policy.toml", policy.SecretFile, "secrets.age", "env", "agents"} {
		if !filepath.IsAbs(f) {
			f = filepath.Join(gs.dirs.Config, f)
		}
		if real, err := filepath.EvalSymlinks(f); err == nil && real != f && file.Within(real, path) {
			return fmt.Errorf("holds what %s is a link to: the agent could change its own walls", plan.Show(f))
		}
	}
	if self, err := os.Executable(); err == nil && file.Within(self, path) {
		gs.warn(fmt.Sprintf("ringfence itself (%s) lies where the agent can write: run a copy from elsewhere", plan.Show(self)))
	}
	return nil
}

// pinSettings keeps the project's own settings as they are: an agent that could
// remove them would loosen the next session.
func (gs *grants) pinSettings(ws Workspace) {
	for _, name := range []string{policy.ProjectFile, ProjectEnv} {
		p := filepath.Join(ws.Path, name)
		if st, err := os.Lstat(p); err == nil && st.Mode().IsRegular() && ws.Write {
			id := identity(st)
			gs.mounts = append(gs.mounts, plan.Mount{Src: p, Dst: p, ID: &id, Why: "settings of the project"})
			gs.pinned = append(gs.pinned, p)
		}
	}
}

// unalias returns path as it is called from home, where a bind mount gives it a
// second name: by the inode of a directory above it, or of one above home.
func unalias(path, home string) string {
	for dir := path; dir != "/"; dir = filepath.Dir(dir) {
		if dir != home && sameDir(dir, home) {
			return home + path[len(dir):]
		}
	}
	for dir := home; dir != "/"; dir = filepath.Dir(dir) {
		if dir != path && sameDir(path, dir) {
			return dir
		}
	}
	return path
}

func sameDir(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil || !x.IsDir() {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// refusePlanted refuses a path that passes through a link which lies in a project
// and leads out of it: an agent may have put it there since the user last looked.
func (p person) refusePlanted(given string) error {
	at := "/"
	for _, name := range strings.Split(strings.Trim(filepath.Clean(given), "/"), "/") {
		next := filepath.Join(at, name)
		st, err := os.Lstat(next)
		if err != nil || st.Mode()&os.ModeSymlink == 0 {
			at = next
			continue
		}
		target, err := filepath.EvalSymlinks(next)
		if err != nil {
			return nil // opening it will say why
		}
		for dir := at; dir != "/"; dir = filepath.Dir(dir) {
			if p.dirs.Has(dir) && !file.Within(target, dir) {
				return fmt.Errorf("%q is a link in the project %q and leads out of it, to %q", next, dir, target)
			}
		}
		at = target
	}
	return nil
}

// pseudo are filesystems that show the kernel or the host's processes. One that is
// mounted somewhere below a granted path (a chroot with its /proc, say) would come
// along with it.
var pseudo = map[string]bool{"proc": true, "sysfs": true, "devtmpfs": true, "devpts": true, "cgroup": true, "cgroup2": true,
	"securityfs": true, "debugfs": true, "tracefs": true, "bpf": true, "configfs": true, "efivarfs": true, "pstore": true,
	"mqueue": true, "binfmt_misc": true, "fusectl": true, "selinuxfs": true, "rpc_pipefs": true, "nsfs": true}

// lookForeign masks such filesystems below what is granted, and names credentials that
// were to be exposed and that no grant shows.
func lookForeign(s *Session, total Contribution) (out Contribution, err error) {
	out.warnings = unusedExposures(s.Base, total.mounts)
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return out, err
	}
	mounts, err := probe.ParseMounts(b)
	if err != nil {
		return out, err
	}
	for _, m := range mounts {
		if pseudo[m.Type] && granted(total.mounts, m.Point) {
			out.masks = append(out.masks, plan.Mask{Path: m.Point, Why: m.Type + " of the host"})
			out.warn(fmt.Sprintf("%s is a %s of the host and is hidden", plan.Show(m.Point), m.Type))
		}
	}
	return out, nil
}

func granted(mounts []plan.Mount, point string) bool {
	return slices.ContainsFunc(mounts, func(m plan.Mount) bool { return m.Src == m.Dst && point != m.Dst && file.Within(point, m.Dst) })
}

// hideMonitor masks the socket of git's file system monitor, a process of the host
// that listens inside the git directory.
func (gp *gitPart) hideMonitor() {
	for _, dir := range []string{gp.Repo.GitDir, gp.Repo.CommonDir} {
		p := filepath.Join(dir, "fsmonitor--daemon.ipc")
		if st, err := os.Lstat(p); dir != "" && err == nil && st.Mode()&os.ModeSocket != 0 {
			gp.masks = append(gp.masks, plan.Mask{Path: p, Why: "socket of a host process"})
		}
	}
}
