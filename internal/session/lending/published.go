package lending

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// A port that a session publishes has a mark on the host: an abstract socket of its
// number, which is there as long as the session is, whosever it is, and leaves nothing
// behind. Nothing inside can name it. Who is about to send a credential to a port of
// loopback asks for the mark, for behind it is an agent.

func markOf(port uint16) *unix.SockaddrUnix {
	return &unix.SockaddrUnix{Name: fmt.Sprintf("@ringfence/published/%d", port)}
}

// MarkPort sets the mark; it must be there before anybody can connect.
func MarkPort(port uint16) (fd int, err error) {
	if fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return -1, err
	}
	if err := unix.Bind(fd, markOf(port)); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// isMarked holds for a port that some session publishes. What cannot be found out counts
// as published.
func isMarked(port uint16) bool {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return true
	}
	defer unix.Close(fd)
	return unix.Connect(fd, markOf(port)) != unix.ECONNREFUSED
}
