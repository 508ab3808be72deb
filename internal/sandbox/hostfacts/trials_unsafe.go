package hostfacts

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tryLandlock forbids this thread to write any file, and tries one of its own.
func tryLandlock(string) error {
	const own = "/proc/self/comm"
	if err := openForWriting(own); err != nil {
		return step("write before the restriction", err)
	}
	// The first version of the struct, so that every ABI takes it.
	attr := struct{ fs uint64 }{unix.LANDLOCK_ACCESS_FS_WRITE_FILE}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return step("landlock_create_ruleset", errno)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return step("set no_new_privs", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return step("landlock_restrict_self", errno)
	}
	if err := openForWriting(own); !errors.Is(err, unix.EACCES) {
		return ineffective("Landlock")
	}
	return nil
}

func openForWriting(path string) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// trySeccomp has a filter answer one harmless call with an errno of its own.
func trySeccomp(string) error {
	const sign = unix.EOWNERDEAD
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_SCHED_YIELD, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(sign)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return step("set no_new_privs", err)
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return step("load the filter", errno)
	}
	if _, _, errno := unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0); errno != sign {
		return ineffective("the filter")
	}
	return nil
}
