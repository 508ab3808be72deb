package run

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/plan"
)

// refuseOwn keeps ringfence's own files out of the agent's reach: who could write
// the trust store or the user's policy would write the next session's walls.
func (d *draft) refuseOwn(path string, write bool) error {
	for _, dir := range []string{d.dirs.State, d.dirs.Config, filepath.Dir(Ceiling)} {
		if within(dir, path) || within(path, dir) {
			return fmt.Errorf("holds ringfence's own files (%s)", plan.Show(dir))
		}
	}
	if !write {
		return nil
	}
	// A dotfiles repository may be where they really are.
	for _, f := range []string{d.dirs.State, d.dirs.Config, "policy.toml", "env", "agents"} {
		if !filepath.IsAbs(f) {
			f = filepath.Join(d.dirs.Config, f)
		}
		if real, err := filepath.EvalSymlinks(f); err == nil && real != f && within(real, path) {
			return fmt.Errorf("holds what %s is a link to: the agent could change its own walls", plan.Show(f))
		}
	}
	if self, err := os.Executable(); err == nil && within(self, path) {
		d.Warnings = append(d.Warnings, fmt.Sprintf("ringfence itself (%s) lies where the agent can write: run a copy from elsewhere", plan.Show(self)))
	}
	return nil
}

// pseudo are filesystems that show the kernel or the host's processes. One that is
// mounted somewhere below a granted path (a chroot with its /proc, say) would come
// along with it.
var pseudo = map[string]bool{"proc": true, "sysfs": true, "devtmpfs": true, "devpts": true, "cgroup": true, "cgroup2": true,
	"securityfs": true, "debugfs": true, "tracefs": true, "bpf": true, "configfs": true, "efivarfs": true, "pstore": true,
	"mqueue": true, "binfmt_misc": true, "fusectl": true, "selinuxfs": true, "rpc_pipefs": true, "nsfs": true}

// hideForeign masks such filesystems below what is granted.
func (d *draft) hideForeign() error {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		point, fstype, ok := parseMount(s.Text())
		if !ok {
			return errors.New("mountinfo has a line that is none")
		}
		if pseudo[fstype] && d.granted(point) {
			d.masks = append(d.masks, plan.Mask{Path: point, Why: fstype + " of the host"})
			d.Warnings = append(d.Warnings, fmt.Sprintf("%s is a %s of the host and is hidden", plan.Show(point), fstype))
		}
	}
	return s.Err()
}

func (d *draft) granted(point string) bool {
	for _, m := range d.mounts {
		if m.Src == m.Dst && point != m.Dst && within(point, m.Dst) {
			return true
		}
	}
	return false
}

// parseMount returns mount point and type of a line of mountinfo.
func parseMount(line string) (point, fstype string, ok bool) {
	left, right, ok := strings.Cut(line, " - ")
	l, r := strings.Fields(left), strings.Fields(right)
	if !ok || len(l) < 6 || len(r) < 1 {
		return "", "", false
	}
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(l[4]), r[0], true
}

// hideMonitor masks the socket of git's file system monitor, a process of the host
// that listens inside the git directory.
func (d *draft) hideMonitor() {
	for _, dir := range []string{d.Repo.GitDir, d.Repo.CommonDir} {
		p := filepath.Join(dir, "fsmonitor--daemon.ipc")
		if st, err := os.Lstat(p); dir != "" && err == nil && st.Mode()&os.ModeSocket != 0 {
			d.masks = append(d.masks, plan.Mask{Path: p, Why: "socket of a host process"})
		}
	}
}
