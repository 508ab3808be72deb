package probe

import (
	"errors"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Terminal wants TIOCSTI refused before the kernel looks at the descriptor: on
// one that does not exist it would say EBADF. So the answer does not depend on
// dev.tty.legacy_tiocsti, and nothing is typed anywhere.
func Terminal() Result {
	_, _, errno := unix.RawSyscall(unix.SYS_IOCTL, ^uintptr(0), unix.TIOCSTI|1<<40, 0)
	return refused("tty", errno, unix.EPERM)
}

// typing is Terminal for both calls that type, with and without bits above those
// the kernel reads, and wants terminals of our own besides.
func typing(t *Target) Result {
	const tiocLinux = 0x541c
	for _, call := range []uintptr{unix.TIOCSTI, unix.TIOCSTI | 1<<40, tiocLinux, tiocLinux | 1<<40} {
		_, _, errno := unix.RawSyscall(unix.SYS_IOCTL, ^uintptr(0), call, 0)
		if r := refused("tty", errno, unix.EPERM); r.Open {
			return open("tty", "ioctl %#x: %s", call, r.Detail)
		}
	}
	var st unix.Stat_t
	if err := unix.Stat("/dev/pts", &st); err != nil {
		return open("tty", "terminals: %v", err)
	}
	if st.Dev == t.Terminals {
		return open("tty", "the terminals are the host's")
	}
	return closed("tty", "own terminals; TIOCSTI and TIOCLINUX are answered by the filter")
}

// Nested wants no user namespace below this one, by the filter and by the count.
// A process with several threads gets EINVAL before the kernel looks at the
// count, so where no filter stands the count alone has to speak.
func Nested() Result {
	const name = "nested"
	b, err := os.ReadFile("/proc/sys/user/max_user_namespaces")
	if err != nil && onSentry() { // it has no such number: the filter is the wall
		return refused(name, unix.Unshare(unix.CLONE_NEWUSER), unix.EPERM)
	}
	if err != nil {
		return open(name, "%v", err)
	}
	if strings.TrimSpace(string(b)) != "0" {
		return open(name, "max_user_namespaces is not 0")
	}
	return refused(name, unix.Unshare(unix.CLONE_NEWUSER), unix.EPERM, unix.ENOSPC, unix.EINVAL)
}

// nesting is Nested with a real child.
func nesting(*Target) Result {
	const name = "nested"
	if r := Nested(); r.Open {
		return r
	}
	p, err := os.StartProcess(self, []string{self, Arg, nothingArg}, &os.ProcAttr{
		Sys: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}})
	if err == nil {
		p.Wait()
	}
	return refused(name, err, unix.EPERM, unix.ENOSPC)
}

// Mounting wants the mount family refused by the filter.
func Mounting() Result {
	_, _, errno := unix.RawSyscall6(unix.SYS_MOUNT, 0, 0, 0, 0, 0, 0)
	return refused("mount-calls", errno, unix.EPERM)
}

// mountCalls asks for the calls that would rebuild the view, each with arguments
// that the kernel refuses for another reason before it looks at privilege: what
// comes back says who answered, to any user, and nothing happens.
func mountCalls(*Target) Result {
	const name = "mount-calls"
	if r := Mounting(); r.Open {
		return open(name, "mount: %s", r.Detail)
	}
	none := ^uintptr(0)
	for _, c := range []struct {
		call string
		nr   uintptr
		args [3]uintptr
	}{
		{"umount2", unix.SYS_UMOUNT2, [3]uintptr{0, 1 << 20}},
		{"open_tree", unix.SYS_OPEN_TREE, [3]uintptr{none}},
		{"mount_setattr", unix.SYS_MOUNT_SETATTR, [3]uintptr{none}},
		{"chroot", unix.SYS_CHROOT, [3]uintptr{}},
		{"setns", unix.SYS_SETNS, [3]uintptr{none}},
	} {
		_, _, errno := unix.RawSyscall6(c.nr, c.args[0], c.args[1], c.args[2], 0, 0, 0)
		if r := refused(name, errno, unix.EPERM); r.Open {
			return open(name, "%s: %s", c.call, r.Detail)
		}
	}
	return closed(name, "the mount family is answered by the filter")
}

// Keyring wants the keyring calls out of reach.
func Keyring() Result {
	_, _, errno := unix.RawSyscall(unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, uintptr(^uint32(2)), 0)
	return refused("keyring", errno, unix.EPERM)
}

// sessionKey looks for the key that the launcher has in its session keyring.
// Either of two walls may answer: the filter, or a fresh keyring without it.
func sessionKey(t *Target) Result {
	const name = "keyring"
	key, err := unix.KeyctlSearch(unix.KEY_SPEC_SESSION_KEYRING, "user", t.Key, 0)
	if err == nil {
		b := make([]byte, 256)
		if n, err := unix.KeyctlBuffer(unix.KEYCTL_READ, key, b, 0); err == nil && t.carries(b[:min(n, len(b))]) {
			return open(name, "the canary was read from the launcher's session keyring")
		}
		return open(name, "the launcher's session keyring can be searched")
	}
	return refused(name, err, unix.EPERM, unix.ENOKEY)
}

// Landlock tries to write where the mount allows it and only Landlock does not.
func Landlock(own string) Result {
	name := own + "/landlock"
	fd, err := unix.Open(name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err == nil {
		unix.Close(fd)
		unix.Unlink(name)
	}
	if err != nil && onSentry() {
		return open("landlock", "gVisor has no Landlock: its mounts alone say what is read-only")
	}
	return refused("landlock", err, unix.EACCES)
}

// settings wants the kernel's settings read-only: root of the host could write
// them without any capability. coredump_filter is one that any user owns.
func settings(*Target) Result {
	const name = "proc-sys"
	for _, f := range []string{"/proc/self/coredump_filter", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname",
		"/proc/sys/vm/overcommit_memory", "/proc/sys/user/max_user_namespaces"} {
		fd, err := unix.Open(f, unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			unix.Close(fd)
			return open(name, "%s opens for writing", f)
		}
		if !errors.Is(err, unix.EROFS) && !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.ENOENT) {
			return open(name, "%s: %v", f, err)
		}
	}
	if err := readOnly("/proc"); err != nil {
		return open(name, "%v", err)
	}
	return closed(name, "/proc is read-only")
}

// tables wants what the kernel tells of the machine and of everybody on it to be
// absent or empty.
func tables(*Target) Result {
	const name = "tables"
	for _, f := range []string{"/sys/kernel", "/sys/class", "/sys/fs/cgroup"} {
		if r, gone := absent(name, f); !gone {
			return r
		}
	}
	for _, f := range []string{"/proc/keys", "/proc/key-users", "/proc/kallsyms", "/proc/kcore", "/proc/kmsg", "/proc/timer_list",
		"/proc/interrupts", "/proc/iomem", "/proc/slabinfo", "/proc/vmallocinfo", "/proc/bus/pci/devices"} {
		if firstByte(f) {
			return open(name, "%s can be read", f)
		}
	}
	return closed(name, "/sys is absent, tables in /proc are masked")
}

func firstByte(file string) bool {
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, make([]byte, 1))
	return err == nil && n > 0
}
