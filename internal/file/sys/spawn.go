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
	Files     [3]int // each above 2
	Control   int    // which of the three is to be its controlling terminal; -1 for none
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
	if err != nil {
		return 0, err
	}
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return 0, err
	}
	defer unix.Close(pipe[0])
	l.told = uintptr(pipe[1])
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// A signal in the child would run the runtime's handler in a process that has
	// one thread of it.
	all := ^uint64(0)
	if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&all)), uintptr(unsafe.Pointer(&l.mask)), 8, 0, 0); errno != 0 {
		unix.Close(pipe[1])
		return 0, errno
	}
	child, errno := forkSpawn(l)
	unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&l.mask)), 0, 8, 0, 0)
	unix.Close(pipe[1])
	runtime.KeepAlive(s)
	if errno != 0 {
		return 0, fmt.Errorf("fork: %w", errno)
	}
	if err := began(pipe[0], patience, func() bool { return stopped(int(child)) }); err != nil {
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
	files      [3]uintptr
	control    uintptr
	controlled bool
	told       uintptr
	mask       uint64
	action     [4]uint64 // the default
	errno      uint64
}

func (s *Spawn) lay() (*laid, error) {
	l := &laid{controlled: s.Control >= 0, control: uintptr(max(s.Control, 0))}
	for i, fd := range s.Files {
		if fd < 3 {
			return nil, fmt.Errorf("descriptor %d cannot be handed on", fd)
		}
		l.files[i] = uintptr(fd)
	}
	var err error
	if l.path, err = unix.BytePtrFromString(s.Path); err != nil {
		return nil, err
	}
	if l.dir, err = unix.BytePtrFromString(s.Dir); err != nil {
		return nil, err
	}
	if l.argv, err = syscall.SlicePtrFromStrings(s.Argv); err != nil {
		return nil, err
	}
	l.env, err = syscall.SlicePtrFromStrings(s.Env)
	return l, err
}

// forkSpawn forks, and becomes the program in the child.
//
//go:norace
//go:nosplit
//go:noinline
func forkSpawn(l *laid) (pid uintptr, errno syscall.Errno) {
	pid, _, errno = syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 || pid != 0 {
		return pid, errno
	}
	for sig := uintptr(1); sig <= 64; sig++ { // no handler of the runtime may run here
		syscall.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&l.action)), 0, 8, 0, 0)
	}
	if _, _, errno = syscall.RawSyscall(unix.SYS_SETSID, 0, 0, 0); errno != 0 {
		goto failed
	}
	for i := uintptr(0); i < 3; i++ {
		if _, _, errno = syscall.RawSyscall(unix.SYS_DUP3, l.files[i], i, 0); errno != 0 {
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
