package main

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tty tries the ioctls by which a process types into a terminal: TIOCSTI and
// TIOCLINUX as they are, and with a bit set above the 32 that the kernel looks at,
// which a filter that compares all 64 takes for something else.
func tty(args []string) int {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR, 0)
	if err != nil {
		return report([]attempt{{name: "/dev/tty", err: err}}, unix.ENXIO)
	}
	const high = 1 << 40
	c := byte('#')
	paste := byte(3) // TIOCL_PASTESEL
	var tried []attempt
	for _, what := range args {
		var errno syscall.Errno
		switch what {
		case "sti":
			errno = ioctl(fd, unix.TIOCSTI, &c)
		case "sti-high":
			errno = ioctl(fd, unix.TIOCSTI|high, &c)
		case "linux":
			errno = ioctl(fd, unix.TIOCLINUX, &paste)
		case "linux-high":
			errno = ioctl(fd, unix.TIOCLINUX|high, &paste)
		case "setd":
			discipline := byte(0) // the one it has already
			errno = ioctl(fd, unix.TIOCSETD, &discipline)
		default:
			usage("tty " + what)
		}
		a := attempt{name: what}
		if errno == unix.EPERM {
			a.err = errno // ENOTTY, as from a terminal that is no console, was reached
		}
		tried = append(tried, a)
	}
	return report(tried, unix.EPERM)
}

func ioctl(fd int, request uintptr, arg *byte) syscall.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(unsafe.Pointer(arg)))
	return errno
}
