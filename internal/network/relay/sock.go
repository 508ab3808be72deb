package relay

import (
	"net/netip"
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

// accept does not ask for the address of the client.
func accept(fd int) (int, error) {
	n, _, e := unix.RawSyscall6(unix.SYS_ACCEPT4, uintptr(fd), 0, 0, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0, 0)
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

// connect starts to connect to an origin and does not wait.
func connect(to netip.AddrPort, eager bool) (int, error) {
	domain, sa := unix.AF_INET, unix.Sockaddr(nil)
	if a := to.Addr().Unmap(); a.Is4() {
		sa = &unix.SockaddrInet4{Port: int(to.Port()), Addr: a.As4()}
	} else {
		domain, sa = unix.AF_INET6, &unix.SockaddrInet6{Port: int(to.Port()), Addr: a.As16()}
	}
	fd, err := unix.Socket(domain, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.IPPROTO_TCP)
	if err != nil {
		return -1, err
	}
	tuneOrigin(fd, to.Addr(), eager)
	if err = unix.Connect(fd, sa); err != nil && err != unix.EINPROGRESS {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// tuneOrigin sets what is worth a call; the connection works without. With eager,
// bytes follow at once and take the last packet of the handshake along.
func tuneOrigin(fd int, to netip.Addr, eager bool) {
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	if eager {
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_QUICKACK, 0)
	}
	if to.IsLoopback() {
		tuneLocal(fd)
		return
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1)
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 30)
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 30)
}

// tuneLocal is for sockets whose peer is on this machine: there is no network whose
// load has to be felt for, and pacing, which some hosts have as default, halves the
// throughput.
func tuneLocal(fd int) {
	_ = unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, "reno")
}
