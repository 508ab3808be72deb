package sys

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Spawn is a program to be run by Start.
type Spawn struct {
	Path      string
	Argv, Env []string
	Dir       string
	Files     []int // its descriptors from 0 on
	Control   int   // which of them is to be its controlling terminal; -1 for none

	// Namespaces are the clone flags of namespaces that it is born in. Born, if set, is
	// called before anything else happens in it, and writes the maps of its user namespace.
	Namespaces uintptr
	Born       func(pid int) error
	// Before is done in the child, in this order, while it still has the rights that a new
	// user namespace gives, and before its program begins.
	Before []Call
}

// Call is one system call of a child before its program begins.
type Call struct {
	Number uintptr
	Args   [5]uintptr
	Keep   any // what Args point into
}

// looks is how often a child is looked at that has not begun: whoever is stopped then is
// given up, and whoever is only slow has the whole time.
const looks = 100

// ErrStuck means that the child did not come as far as its program in time.
var ErrStuck = errors.New("it was stopped before it began")

// Start runs a program as the leader of a new session, on the calling thread, and waits
// no longer than patience until it has begun. The standard library's fork would wait
// for as long as others who may signal the child please: who stops it between fork and
// exec stops the parent too.
func (s *Spawn) Start(patience time.Duration) (pid int, err error) {
	l, err := s.lay()
	defer l.close()
	if err != nil {
		return 0, err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// A signal in the child would run the runtime's handler in a process that has
	// one thread of it.
	all := ^uint64(0)
	if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&all)), uintptr(unsafe.Pointer(&l.mask)), 8, 0, 0); errno != 0 {
		return 0, errno
	}
	dumpable := uintptr(1)
	if s.Born != nil {
		// Who is not dumpable belongs to root in proc, and nobody could write the child's
		// maps. The child inherits it; its program begins with a memory of its own.
		dumpable, _, _ = unix.RawSyscall(unix.SYS_PRCTL, unix.PR_GET_DUMPABLE, 0, 0)
		unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 1, 0)
	}
	child, errno := forkSpawn(l)
	if dumpable != 1 {
		unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, dumpable, 0)
	}
	unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&l.mask)), 0, 8, 0, 0)
	unix.Close(int(l.told))
	l.own = l.own[1:]
	runtime.KeepAlive(s)
	if errno != 0 {
		return 0, fmt.Errorf("fork: %w", errno)
	}
	if s.Born != nil {
		if err = s.Born(int(child)); err == nil {
			_, err = unix.Write(l.wake, []byte{1})
		}
	}
	if err == nil {
		err = began(l.hears, patience, func() bool { return stopped(int(child)) })
	}
	if err != nil {
		unix.Kill(int(child), unix.SIGKILL)
		for {
			if _, werr := unix.Wait4(int(child), nil, 0, nil); werr != unix.EINTR {
				return 0, err
			}
		}
	}
	return int(child), nil
}

// stopped tells of a child of ours whether it is, and takes nothing from who waits for it.
func stopped(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo != 0
}

// began waits for the end of the pipe, which exec closes, or for the error that came
// through it.
func began(fd int, patience time.Duration, stopped func() bool) error {
	for end := time.Now().Add(patience); ; {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int((patience/looks).Milliseconds())+1)
		if err == nil && n == 0 && (stopped() || time.Now().After(end)) {
			return ErrStuck
		}
		if err == unix.EINTR || err == nil && n == 0 {
			continue
		}
		if err != nil {
			return err
		}
		var b [8]byte
		switch n, err := unix.Read(fd, b[:]); {
		case err == unix.EINTR:
		case err != nil:
			return err
		case n == 0:
			return nil
		case n == len(b):
			return syscall.Errno(binary.NativeEndian.Uint64(b[:]))
		default:
			return errors.New("half an error came")
		}
	}
}

// laid is what the child works with; it may not allocate.
type laid struct {
	path, dir  *byte
	argv, env  []*byte
	files      []uintptr
	control    uintptr
	controlled bool
	told       uintptr // where it says what failed
	waits      bool
	born       uintptr // where it hears that it may go on
	flags      uintptr
	calls      []Call
	mask       uint64
	action     [4]uint64 // the default
	errno      uint64
	byte       [1]byte

	hears, wake int // the parent's ends
	own         []int
}

// aside is above every number that a child is given a descriptor at.
const aside = 16

func (s *Spawn) lay() (*laid, error) {
	l := &laid{controlled: s.Control >= 0, control: uintptr(max(s.Control, 0)), waits: s.Born != nil, flags: uintptr(unix.SIGCHLD) | s.Namespaces, calls: s.Before}
	if len(s.Files) < 3 || len(s.Files) > aside {
		return l, fmt.Errorf("%d descriptors cannot be handed on", len(s.Files))
	}
	ends, err := l.pipes()
	if err != nil {
		return l, err
	}
	l.told, l.hears, l.born, l.wake = uintptr(ends[0]), ends[1], uintptr(ends[2]), ends[3]
	for _, fd := range s.Files {
		n, err := l.dup(fd)
		if err != nil {
			return l, fmt.Errorf("descriptor %d cannot be handed on: %w", fd, err)
		}
		l.files = append(l.files, uintptr(n))
	}
	if l.path, err = unix.BytePtrFromString(s.Path); err != nil {
		return l, err
	}
	if l.dir, err = unix.BytePtrFromString(s.Dir); err != nil {
		return l, err
	}
	if l.argv, err = syscall.SlicePtrFromStrings(s.Argv); err != nil {
		return l, err
	}
	l.env, err = syscall.SlicePtrFromStrings(s.Env)
	return l, err
}

// pipes makes the two pipes, out of the way of what the child is given: first the end
// that only the child may hold.
func (l *laid) pipes() (ends [4]int, err error) {
	for i := 0; i < len(ends); i += 2 {
		var p [2]int
		if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
			return ends, err
		}
		if i == 0 {
			p[0], p[1] = p[1], p[0]
		}
		for j, fd := range p {
			n, err2 := l.dup(fd)
			unix.Close(fd)
			if ends[i+j] = n; err2 != nil {
				err = err2
			}
		}
		if err != nil {
			return ends, err
		}
	}
	return ends, nil
}

func (l *laid) dup(fd int) (int, error) {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, aside)
	if err == nil {
		l.own = append(l.own, n)
	}
	return n, err
}

func (l *laid) close() {
	for _, fd := range l.own {
		unix.Close(fd)
	}
}

// forkSpawn forks, and becomes the program in the child.
//
//go:norace
//go:nosplit
//go:noinline
func forkSpawn(l *laid) (pid uintptr, errno syscall.Errno) {
	var n uintptr
	pid, _, errno = syscall.RawSyscall6(unix.SYS_CLONE, l.flags, 0, 0, 0, 0, 0)
	if errno != 0 || pid != 0 {
		return pid, errno
	}
	for sig := uintptr(1); sig <= 64; sig++ { // no handler of the runtime may run here
		syscall.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&l.action)), 0, 8, 0, 0)
	}
	if l.waits {
		syscall.RawSyscall(unix.SYS_CLOSE, uintptr(l.wake), 0, 0)
		if n, _, errno = syscall.RawSyscall(unix.SYS_READ, l.born, uintptr(unsafe.Pointer(&l.byte)), 1); errno != 0 || n != 1 {
			goto failed
		}
	}
	for i := range l.calls {
		c := &l.calls[i]
		if _, _, errno = syscall.RawSyscall6(c.Number, c.Args[0], c.Args[1], c.Args[2], c.Args[3], c.Args[4], 0); errno != 0 {
			goto failed
		}
	}
	if _, _, errno = syscall.RawSyscall(unix.SYS_SETSID, 0, 0, 0); errno != 0 {
		goto failed
	}
	for i := range l.files {
		if _, _, errno = syscall.RawSyscall(unix.SYS_DUP3, l.files[i], uintptr(i), 0); errno != 0 {
			goto failed
		}
	}
	if l.controlled {
		if _, _, errno = syscall.RawSyscall(unix.SYS_IOCTL, l.control, unix.TIOCSCTTY, 0); errno != 0 {
			goto failed
		}
	}
	if _, _, errno = syscall.RawSyscall(unix.SYS_CHDIR, uintptr(unsafe.Pointer(l.dir)), 0, 0); errno != 0 {
		goto failed
	}
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&l.mask)), 0, 8, 0, 0)
	_, _, errno = syscall.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(l.path)), uintptr(unsafe.Pointer(&l.argv[0])), uintptr(unsafe.Pointer(&l.env[0])))
failed:
	l.errno = uint64(errno)
	syscall.RawSyscall(unix.SYS_WRITE, l.told, uintptr(unsafe.Pointer(&l.errno)), 8)
	for {
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, 127, 0, 0)
	}
}
