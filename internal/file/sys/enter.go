package sys

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Namespaces are descriptors of a user namespace and of a mount namespace in it.
type Namespaces struct{ User, Mount int }

// AttachIn makes a copy of the mount at src, with those below it, and attaches it at
// dst, both of them O_PATH descriptors in the other mount namespace. A process with
// threads cannot enter a user namespace, so a child does it that has none.
func (n Namespaces) AttachIn(src, dst int, readOnly bool) error {
	s := &steps{src: uintptr(src), dst: uintptr(dst),
		attr: unix.MountAttr{Propagation: unix.MS_PRIVATE, Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}}
	if readOnly {
		s.attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	return n.do("attach", s)
}

// DetachIn takes the mount at a name in a directory of the other namespace away again.
func (n Namespaces) DetachIn(dir int, name string) error {
	p, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	return n.do("detach", &steps{dst: uintptr(dir), path: p})
}

// steps is what the child does; it is laid out before the fork because the child
// may not allocate.
type steps struct {
	user, mount uintptr
	src, dst    uintptr
	empty       [1]byte
	attr        unix.MountAttr
	path        *byte // detach this instead
}

func (n Namespaces) do(what string, s *steps) error {
	s.user, s.mount = uintptr(n.User), uintptr(n.Mount)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// A signal in the child would run the runtime's handler in a process that has
	// one thread of it.
	all, old := ^uint64(0), uint64(0)
	if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&all)), uintptr(unsafe.Pointer(&old)), 8, 0, 0); errno != 0 {
		return errno
	}
	pid, errno := forkSteps(s)
	unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&old)), 0, 8, 0, 0)
	if errno != 0 {
		return fmt.Errorf("%s: fork: %w", what, errno)
	}
	var ws syscall.WaitStatus
	for {
		_, err := syscall.Wait4(int(pid), &ws, unix.WALL, nil)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("%s: wait: %w", what, err)
		}
	}
	if ws.Signaled() {
		return fmt.Errorf("%s: ended by %s", what, ws.Signal())
	}
	if code := ws.ExitStatus(); code != 0 {
		return fmt.Errorf("%s in the sandbox: %w", what, syscall.Errno(code))
	}
	return nil
}

// forkSteps forks and runs the steps in the child, which ends with the error
// number of the step that failed.
//
//go:norace
//go:nosplit
//go:noinline
func forkSteps(s *steps) (pid uintptr, errno syscall.Errno) {
	pid, _, errno = syscall.RawSyscall6(unix.SYS_CLONE, 0, 0, 0, 0, 0, 0)
	if errno != 0 || pid != 0 {
		return pid, errno
	}
	var tree uintptr
	if _, _, errno = syscall.RawSyscall(unix.SYS_SETNS, s.user, unix.CLONE_NEWUSER, 0); errno != 0 {
		goto end
	}
	if _, _, errno = syscall.RawSyscall(unix.SYS_SETNS, s.mount, unix.CLONE_NEWNS, 0); errno != 0 {
		goto end
	}
	if s.path != nil {
		if _, _, errno = syscall.RawSyscall(unix.SYS_FCHDIR, s.dst, 0, 0); errno != 0 {
			goto end
		}
		_, _, errno = syscall.RawSyscall(unix.SYS_UMOUNT2, uintptr(unsafe.Pointer(s.path)), unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW, 0)
		goto end
	}
	tree, _, errno = syscall.RawSyscall(unix.SYS_OPEN_TREE, s.src, uintptr(unsafe.Pointer(&s.empty)), unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if errno != 0 {
		goto end
	}
	if _, _, errno = syscall.RawSyscall6(unix.SYS_MOUNT_SETATTR, tree, uintptr(unsafe.Pointer(&s.empty)), unix.AT_EMPTY_PATH, uintptr(unsafe.Pointer(&s.attr)), unsafe.Sizeof(s.attr), 0); errno != 0 {
		goto end
	}
	_, _, errno = syscall.RawSyscall6(unix.SYS_MOVE_MOUNT, tree, uintptr(unsafe.Pointer(&s.empty)), s.dst, uintptr(unsafe.Pointer(&s.empty)), unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH, 0)
end:
	for {
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, uintptr(errno), 0, 0)
	}
}
