package keeper

import (
	"encoding/binary"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/workspace/undo"
)

// attr changes what is not content. Held or not is not asked for where the file
// stays what it is; a mode makes a file executable, and is judged.
func (w *worker) attr(find func() (target, error), judged bool, do func(t *target) error) {
	w.answer(w.change(func() error {
		t, err := find()
		if err != nil {
			return err
		}
		if !t.is {
			return unix.ENOENT
		}
		if judged {
			if err := w.judge(&t, unix.S_IFREG); err != nil {
				return err
			}
			if t.held == nil && t.rel != "" {
				if err := w.conf.Store.Save(t.tree, t.rel, t.dir, t.name, undo.Mode); err != nil {
					return err
				}
				if err := w.part(&t); err != nil { // another name of it may be a hook
					return err
				}
			}
		}
		return do(&t)
	}))
}

func (w *worker) chmod(dirfd int, at uint64, mode, flags uint32) {
	if flags&^uint32(unix.AT_SYMLINK_NOFOLLOW) != 0 {
		w.pass()
		return
	}
	w.attr(func() (target, error) { return w.find(dirfd, at, flags == 0) }, true, func(t *target) error { return chmodTarget(t, mode) })
}

func (w *worker) chmodFD(fd int, mode uint32) {
	w.attr(func() (target, error) { return w.findFD(fd) }, true, func(t *target) error { return chmodTarget(t, mode) })
}

// chmodTarget changes the mode by a name that is no link: if the host made it one
// meanwhile, the kernel refuses.
func chmodTarget(t *target, mode uint32) error {
	if t.kind() == unix.S_IFLNK {
		return unix.EOPNOTSUPP
	}
	fd, err := unix.Openat(t.dir, t.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return unix.EOPNOTSUPP
	}
	if st.Dev != t.st.Dev || st.Ino != t.st.Ino {
		return errRetry
	}
	keep := uint32(0o1777)
	if t.isDir() {
		keep = 0o3777
	}
	return sys.Chmod(fd, mode&keep)
}

func (w *worker) chown(dirfd int, at uint64, uid, gid int, flags uint32) {
	if flags&^uint32(unix.AT_SYMLINK_NOFOLLOW) != 0 {
		w.pass()
		return
	}
	w.attr(func() (target, error) { return w.find(dirfd, at, flags == 0) }, false, func(t *target) error { return chownTarget(t, uid, gid) })
}

// chownTarget knows the one user and group that there are inside: the groups that the
// host's user has besides are not the agent's to give.
func chownTarget(t *target, uid, gid int) error {
	if uid != -1 && uid != os.Getuid() || gid != -1 && gid != os.Getgid() {
		return unix.EINVAL
	}
	return unix.Fchownat(t.dir, t.name, uid, gid, unix.AT_SYMLINK_NOFOLLOW)
}

func (w *worker) chownFD(fd, uid, gid int) {
	w.attr(func() (target, error) { return w.findFD(fd) }, false, func(t *target) error { return chownTarget(t, uid, gid) })
}

// utimens sets times by name, or by descriptor where there is no name.
func (w *worker) utimens(dirfd int, at, times uint64, flags uint32) {
	if flags&^uint32(unix.AT_SYMLINK_NOFOLLOW) != 0 {
		w.pass()
		return
	}
	ts, err := w.timespecs(times)
	if err != nil {
		w.pass()
		return
	}
	w.setTimes(dirfd, at, ts, flags)
}

func (w *worker) setTimes(dirfd int, at uint64, ts []unix.Timespec, flags uint32) {
	find := func() (target, error) { return w.find(dirfd, at, flags == 0) }
	if at == 0 {
		find = func() (target, error) { return w.findFD(dirfd) }
	}
	w.attr(find, false, func(t *target) error {
		return unix.UtimesNanoAt(t.dir, t.name, ts, unix.AT_SYMLINK_NOFOLLOW)
	})
}

func (r *request) timespecs(at uint64) ([]unix.Timespec, error) {
	if at == 0 {
		return []unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}, nil
	}
	var b [32]byte
	if err := r.call.Read(at, b[:]); err != nil {
		return nil, err
	}
	n := func(i int) int64 { return int64(binary.NativeEndian.Uint64(b[8*i:])) }
	return []unix.Timespec{{Sec: n(0), Nsec: n(1)}, {Sec: n(2), Nsec: n(3)}}, nil
}

// access answers whether a file may be written: the read-only mount would say no.
func (w *worker) access(dirfd int, at uint64, mode, flags uint32) {
	if flags&^uint32(unix.AT_EACCESS|unix.AT_SYMLINK_NOFOLLOW) != 0 {
		w.pass()
		return
	}
	w.answer(w.change(func() error {
		t, err := w.find(dirfd, at, flags&unix.AT_SYMLINK_NOFOLLOW == 0)
		if err != nil {
			return err
		}
		if !t.is {
			return unix.ENOENT
		}
		if t.kind() == unix.S_IFLNK {
			return nil // everybody may do everything with a link itself
		}
		// By descriptor: a name that is a link by now would be followed on the host.
		fd, err := unix.Openat(t.dir, t.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		w.own(fd)
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT == unix.S_IFLNK {
			return unix.EAGAIN
		}
		return unix.Faccessat(fd, "", mode, unix.AT_EMPTY_PATH)
	}))
}

// bind gives a socket a name in a tree.
func (w *worker) bind() {
	const family, room = 2, 108
	var b [family + room]byte
	n := int(w.arg(2))
	if n <= family || n > len(b) || w.call.Read(w.arg(1), b[:n]) != nil || !w.valid() ||
		binary.NativeEndian.Uint16(b[:]) != unix.AF_UNIX || b[family] == 0 {
		w.pass()
		return
	}
	name, _, _ := strings.Cut(string(b[family:n]), "\x00")
	w.answer(w.change(func() error {
		s, err := w.resolve(unix.AT_FDCWD, name, false)
		if err != nil {
			return err
		}
		t, err := w.target(s)
		if err != nil {
			return err
		}
		if t.is {
			return unix.EADDRINUSE
		}
		return w.special(&t, unix.S_IFSOCK, w.bindAt)
	}))
}

// bindAt binds the caller's own socket, by the directory's descriptor.
func (w *worker) bindAt(dir int, name string) error {
	leader, err := w.leader()
	if err != nil {
		return errContinue
	}
	p, err := unix.PidfdOpen(leader, 0)
	if err != nil {
		return errContinue
	}
	sock, err := unix.PidfdGetfd(w.own(p), w.fd(0), 0)
	if err != nil {
		return errContinue
	}
	// The umask is this thread's own. To set the mode by name would follow a link.
	unix.Umask(int(^w.mode(0o777) & 0o777))
	defer unix.Umask(0)
	at := sys.ByDescriptor(dir) + "/" + name
	return unix.Bind(w.own(sock), &unix.SockaddrUnix{Name: at})
}
