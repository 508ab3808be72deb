package hostfacts

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Diagnose says why a wall would not stand and what cures it, in one line each.
// The wall is named as in a Result; err holds the errno of the step that failed.
func Diagnose(wall string, err error, f Facts) (reason, fix string) {
	if f.WSL == 1 {
		return "WSL 1 translates system calls and has no namespaces", "wsl.exe --set-version <distribution> 2"
	}
	if wall == "tty" {
		return "pseudo-terminals cannot be made here", "sudo mount -t devpts -o newinstance,ptmxmode=0666 devpts /dev/pts && sudo ln -sf pts/ptmx /dev/ptmx"
	}
	var errno syscall.Errno
	errors.As(err, &errno)
	if wall == "gate" && errno != 0 && errno != unix.ENOSPC && errno != unix.EUSERS {
		return "nftables is not to be had in a namespace of its own, so only --net none can start",
			"sudo modprobe -a nf_tables nft_chain_nat nft_redir nft_ct nft_reject_inet"
	}
	switch errno {
	case unix.ENOSYS, unix.EOPNOTSUPP, unix.EINVAL, unix.ENODEV:
		return missing(wall, errno, f)
	case unix.ENOSPC, unix.EUSERS:
		return exhausted(wall, f)
	case unix.EPERM, unix.EACCES, unix.EROFS:
		return denied(wall, errno, f)
	case unix.EDQUOT:
		if wall == "keyring" {
			return "the quota of kernel keys is used up", "sudo sysctl -w kernel.keys.maxkeys=2000 kernel.keys.maxbytes=200000"
		}
	}
	return unknown(wall)
}

func unknown(wall string) (reason, fix string) {
	return "the kernel refuses it for a reason that ringfence does not know",
		"ringfence doctor --json shows what to report about " + wall
}

// need is what a wall wants of the kernel.
type need struct{ what, since, config string }

var needs = map[string]need{
	"kernel":       {"the mount calls open_tree, move_mount and mount_setattr", "5.12", ""},
	"user":         {"user namespaces", "3.8", "CONFIG_USER_NS"},
	"mount":        {"mount namespaces", "3.8", "CONFIG_NAMESPACES"},
	"mount-api":    {"the mount calls open_tree, move_mount and mount_setattr", "5.12", ""},
	"pid":          {"PID namespaces", "3.8", "CONFIG_PID_NS"},
	"proc":         {"proc", "3.8", "CONFIG_PROC_FS"},
	"devpts":       {"own instances of devpts", "4.7", "CONFIG_UNIX98_PTYS"},
	"ipc":          {"IPC namespaces", "3.8", "CONFIG_IPC_NS"},
	"uts":          {"UTS namespaces", "3.8", "CONFIG_UTS_NS"},
	"net":          {"network namespaces", "3.8", "CONFIG_NET_NS"},
	"gate":         {"nftables", "5.2", "CONFIG_NF_TABLES"},
	"cgroup":       {"cgroup namespaces", "4.6", "CONFIG_CGROUPS"},
	"keyring":      {"kernel keyrings", "2.6.10", "CONFIG_KEYS"},
	"nested":       {"limits on the number of user namespaces", "4.9", "CONFIG_USER_NS"},
	"caps":         {"ambient capabilities", "4.3", ""},
	"no-new-privs": {"no_new_privs", "3.5", ""},
	"landlock":     {"Landlock", "5.13", "CONFIG_SECURITY_LANDLOCK"},
	"seccomp":      {"seccomp filters", "4.14", "CONFIG_SECCOMP_FILTER"},
	"overlay":      {"overlayfs in a user namespace", "5.11", "CONFIG_OVERLAY_FS"},
}

// missing is for a kernel without the thing, or a filter that makes it look so.
func missing(wall string, errno syscall.Errno, f Facts) (reason, fix string) {
	n, ok := needs[wall]
	if !ok {
		return unknown(wall)
	}
	if wall == "landlock" && errno == unix.EOPNOTSUPP {
		return "Landlock is built into the kernel and switched off at boot",
			"put landlock first in the lsm= list of the kernel command line (cat /sys/kernel/security/lsm shows the list) and reboot"
	}
	reason = "this kernel does not have " + n.what
	switch {
	case !atLeast(f.Kernel, n.since):
		return reason, fmt.Sprintf("boot Linux %s or later: it brings %s", n.since, n.what)
	case f.Filtered && errno == unix.ENOSYS:
		return "a seccomp filter hides the calls", unfilter(f)
	case n.config != "":
		return reason, "boot a kernel built with " + n.config + "=y"
	}
	return reason, fmt.Sprintf("boot a distribution kernel of Linux %s or later", n.since)
}

// exhausted is for the limits on the number of namespaces.
func exhausted(wall string, f Facts) (reason, fix string) {
	kind, ok := map[string]string{"user": "user", "mount": "mnt", "mount-api": "mnt", "pid": "pid", "proc": "pid",
		"ipc": "ipc", "uts": "uts", "net": "net", "cgroup": "cgroup"}[wall]
	if !ok {
		return unknown(wall)
	}
	name := "user.max_" + kind + "_namespaces"
	reason = name + " allows no more"
	if wall == "user" && f.Sysctl.MaxUserNS == 0 {
		reason = "user namespaces are switched off: " + name + " is 0"
	}
	return reason, "sudo sysctl -w " + name + "=15000"
}

// denied is for EPERM and its like. The order matters: what stands nearest to
// the call speaks first, and a privileged launcher is not bound by the knobs.
func denied(wall string, errno syscall.Errno, f Facts) (reason, fix string) {
	plain := !f.has(unix.CAP_SYS_ADMIN)
	switch {
	case wall == "user" && f.Sysctl.MaxUserNS == 0:
		return exhausted(wall, f)
	case wall == "user" && plain && f.Sysctl.UnprivUserNS == 0:
		return "user namespaces are reserved to root: kernel.unprivileged_userns_clone is 0",
			"sudo sysctl -w kernel.unprivileged_userns_clone=1"
	case f.Filtered:
		return "a seccomp filter refuses it" + inContainer(f), unfilter(f)
	case plain && f.Sysctl.AppArmorUserNS == 1 && beforeProc(wall):
		return "AppArmor takes the capabilities from user namespaces of ordinary programs (kernel.apparmor_restrict_unprivileged_userns is 1); " +
				"the package, and `make install`, put the profile /etc/apparmor.d/ringfence there for a ringfence in /usr/bin or /usr/local/bin",
			"install the package, or run `sudo make install` in ringfence's own source tree"
	case wall == "user" && f.UID == 0 && !f.has(unix.CAP_SETFCAP):
		return "root without CAP_SETFCAP cannot map itself into a user namespace", "docker run --cap-add SETFCAP …"
	case wall == "proc" || wall == "nested":
		return maskedProc(f)
	case f.Container != "" && beforeProc(wall):
		return "a security module of the host confines this container", "docker run --security-opt apparmor=unconfined …"
	case wall == "user":
		return "the kernel refuses user namespaces here: a chroot, or a security module (SELinux, AppArmor)",
			"run ringfence outside of the chroot; sudo journalctl -k -g 'denied|avc' shows what a security module refused"
	}
	return unknown(wall)
}

// beforeProc holds for the walls at which a confined user namespace shows first.
func beforeProc(wall string) bool {
	return wall == "user" || wall == "mount" || wall == "mount-api" || wall == "kernel"
}

func inContainer(f Facts) string {
	if f.Container == "" {
		return ""
	}
	return ", as containers set it by default"
}

// unfilter names both settings that a container needs: with the first alone the
// launch would get as far as proc and fail there.
func unfilter(f Facts) string {
	switch f.Container {
	case "podman":
		return "podman run --security-opt seccomp=unconfined --security-opt unmask=ALL …"
	case "kubernetes":
		return "securityContext: {seccompProfile: {type: Unconfined}, procMount: Unmasked}"
	}
	return "docker run --security-opt seccomp=unconfined --security-opt systempaths=unconfined … " +
		`(devcontainer.json: "runArgs": ["--security-opt", "seccomp=unconfined", "--security-opt", "systempaths=unconfined"])`
}

// maskedProc is for a mount of proc that the kernel refuses because the one we
// have is partly covered: a new one would show what the cover hides.
func maskedProc(f Facts) (reason, fix string) {
	reason = "parts of /proc are covered, so the kernel refuses a fresh one"
	switch f.Container {
	case "podman":
		return reason, "podman run --security-opt unmask=ALL …"
	case "kubernetes":
		return reason, "securityContext: {procMount: Unmasked}"
	case "":
		return reason, "findmnt -R /proc shows what covers it: sudo umount what is not needed, or in Docker: --security-opt systempaths=unconfined"
	}
	return reason, "docker run --security-opt systempaths=unconfined … " +
		`(devcontainer.json: "runArgs": ["--security-opt", "systempaths=unconfined"])`
}

// atLeast compares the release of a kernel with "major.minor". What cannot be
// read counts as new: then the errno speaks for itself.
func atLeast(release, version string) bool {
	a, b := strings.FieldsFunc(release, notDigit), strings.FieldsFunc(version, notDigit)
	for i := range b {
		if i >= len(a) {
			return true
		}
		x, err := strconv.Atoi(a[i])
		y, _ := strconv.Atoi(b[i])
		if err != nil || x != y {
			return err != nil || x > y
		}
	}
	return true
}

func notDigit(r rune) bool { return r < '0' || r > '9' }
