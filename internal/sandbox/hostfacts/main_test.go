package hostfacts

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/cgroup"
)

// The test binary is also the child of the probes, the janitor, and a host that
// lacks something: "__lame NAME" takes it away by real means and then probes.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case ProbeArg:
			os.Exit(ProbeMain(os.Args[2:]))
		case cgroup.JanitorArg:
			os.Exit(cgroup.JanitorMain(os.Args[2:]))
		case "__lame":
			os.Exit(probeLame(os.Args[2]))
		}
	}
	os.Exit(m.Run())
}

// probed is what a lame host prints.
type probed struct {
	Facts   Facts
	Results []Result
}

func probeLame(name string) int {
	if err := lame[name](); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	f, r := Probe(context.Background())
	if json.NewEncoder(os.Stdout).Encode(probed{f, r}) != nil {
		return 1
	}
	return 0
}

var lame = map[string]func() error{
	"nothing":     func() error { return nil },
	"container":   func() error { return filter(containerFilter()) },
	"no-landlock": func() error { return filter(answering(unix.EOPNOTSUPP, unix.SYS_LANDLOCK_CREATE_RULESET)) },
	"hidden":      func() error { return filter(answering(unix.ENOSYS, unix.SYS_LANDLOCK_CREATE_RULESET)) },
	"no-keyring":  func() error { return filter(answering(unix.EPERM, unix.SYS_KEYCTL)) },
	"no-userns": func() error {
		if err := freshProc(); err != nil {
			return err
		}
		return os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0)
	},
	"masked": func() error {
		if err := freshProc(); err != nil {
			return err
		}
		return unix.Mount("/dev/null", "/proc/keys", "", unix.MS_BIND, "")
	},
	"no-setfcap": dropSetfcap,
}

// filter loads a seccomp filter on every thread.
func filter(prog []unix.SockFilter) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	p := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&p)))
	return step("filter", nonzero(errno))
}

func nonzero(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

var (
	loadCall = unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}
	loadArg0 = unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 16}
	allow    = unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
)

func refuse(errno syscall.Errno) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

func unlessCall(nr uint32, skip uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: nr, Jf: skip}
}

func answering(errno syscall.Errno, calls ...uint32) []unix.SockFilter {
	prog := []unix.SockFilter{loadCall}
	for _, nr := range calls {
		prog = append(prog, unlessCall(nr, 1), refuse(errno))
	}
	return append(prog, allow)
}

// containerFilter refuses what the default profile of container engines refuses
// a container without CAP_SYS_ADMIN, as far as a launch meets it.
func containerFilter() []unix.SockFilter {
	const spaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	prog := []unix.SockFilter{loadCall, unlessCall(unix.SYS_CLONE3, 1), refuse(unix.ENOSYS)}
	for _, nr := range []uint32{unix.SYS_CLONE, unix.SYS_UNSHARE} {
		prog = append(prog, unlessCall(nr, 4), loadArg0,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: spaces, Jf: 1}, refuse(unix.EPERM), allow)
	}
	rest := answering(unix.EPERM, unix.SYS_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_MOUNT_SETATTR, unix.SYS_KEYCTL)
	return append(prog, rest...)
}

// dropSetfcap is a container that keeps no capability for its root. Every thread
// drops it, since any of them may do the clone.
func dropSetfcap() error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return err
	}
	for _, bits := range []*uint32{&data[0].Effective, &data[0].Permitted, &data[0].Inheritable} {
		*bits &^= 1 << unix.CAP_SETFCAP
	}
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&hdr)), uintptr(unsafe.Pointer(&data[0])), 0)
	return step("capset", nonzero(errno))
}
