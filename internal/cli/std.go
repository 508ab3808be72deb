package cli

import "golang.org/x/sys/unix"

// openStandard puts the null device where a standard descriptor is closed. Else
// the next file that is opened gets its number, and what is meant for stderr is
// written there.
func openStandard() {
	for fd := range 3 {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == unix.EBADF {
			unix.Open("/dev/null", unix.O_RDWR, 0)
		}
	}
}
