package trees

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/probe"
	"ringfence.dev/ringfence/internal/session/launch"
)

// refuseOwn keeps ringfence's own files out of the agent's reach: who could write
// the trust store or the user's policy would write the next session's walls.
func (gs *grants) refuseOwn(path string, write bool) error {
	for _, dir := range []string{gs.Dirs.State, gs.Dirs.Config, filepath.Dir(launch.Ceiling)} {
		if p := launch.Unalias(path, dir); file.Within(dir, p) || file.Within(p, dir) {
			return fmt.Errorf("holds ringfence's own files (%s)", plan.Show(dir))
		}
	}
	if !write {
		return nil
	}
	// A dotfiles repository may be where they really are.
	for _, f := range []string{gs.Dirs.State, gs.Dirs.Config, "policy.toml", policy.SecretFile, "secrets.age", "env", "agents"} {
		if !filepath.IsAbs(f) {
			f = filepath.Join(gs.Dirs.Config, f)
		}
		if real, err := filepath.EvalSymlinks(f); err == nil && real != f && file.Within(real, path) {
			return fmt.Errorf("holds what %s is a link to: the agent could change its own walls", plan.Show(f))
		}
	}
	if self, err := os.Executable(); err == nil && file.Within(self, path) {
		gs.Warn(fmt.Sprintf("ringfence itself (%s) lies where the agent can write: run a copy from elsewhere", plan.Show(self)))
	}
	return nil
}

const settingsOfProject = "settings of the project"

// pinSettings keeps the project's own settings as they are: an agent that could
// remove them would loosen the next session.
func (gs *grants) pinSettings(ws launch.Workspace) {
	for _, name := range []string{policy.ProjectFile, launch.ProjectEnv} {
		p := filepath.Join(ws.Path, name)
		if st, err := os.Lstat(p); err == nil && st.Mode().IsRegular() && ws.Write {
			id := launch.Identity(st)
			gs.Mounts = append(gs.Mounts, plan.Mount{Src: p, Dst: p, ID: &id, Why: settingsOfProject})
			gs.Pinned = append(gs.Pinned, p)
		}
	}
}

// pseudo are filesystems that show the kernel or the host's processes. One that is
// mounted somewhere below a granted path (a chroot with its /proc, say) would come
// along with it.
var pseudo = map[string]bool{"proc": true, "sysfs": true, "devtmpfs": true, "devpts": true, "cgroup": true, "cgroup2": true,
	"securityfs": true, "debugfs": true, "tracefs": true, "bpf": true, "configfs": true, "efivarfs": true, "pstore": true,
	"mqueue": true, "binfmt_misc": true, "fusectl": true, "selinuxfs": true, "rpc_pipefs": true, "nsfs": true}

// Foreign masks such filesystems below what is granted, and names credentials that
// were to be exposed and that no grant shows.
func Foreign(b launch.Base, total launch.Contribution) (out launch.Contribution, err error) {
	out.Warnings = unusedExposures(b, total.Mounts)
	info, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return out, err
	}
	mounts, err := probe.ParseMounts(info)
	if err != nil {
		return out, err
	}
	for _, m := range mounts {
		if pseudo[m.Type] && granted(total.Mounts, m.Point) {
			out.Masks = append(out.Masks, plan.Mask{Path: m.Point, Why: m.Type + " of the host"})
			out.Warn(fmt.Sprintf("%s is a %s of the host and is hidden", plan.Show(m.Point), m.Type))
		}
	}
	return out, nil
}

func granted(mounts []plan.Mount, point string) bool {
	return slices.ContainsFunc(mounts, func(m plan.Mount) bool { return m.Src == m.Dst && point != m.Dst && file.Within(point, m.Dst) })
}
