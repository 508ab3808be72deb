package relay

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// errAgain is EAGAIN, made an error once and not at each call.
var errAgain error = unix.EAGAIN

// recv and send are short and never block, so Go's scheduler is not told of them.

// recv returns 0 and no error at the end.
func recv(fd int, b []byte) (int, error) {
	n, _, e := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_DONTWAIT, 0, 0)
	return result(n, e)
}

func send(fd int, b []byte) (int, error) {
	n, _, e := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
	return result(n, e)
}

func result(n uintptr, e unix.Errno) (int, error) {
	switch e {
	case 0:
		return int(n), nil
	case unix.EAGAIN:
		return 0, errAgain
	}
	return 0, e
}

// splice moves bytes between a socket and a pipe without copying them.
func splice(from, to, size int) (int, error) {
	n, err := unix.Splice(from, nil, to, nil, size, unix.SPLICE_F_MOVE|unix.SPLICE_F_NONBLOCK)
	return int(max(n, 0)), err
}
