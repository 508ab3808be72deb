package hostfacts

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tryCalls makes each call with arguments that cannot succeed. The kernel looks
// at them before it does anything, so EINVAL and its like mean that the call is
// there; ENOSYS that it is not; EPERM, since no privilege was asked about yet,
// that a seccomp filter answered.
func tryCalls() (Calls, int) {
	const bad = 0x7fffffff // no call knows all these flags
	c := Calls{
		OpenAt2:      call(unix.SYS_OPENAT2, bad, 0, 0, 0),
		OpenTree:     call(unix.SYS_OPEN_TREE, bad, 0, bad),
		MountSetattr: call(unix.SYS_MOUNT_SETATTR, bad, 0, bad, 0, 0),
		CloseRange:   call(unix.SYS_CLOSE_RANGE, 2, 1, 0),
		PidfdOpen:    call(unix.SYS_PIDFD_OPEN, 0, bad),
		Keyctl:       call(unix.SYS_KEYCTL, bad),
		Seccomp:      seccompCall(),
	}
	// move_mount does ask about privilege first; open_tree came with it and is
	// filtered with it.
	c.MoveMount = call(unix.SYS_MOVE_MOUNT, bad, 0, bad, 0, bad)
	if c.MoveMount == Refused {
		c.MoveMount = c.OpenTree
	}
	var abi int
	c.Landlock, abi = landlockCall()
	return c, abi
}

func call(nr uintptr, args ...uintptr) Call {
	var a [6]uintptr
	copy(a[:], args)
	_, _, errno := unix.RawSyscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	return answer(errno)
}

func answer(errno syscall.Errno) Call {
	switch errno {
	case unix.ENOSYS:
		return Absent
	case unix.EPERM, unix.EACCES:
		return Refused
	}
	return Present
}

// seccompCall asks whether a filter may answer with an errno.
func seccompCall() Call {
	action := uint32(unix.SECCOMP_RET_ERRNO)
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	if errno == unix.EINVAL || errno == unix.EOPNOTSUPP {
		return Absent // no CONFIG_SECCOMP_FILTER, or a kernel before 4.14
	}
	return answer(errno)
}

// landlockCall asks for the ABI version.
func landlockCall() (Call, int) {
	abi, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case errno == unix.EOPNOTSUPP:
		return Disabled, 0
	case errno != 0:
		return answer(errno), 0
	}
	return Present, int(abi)
}

// LandlockABI is the version of Landlock that this kernel has; 0: none.
func LandlockABI() int {
	_, abi := landlockCall()
	return abi
}
