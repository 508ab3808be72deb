package seccomp

import (
	"runtime"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// probes are calls that without the filter reach the kernel, and there fail (or
// not) otherwise than the filter answers, for root and for anybody: arguments
// are chosen wrong in the way that the kernel notices before it looks at
// privileges. So the bare run is the negative control of each.
var probes = []probe{
	{name: "user namespace", nr: "unshare", args: [6]uint64{unix.CLONE_NEWUSER}, want: unix.EPERM},
	{name: "user namespace by clone", nr: "clone", args: [6]uint64{unix.CLONE_NEWUSER | unix.CLONE_FS}, want: unix.EPERM},
	{name: "clone3", nr: "clone3", want: unix.ENOSYS},
	{name: "setns", nr: "setns", args: [6]uint64{noise, 0}, want: unix.EPERM},
	{name: "mount", nr: "mount", want: unix.EPERM},
	{name: "umount", nr: "umount2", want: unix.EPERM},
	{name: "chroot", nr: "chroot", want: unix.EPERM},
	{name: "open_tree", nr: "open_tree", args: [6]uint64{noise}, want: unix.EPERM},
	{name: "mount_setattr", nr: "mount_setattr", args: [6]uint64{noise}, want: unix.EPERM},
	{name: "keyctl", nr: "keyctl", args: [6]uint64{noise}, want: unix.EPERM},
	{name: "add_key", nr: "add_key", want: unix.EPERM},
	{name: "request_key", nr: "request_key", want: unix.EPERM},
	{name: "bpf", nr: "bpf", args: [6]uint64{7, noise, 8}, want: unix.EPERM},
	{name: "perf", nr: "perf_event_open", args: [6]uint64{0, 0, 0, 0, noise}, want: unix.EPERM},
	{name: "userfaultfd", nr: "userfaultfd", args: [6]uint64{noise}, want: unix.EPERM},
	{name: "io_uring", nr: "io_uring_setup", want: unix.EPERM},
	{name: "io_uring_enter", nr: "io_uring_enter", args: [6]uint64{noise}, want: unix.EPERM},
	{name: "kcmp", nr: "kcmp", want: unix.EPERM},
	{name: "pidfd_getfd", nr: "pidfd_getfd", args: [6]uint64{noise}, want: unix.EPERM},
	{name: "memfd_secret", nr: "memfd_secret", args: [6]uint64{noise}, want: unix.EPERM},
	{name: "name_to_handle_at", nr: "name_to_handle_at", args: [6]uint64{noise}, want: unix.EPERM},
	{name: "mbind", nr: "mbind", args: [6]uint64{0, 0, noise}, want: unix.EPERM},
	{name: "process_vm_readv", nr: "process_vm_readv", args: [6]uint64{0, 0, 0, 0, 0, noise}, want: unix.EPERM},
	{name: "no randomisation", nr: "personality", args: [6]uint64{0x0040000}, want: unix.EPERM},
	{name: "whiteout", nr: "mknodat", args: [6]uint64{noise, 0, unix.S_IFCHR}, want: unix.EPERM},
	{name: "TIOCSTI", nr: "ioctl", args: [6]uint64{noise, unix.TIOCSTI}, want: unix.EPERM},
	{name: "TIOCSTI, high bits", nr: "ioctl", args: [6]uint64{noise, 1<<32 | unix.TIOCSTI}, want: unix.EPERM},
	{name: "TIOCLINUX, high bits", nr: "ioctl", args: [6]uint64{noise, 1<<63 | unix.TIOCLINUX}, want: unix.EPERM},
	{name: "TIOCSETD", nr: "ioctl", args: [6]uint64{noise, unix.TIOCSETD}, want: unix.EPERM},
	{name: "netlink audit", nr: "socket", args: [6]uint64{unix.AF_NETLINK, badType, unix.NETLINK_AUDIT}, want: unix.EPROTONOSUPPORT},
	{name: "netlink netfilter", nr: "socket", args: [6]uint64{unix.AF_NETLINK, badType, unix.NETLINK_NETFILTER}, want: unix.EPROTONOSUPPORT},
	{name: "vsock", nr: "socket", args: [6]uint64{unix.AF_VSOCK, badType}, want: unix.EAFNOSUPPORT},
	{name: "vsock, high bits", nr: "socket", args: [6]uint64{1<<32 | unix.AF_VSOCK, badType}, want: unix.EAFNOSUPPORT},
	{name: "packet", nr: "socket", args: [6]uint64{unix.AF_PACKET, badType}, want: unix.EAFNOSUPPORT},
	{name: "alg", nr: "socket", args: [6]uint64{unix.AF_ALG, badType}, want: unix.EAFNOSUPPORT},
	{name: "raw", nr: "socket", args: [6]uint64{unix.AF_INET, badFlags | unix.SOCK_RAW, unix.IPPROTO_ICMP}, want: unix.EPERM},
	{name: "packet by its old name", nr: "socket", args: [6]uint64{unix.AF_INET, badFlags | unix.SOCK_PACKET}, want: unix.EPERM},
	{name: "ping", nr: "socket", args: [6]uint64{unix.AF_INET, badType, unix.IPPROTO_ICMP}, want: unix.EPROTONOSUPPORT},
	{name: "mptcp", nr: "socket", args: [6]uint64{unix.AF_INET6, badType, unix.IPPROTO_MPTCP}, want: unix.EPROTONOSUPPORT},
	{name: "pair", nr: "socketpair", args: [6]uint64{unix.AF_TIPC, badType}, want: unix.EAFNOSUPPORT},
}

const (
	noise    = ^uint64(0)                 // no descriptor, no address, flags that do not exist
	badFlags = 0xf0                       // the kernel says EINVAL to these before anything else
	badType  = badFlags | unix.SOCK_DGRAM // a type like any other to the filter
)

func TestProbes(t *testing.T) {
	bare, filtered := ask(t, "bare", "probe"), ask(t, runtime.GOARCH, "probe")
	for _, p := range probes {
		if got := filtered[p.name]; got != p.want.Error() {
			t.Errorf("%s: %q, want %q", p.name, got, p.want)
		}
		if bare[p.name] == p.want.Error() {
			t.Errorf("%s: %q without the filter as well: the probe proves nothing", p.name, p.want)
		}
	}
}

// TestSweep makes every call that is refused or absent, with arguments that
// could do no harm if one slipped through.
func TestSweep(t *testing.T) {
	for name, got := range ask(t, runtime.GOARCH, "sweep") {
		want := unix.EPERM
		if slices.Contains(expectAbsent, name) {
			want = unix.ENOSYS
		}
		if got != want.Error() {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestX32 makes calls by their x32 numbers.
func TestX32(t *testing.T) {
	for name, got := range ask(t, runtime.GOARCH, "x32") {
		if got != unix.ENOSYS.Error() {
			t.Errorf("x32 %s: %q, want %q", name, got, unix.ENOSYS)
		}
	}
}

// TestThreads: the filter holds on a thread older than itself, and on a new one.
func TestThreads(t *testing.T) {
	for which, got := range ask(t, runtime.GOARCH, "thread") {
		if got != unix.EPERM.Error() {
			t.Errorf("keyctl on the %s thread: %q, want %q", which, got, unix.EPERM)
		}
	}
}

// TestOtherArchitecture: the kernel accepts the program of the architecture we
// are not, and it kills at the first call made.
func TestOtherArchitecture(t *testing.T) {
	other := map[string]string{"amd64": "arm64", "arm64": "amd64"}[runtime.GOARCH]
	cmd := command(other, "probe")
	err := cmd.Run()
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != unix.SIGSYS {
		t.Errorf("under the %s program: %v, want SIGSYS", other, err)
	}
}

// TestConstants holds the numbers of abi.go to x/sys.
func TestConstants(t *testing.T) {
	for i, pair := range [][2]uint64{
		{uint64(kill), unix.SECCOMP_RET_KILL_PROCESS}, {uint64(allow), unix.SECCOMP_RET_ALLOW},
		{uint64(refuse), unix.SECCOMP_RET_ERRNO | uint64(unix.EPERM)},
		{uint64(absent), unix.SECCOMP_RET_ERRNO | uint64(unix.ENOSYS)},
		{uint64(noProtocol), unix.SECCOMP_RET_ERRNO | uint64(unix.EPROTONOSUPPORT)},
		{uint64(noFamily), unix.SECCOMP_RET_ERRNO | uint64(unix.EAFNOSUPPORT)},
		{afUnix, unix.AF_UNIX}, {afInet, unix.AF_INET}, {afInet6, unix.AF_INET6}, {afNetlink, unix.AF_NETLINK},
		{sockStream, unix.SOCK_STREAM}, {sockDgram, unix.SOCK_DGRAM}, {netlinkRoute, unix.NETLINK_ROUTE},
		{protoDefault, unix.IPPROTO_IP}, {protoTCP, unix.IPPROTO_TCP}, {protoUDP, unix.IPPROTO_UDP},
		{cloneNewAny, unix.CLONE_NEWCGROUP | unix.CLONE_NEWIPC | unix.CLONE_NEWNET | unix.CLONE_NEWNS |
			unix.CLONE_NEWPID | unix.CLONE_NEWTIME | unix.CLONE_NEWUSER | unix.CLONE_NEWUTS},
		{cloneFS, unix.CLONE_FS}, {cloneFiles, unix.CLONE_FILES}, {cloneSysVSem, unix.CLONE_SYSVSEM},
		{tiocSTI, unix.TIOCSTI}, {tiocLinux, unix.TIOCLINUX}, {tiocCons, unix.TIOCCONS}, {tiocSetD, unix.TIOCSETD},
		{modeFormat, unix.S_IFMT}, {modeChar, unix.S_IFCHR}, {modeBlock, unix.S_IFBLK},
	} {
		if pair[0] != pair[1] {
			t.Errorf("constant %d: %#x, x/sys has %#x", i, pair[0], pair[1])
		}
	}
}
