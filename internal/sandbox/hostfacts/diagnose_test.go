package hostfacts

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// facts of an ordinary user on a kernel that has everything.
func plainFacts(change func(*Facts)) Facts {
	f := Facts{Kernel: "6.8.0-31-generic", UID: 1000, Landlock: 4,
		Sysctl: Sysctl{MaxUserNS: 15000, UnprivUserNS: -1, AppArmorUserNS: -1}}
	change(&f)
	return f
}

func TestDiagnose(t *testing.T) {
	nothing := func(*Facts) {}
	docker := func(f *Facts) { f.Container, f.UID = "docker", 0; f.Caps = 1 << unix.CAP_SETFCAP }
	filtered := func(f *Facts) { docker(f); f.Filtered = true }
	ubuntu := func(f *Facts) { f.Sysctl.AppArmorUserNS = 1 }
	for _, c := range []struct {
		name, wall  string
		err         error
		facts       func(*Facts)
		reason, fix string
	}{
		{"docker by default", "user", unix.EPERM, filtered, "seccomp filter", "docker run --security-opt seccomp=unconfined --security-opt systempaths=unconfined …"},
		{"docker, mounts", "mount-api", unix.EPERM, filtered, "seccomp filter", "--security-opt seccomp=unconfined"},
		{"docker, devcontainer", "user", unix.EPERM, filtered, "seccomp filter", `"runArgs": ["--security-opt", "seccomp=unconfined", "--security-opt", "systempaths=unconfined"]`},
		{"podman", "user", unix.EPERM, func(f *Facts) { filtered(f); f.Container = "podman" }, "seccomp filter", "unmask=ALL"},
		{"kubernetes", "proc", unix.EPERM, func(f *Facts) { f.Container = "kubernetes" }, "covered", "procMount: Unmasked"},
		{"docker, proc", "proc", unix.EPERM, docker, "parts of /proc are covered", "docker run --security-opt systempaths=unconfined …"},
		{"docker, proc of nested", "nested", unix.EPERM, docker, "parts of /proc are covered", "systempaths=unconfined"},
		{"docker, AppArmor", "mount", unix.EACCES, docker, "security module", "apparmor=unconfined"},
		{"a covered proc on a host", "proc", unix.EPERM, nothing, "parts of /proc are covered", "findmnt -R /proc"},
		{"Ubuntu", "user", unix.EPERM, ubuntu, "/etc/apparmor.d/ringfence", "sudo make install"},
		{"Ubuntu, at the first mount", "mount", unix.EACCES, ubuntu, "AppArmor", "sudo make install"},
		{"Ubuntu does not bind root", "user", unix.EPERM, func(f *Facts) { ubuntu(f); f.UID = 0; f.Caps = ^uint64(0) }, "chroot", "chroot"},
		{"old Debian", "user", unix.EPERM, func(f *Facts) { f.Sysctl.UnprivUserNS = 0 }, "unprivileged_userns_clone is 0", "sudo sysctl -w kernel.unprivileged_userns_clone=1"},
		{"switched off", "user", unix.ENOSPC, func(f *Facts) { f.Sysctl.MaxUserNS = 0 }, "is 0", "sudo sysctl -w user.max_user_namespaces=15000"},
		{"used up", "user", unix.ENOSPC, nothing, "allows no more", "user.max_user_namespaces"},
		{"no network namespaces left", "net", unix.ENOSPC, nothing, "user.max_net_namespaces", "sudo sysctl -w user.max_net_namespaces=15000"},
		{"no user namespaces built in", "user", unix.EINVAL, nothing, "user namespaces", "CONFIG_USER_NS=y"},
		{"old kernel, mounts", "kernel", unix.ENOSYS, func(f *Facts) { f.Kernel = "5.10.0-28-amd64" }, "mount_setattr", "boot Linux 5.12 or later"},
		{"old kernel, Landlock", "landlock", unix.ENOSYS, func(f *Facts) { f.Kernel = "5.10.0" }, "Landlock", "boot Linux 5.13 or later"},
		{"Landlock not built in", "landlock", unix.ENOSYS, nothing, "Landlock", "CONFIG_SECURITY_LANDLOCK=y"},
		{"Landlock not booted", "landlock", unix.EOPNOTSUPP, nothing, "switched off at boot", "lsm="},
		{"a filter that says ENOSYS", "mount-api", unix.ENOSYS, filtered, "seccomp filter", "seccomp=unconfined"},
		{"keys used up", "keyring", unix.EDQUOT, nothing, "quota", "kernel.keys.maxkeys"},
		{"root without capabilities", "user", unix.EPERM, func(f *Facts) { f.UID = 0 }, "CAP_SETFCAP", "--cap-add SETFCAP"},
		{"WSL 1", "user", unix.EINVAL, func(f *Facts) { f.WSL = 1 }, "WSL 1", "--set-version"},
		{"no terminal", "tty", unix.ENOENT, nothing, "pseudo-terminals", "devpts"},
		{"what nobody knows", "uts", errors.New("odd"), nothing, "does not know", "ringfence doctor"},
		{"a wall that nobody knows", "moat", unix.ENOSYS, nothing, "does not know", "ringfence doctor"},
	} {
		// The launch hands over what it has: an errno inside of other words.
		reason, fix := Diagnose(c.wall, fmt.Errorf("clone: %w", c.err), plainFacts(c.facts))
		if !strings.Contains(reason, c.reason) || !strings.Contains(fix, c.fix) {
			t.Errorf("%s: reason %q, fix %q", c.name, reason, fix)
		}
		if strings.Contains(reason+fix, "\n") {
			t.Errorf("%s: more than one line", c.name)
		}
	}
}

func TestLandlockABIs(t *testing.T) {
	for abi, want := range map[int]Status{1: Degraded, 2: Degraded, 3: OK, 7: OK} {
		if r := judge("landlock", nil, Facts{Landlock: abi}); r.Status != want || (r.Fix == "") != (want == OK) {
			t.Errorf("ABI %d: %+v", abi, r)
		}
	}
}

func TestKernelResult(t *testing.T) {
	all := Calls{Present, Present, Present, Present, Present, Present, Present, Present, Present}
	if r := probeKernel(plainFacts(func(f *Facts) { f.Calls = all })); r.Status != OK {
		t.Errorf("%+v", r)
	}
	old := plainFacts(func(f *Facts) { f.Calls = all; f.Calls.MountSetattr = Absent; f.Kernel = "5.10.0" })
	if r := probeKernel(old); r.Status != Unusable || !strings.Contains(r.Fix, "5.12") {
		t.Errorf("%+v", r)
	}
	if r := probeKernel(plainFacts(func(f *Facts) { f.Calls = all; f.WSL = 1 })); r.Status != Unusable || !strings.Contains(r.Fix, "wsl") {
		t.Errorf("%+v", r)
	}
}

func TestWSL(t *testing.T) {
	for version, want := range map[string]int{
		"Linux version 4.4.0-19041-Microsoft (Microsoft@Microsoft.com) (gcc)": 1,
		"Linux version 5.15.153.1-microsoft-standard-WSL2 (root@x) (gcc)":     2,
		"Linux version 6.1.0-18-amd64 (debian-kernel@lists.debian.org)":       0,
	} {
		if got := wsl(version); got != want {
			t.Errorf("%q: %d", version, got)
		}
	}
}

func TestAtLeast(t *testing.T) {
	for _, c := range []struct {
		release, version string
		want             bool
	}{
		{"6.18.4-x", "5.12", true}, {"5.12.0", "5.12", true}, {"5.4.0-1", "5.12", false}, {"5.12", "5.12", true},
		{"4.19.0", "5.2", false}, {"", "5.12", true}, {"99999999999999999999.1", "5.12", true},
	} {
		if got := atLeast(c.release, c.version); got != c.want {
			t.Errorf("%q >= %q: %v", c.release, c.version, got)
		}
	}
}
