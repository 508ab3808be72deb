package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

// CloseWatches closes an inotify instance without waiting for it. Whoever closes one that has
// watches waits until the kernel has let go of them: 6 to 24 ms, for nothing that anybody needs.
func CloseWatches(inotify *os.File) {
	leave(inotify)
	inotify.Close()
}

// leave gives the kernel a descriptor of f to close when nobody here has one any more. It goes
// into the queue of a socket that holds itself in the same queue: no process can reach either,
// and the kernel's own worker clears them away. Kernels before 6.8 do so within the close of
// the socket. Where it fails, who closes f waits as ever.
func leave(f *os.File) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	_ = unix.Sendmsg(pair[0], []byte{0}, unix.UnixRights(int(f.Fd()), pair[1]), nil, 0)
	unix.Close(pair[1])
	unix.Close(pair[0]) // the last: it is this close that calls the worker
}
