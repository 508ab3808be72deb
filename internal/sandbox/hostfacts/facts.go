// Package hostfacts finds out what this host can enforce, by trying it and not by
// reading a version. Quick asks the kernel directly and costs next to nothing, so
// every launch can afford it; Probe raises each wall in a throw-away child, in
// the order of launch; Diagnose turns the errno of a wall that would not stand
// into its cause and the one command that cures it.
//
// Nothing here names a user, a host or a path of the user: the output of doctor
// is safe to paste.
package hostfacts

import (
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Facts are what Quick found. Diagnose judges by them.
type Facts struct {
	Kernel    string `json:"kernel"`
	Arch      string `json:"arch"`
	UID       int    `json:"uid"`
	Caps      uint64 `json:"caps"`                // effective capabilities
	Landlock  int    `json:"landlock"`            // ABI; 0 is none
	Filtered  bool   `json:"filtered"`            // a seccomp filter is in force already
	Container string `json:"container,omitempty"` // a hint: docker, podman, kubernetes, lxc
	WSL       int    `json:"wsl,omitempty"`       // 1 or 2
	Systemd   bool   `json:"systemd"`             // is the init of this host
	Calls     Calls  `json:"calls"`
	Sysctl    Sysctl `json:"sysctl"`
}

// Call is whether a system call can be used.
type Call string

// The answers to a trial call.
const (
	Present  Call = "yes"
	Absent   Call = "absent"   // ENOSYS: the kernel does not have it, or a filter says so
	Disabled Call = "disabled" // built in and switched off at boot
	Refused  Call = "refused"  // EPERM: a seccomp filter
)

// Errno is the error that a call which cannot be used answers with.
func (c Call) Errno() error {
	switch c {
	case Absent:
		return unix.ENOSYS
	case Disabled:
		return unix.EOPNOTSUPP
	case Refused:
		return unix.EPERM
	}
	return nil
}

// Calls are the system calls that walls are made of.
type Calls struct {
	OpenAt2      Call `json:"openat2"`
	OpenTree     Call `json:"open_tree"`
	MoveMount    Call `json:"move_mount"`
	MountSetattr Call `json:"mount_setattr"`
	CloseRange   Call `json:"close_range"`
	PidfdOpen    Call `json:"pidfd_open"`
	Keyctl       Call `json:"keyctl"`
	Seccomp      Call `json:"seccomp"`
	Landlock     Call `json:"landlock"`
}

// Sysctl are the knobs that decide about walls; -1 means that this kernel does
// not have the knob.
type Sysctl struct {
	MaxUserNS       int `json:"user.max_user_namespaces"`
	UnprivUserNS    int `json:"kernel.unprivileged_userns_clone"`
	AppArmorUserNS  int `json:"kernel.apparmor_restrict_unprivileged_userns"`
	LegacyTIOCSTI   int `json:"dev.tty.legacy_tiocsti"`
	YamaPtraceScope int `json:"kernel.yama.ptrace_scope"`
}

// Quick gathers the facts in this process: no fork, no namespace, and nothing
// changed.
func Quick() Facts {
	var f Facts
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		f.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	f.Arch, f.UID, f.Caps = runtime.GOARCH, os.Getuid(), effectiveCaps()
	f.Calls, f.Landlock = tryCalls()
	mode, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
	f.Filtered = err == nil && mode == unix.SECCOMP_MODE_FILTER
	f.Container, f.WSL = container(), wsl(readSmall("/proc/version"))
	f.Systemd = exists("/run/systemd/system")
	f.Sysctl = Sysctl{
		MaxUserNS:       sysctl("user/max_user_namespaces"),
		UnprivUserNS:    sysctl("kernel/unprivileged_userns_clone"),
		AppArmorUserNS:  sysctl("kernel/apparmor_restrict_unprivileged_userns"),
		LegacyTIOCSTI:   sysctl("dev/tty/legacy_tiocsti"),
		YamaPtraceScope: sysctl("kernel/yama/ptrace_scope"),
	}
	return f
}

func effectiveCaps() uint64 {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&hdr, &data[0]) != nil {
		return 0
	}
	return uint64(data[1].Effective)<<32 | uint64(data[0].Effective)
}

// has reports an effective capability.
func (f Facts) has(capability uint) bool { return f.Caps>>capability&1 == 1 }

func sysctl(name string) int {
	n, err := strconv.Atoi(strings.TrimSpace(readSmall("/proc/sys/" + name)))
	if err != nil {
		return -1
	}
	return n
}

// readSmall returns the first kilobyte of a file of the kernel, or "".
func readSmall(path string) string {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	var b [1024]byte
	n, _ := unix.Read(fd, b[:])
	return string(b[:max(n, 0)])
}

func exists(path string) bool { return unix.Access(path, unix.F_OK) == nil }

// container guesses which engine made the container we may be in, to word the
// cure; no decision hangs on it.
func container() string {
	switch {
	case os.Getenv("KUBERNETES_SERVICE_HOST") != "":
		return "kubernetes"
	case exists("/.dockerenv"):
		return "docker"
	case exists("/run/.containerenv"):
		return "podman"
	}
	group := readSmall("/proc/1/cgroup")
	for _, hint := range [][2]string{{"kubepods", "kubernetes"}, {"libpod", "podman"}, {"docker", "docker"}, {"lxc", "lxc"}} {
		if strings.Contains(group, hint[0]) {
			return hint[1]
		}
	}
	return ""
}

// wsl tells the translation layer (1, "…-Microsoft") from the virtual machine
// (2, "…-microsoft-standard-WSL2") by /proc/version.
func wsl(version string) int {
	switch {
	case strings.Contains(version, "microsoft-standard"), strings.Contains(version, "WSL2"):
		return 2
	case strings.Contains(version, "Microsoft"):
		return 1
	}
	return 0
}
