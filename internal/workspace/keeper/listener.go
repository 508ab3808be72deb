package keeper

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notice is a system call that waits for an answer. ID, PID and Arch are as the
// kernel gives them; PID is the thread's number in our own PID namespace.
type notice struct {
	ID    uint64
	PID   uint32
	Flags uint32
	Nr    int32
	Arch  uint32
	IP    uint64
	Args  [6]uint64
}

type reply struct {
	id    uint64
	val   int64
	err   int32
	flags uint32
}

type addFD struct {
	id       uint64
	flags    uint32
	src      uint32
	newFD    uint32
	newFlags uint32
}

// The requests of linux/seccomp.h.
const (
	ioRecv     = 0xc0502100
	ioSend     = 0xc0182101
	ioValid    = 0x40082102
	ioAddFD    = 0x40182103
	ioSetFlags = 0x40082104

	flagContinue = 1
	syncWakeUp   = 1
)

// listener is the listening end of a seccomp filter: it hears of a call before the
// kernel does it, may answer in the kernel's place, and may put a descriptor into the
// caller.
//
// Letting a call go on after looking at its arguments proves nothing about what it
// then does: another thread may have changed them meanwhile. Continue is for calls
// that some other wall bounds.
type listener struct {
	file   *os.File
	fd     int
	wake   int        // an event descriptor: it ends the waiting
	turn   sync.Mutex // one waits at a time: a second would block in the kernel for good
	closed atomic.Bool
}

// listen takes the descriptor over.
func listen(f *os.File) (*listener, error) {
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("listen for calls: %w", err)
	}
	l := &listener{file: f, fd: int(f.Fd()), wake: wake}
	// The caller sleeps while we work and the other way round: the same processor
	// serves both. A kernel before 6.6 does not know it, and works all the same.
	unix.Syscall(unix.SYS_IOCTL, uintptr(l.fd), ioSetFlags, syncWakeUp)
	return l, nil
}

// errEnded says that nobody is left who could call.
var errEnded = errors.New("nobody is left under the filter")

// Receive waits for a call. Several may wait.
func (l *listener) Receive(c *notice) error {
	l.turn.Lock()
	defer l.turn.Unlock()
	for {
		if l.closed.Load() {
			return errEnded
		}
		poll := [...]unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}, {Fd: int32(l.wake), Events: unix.POLLIN}}
		_, err := unix.Poll(poll[:], -1)
		switch {
		case err != nil && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("wait for a call: %w", err)
		case poll[0].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0:
			return errEnded
		case poll[0].Revents&unix.POLLIN == 0:
			continue
		}
		*c = notice{}
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(l.fd), ioRecv, uintptr(unsafe.Pointer(c)))
		switch errno {
		case 0:
			return nil
		case unix.EINTR, unix.ENOENT: // the caller was killed meanwhile
		default:
			return fmt.Errorf("receive a call: %w", errno)
		}
	}
}

// Valid says whether the caller still waits: if so, what was read of it before
// was its own and not of a later process with the same number.
func (l *listener) Valid(c *notice) bool {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(l.fd), ioValid, uintptr(unsafe.Pointer(&c.ID)))
	return errno == 0
}

// Continue lets the kernel do the call as it stands in the caller's memory by then.
func (l *listener) Continue(c *notice) { l.send(&reply{id: c.ID, flags: flagContinue}) }

// Return answers with a value.
func (l *listener) Return(c *notice, val int64) { l.send(&reply{id: c.ID, val: val}) }

// Fail answers with an error number.
func (l *listener) Fail(c *notice, errno syscall.Errno) {
	l.send(&reply{id: c.ID, err: -int32(errno)})
}

// send ignores a caller that is gone.
func (l *listener) send(a *reply) {
	unix.Syscall(unix.SYS_IOCTL, uintptr(l.fd), ioSend, uintptr(unsafe.Pointer(a)))
}

// Give puts fd into the caller, closes it here, and only then answers with its
// number there: a file that somebody still has open to write cannot be executed.
func (l *listener) Give(c *notice, fd int, cloexec bool) {
	a := addFD{id: c.ID, src: uint32(fd)}
	if cloexec {
		a.newFlags = unix.O_CLOEXEC
	}
	n, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(l.fd), ioAddFD, uintptr(unsafe.Pointer(&a)))
	for errno == unix.EINTR || errno == unix.EAGAIN {
		n, _, errno = unix.Syscall(unix.SYS_IOCTL, uintptr(l.fd), ioAddFD, uintptr(unsafe.Pointer(&a)))
	}
	unix.Close(fd)
	if errno != 0 { // EMFILE: the caller has no room; or it is gone
		l.Fail(c, errno)
		return
	}
	l.Return(c, int64(n))
}

// Close ends all waiting. The filter's calls fail with ENOSYS from then on.
func (l *listener) Close() error {
	if l.closed.Swap(true) {
		return os.ErrClosed
	}
	unix.Write(l.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // it stays awake for all who wait
	l.turn.Lock()
	defer l.turn.Unlock()
	unix.Close(l.wake)
	return l.file.Close()
}
