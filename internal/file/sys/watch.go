package sys

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// waitKillable keeps a call that was heard from being interrupted by anything but
// the caller's death: Go programs are sent signals all the time, and a rename that
// was done must not be reported as not done.
const waitKillable = 1 << 5 // SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV

// LoadWatch installs a program on every thread and returns the descriptor at which
// its calls are heard.
func LoadWatch(program []byte) (*os.File, error) {
	const size = unix.SizeofSockFilter
	if len(program) == 0 || len(program)%size != 0 || len(program)/size > 4096 {
		return nil, fmt.Errorf("seccomp program of %d bytes is not valid", len(program))
	}
	prog := unix.SockFprog{Len: uint16(len(program) / size), Filter: (*unix.SockFilter)(unsafe.Pointer(&program[0]))}
	fd, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_TSYNC|unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH|waitKillable,
		uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return nil, fmt.Errorf("seccomp listener: %w", errno)
	}
	return os.NewFile(fd, "watch"), nil
}
