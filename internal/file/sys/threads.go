package sys

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Go program has several threads from its first line on, and Linux keeps
// capabilities, no_new_privs and filters per thread: each of these calls is made
// on all of them, or the process ends.

// onAllThreads keeps what its arguments point to in place: a stack that moves between
// the caller and the last thread would leave the kernel an address of something else.
//
//go:uintptrescapes
func onAllThreads(what string, nr, a, b, c, d, e uintptr) error {
	if _, _, errno := syscall.AllThreadsSyscall6(nr, a, b, c, d, e, 0); errno != 0 {
		return fmt.Errorf("%s: %w", what, errno)
	}
	return nil
}

// DropBounding removes every capability up to last from the bounding set of the
// calling thread, the one that forks the agent. It is the one call here that is
// not made on all threads: forty rounds over them would cost more than all mounts
// together, and a thread without capabilities and with no_new_privs has no use
// for its bounding set.
func DropBounding(last int) error {
	for c := 0; c <= last; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err != nil {
			return fmt.Errorf("drop capability %d from the bounding set: %w", c, err)
		}
	}
	return nil
}

// LockSecureBits makes uid 0 an ordinary user for good: no capability comes back
// by exec, setuid or keepcaps.
func LockSecureBits() error {
	const ( // linux/securebits.h; each flag and, one bit above it, its lock
		noRoot         = 0b11 << 0
		noSetuidFixup  = 0b11 << 2
		keepCapsLocked = 0b10 << 4
		noAmbientRaise = 0b11 << 6
		bits           = noRoot | noSetuidFixup | keepCapsLocked | noAmbientRaise
	)
	return onAllThreads("set secure bits", unix.SYS_PRCTL, unix.PR_SET_SECUREBITS, bits, 0, 0, 0)
}

// DropCapabilities empties the ambient, effective, permitted and inheritable sets.
func DropCapabilities() error {
	if err := onAllThreads("clear ambient capabilities", unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return onAllThreads("drop capabilities", unix.SYS_CAPSET, uintptr(unsafe.Pointer(&hdr)), uintptr(unsafe.Pointer(&data)), 0, 0, 0)
}

// NoNewPrivs makes set-user-ID bits and file capabilities inert from here on.
func NoNewPrivs() error {
	return onAllThreads("no_new_privs", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}

func sockFprog(program []byte) (*unix.SockFprog, error) {
	const size = unix.SizeofSockFilter
	if len(program) == 0 || len(program)%size != 0 || len(program)/size > 4096 {
		return nil, fmt.Errorf("seccomp program of %d bytes is not valid", len(program))
	}
	return &unix.SockFprog{Len: uint16(len(program) / size), Filter: (*unix.SockFilter)(unsafe.Pointer(&program[0]))}, nil
}

// LoadFilter installs a seccomp program (struct sock_filter[]) on every thread.
func LoadFilter(program []byte) error {
	prog, err := sockFprog(program)
	if err != nil {
		return err
	}
	r, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(prog)))
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	if r != 0 {
		return fmt.Errorf("seccomp: thread %d could not take the filter", r)
	}
	return nil
}
