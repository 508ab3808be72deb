package keeper

import (
	"encoding/binary"
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/workspace/undo"
)

// open opens to write or to create. The caller gets the descriptor.
func (w *worker) open(dirfd int, at uint64, flags, mode uint32) {
	w.give(flags, func() (int, error) { return w.openOnce(dirfd, at, int(flags), mode) })
}

func (w *worker) give(flags uint32, open func() (int, error)) {
	fd := -1
	err := w.change(func() (err error) {
		fd, err = open()
		return err
	})
	if err != nil {
		w.answer(err)
		return
	}
	w.calls.Give(&w.call, fd, flags&unix.O_CLOEXEC != 0)
}

// openat2 has its flags in memory, and rules for the way that a path may take.
func (w *worker) openat2() {
	var b [24]byte
	if w.arg(3) != uint64(len(b)) || w.call.Read(w.arg(2), b[:]) != nil || !w.valid() {
		w.pass()
		return
	}
	how := unix.OpenHow{Flags: binary.NativeEndian.Uint64(b[:]), Mode: binary.NativeEndian.Uint64(b[8:]), Resolve: binary.NativeEndian.Uint64(b[16:])}
	switch {
	case how.Flags&(unix.O_ACCMODE|unix.O_CREAT|unix.O_TRUNC) == 0, how.Flags>>32 != 0, how.Mode > 0o7777, how.Flags&unix.O_TMPFILE == unix.O_TMPFILE && how.Resolve != 0:
		w.pass()
	case how.Resolve == 0:
		w.open(w.fd(0), w.arg(1), uint32(how.Flags), uint32(how.Mode))
	default:
		w.give(uint32(how.Flags), func() (int, error) {
			t, err := w.findRuled(how.Resolve)
			if err != nil {
				return -1, err
			}
			return w.openTarget(&t, int(how.Flags), uint32(how.Mode))
		})
	}
}

// findRuled lets the kernel go to the directory by the caller's own rules. A link
// in the last place, and whatever else is unusual, stays the kernel's.
func (r *request) findRuled(resolve uint64) (target, error) {
	p, err := r.path(r.arg(1))
	if err != nil {
		return target{}, err
	}
	dir, name := "", p
	if i := strings.LastIndexByte(p, '/'); i >= 0 {
		dir, name = p[:i+1], p[i+1:]
	}
	if name == "" || name == "." || name == ".." || strings.HasPrefix(p, "/") {
		return target{}, errContinue
	}
	at, err := r.start(r.fd(0), p)
	if err != nil {
		return target{}, err
	}
	fd, err := unix.Openat2(at, dir+".", &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: resolve | unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return target{}, errContinue
	}
	s := place{parent: r.own(fd), name: name}
	if s.tree, s.dir, err = r.where(fd); err != nil {
		return target{}, err
	}
	return r.target(s)
}

func (w *worker) openOnce(dirfd int, at uint64, flags int, mode uint32) (int, error) {
	if flags&unix.O_PATH != 0 {
		return -1, errContinue
	}
	if flags&unix.O_TMPFILE == unix.O_TMPFILE {
		return w.openUnnamed(dirfd, at, flags, mode)
	}
	follow := flags&unix.O_NOFOLLOW == 0 && flags&(unix.O_CREAT|unix.O_EXCL) != unix.O_CREAT|unix.O_EXCL
	t, err := w.find(dirfd, at, follow)
	if err != nil {
		return -1, err
	}
	if t.slash && !t.is {
		return -1, unix.EISDIR
	}
	return w.openTarget(&t, flags, mode)
}

func (w *worker) openTarget(t *target, flags int, mode uint32) (fd int, err error) {
	if !t.is && flags&unix.O_CREAT == 0 || t.is && t.kind() != unix.S_IFREG {
		return -1, errContinue // the error is the kernel's to say
	}
	if t.is && flags&(unix.O_CREAT|unix.O_EXCL) == unix.O_CREAT|unix.O_EXCL {
		return -1, unix.EEXIST
	}
	if err := w.judge(t, unix.S_IFREG); err != nil {
		return -1, err
	}
	if t.held != nil {
		return w.openHeld(t, flags, mode)
	}
	if t.is {
		return w.openExisting(t, flags)
	}
	if err := w.created(t, false); err != nil {
		return -1, err
	}
	fd, err = openFile(t.dir, t.name, flags|unix.O_EXCL, w.mode(mode))
	if errors.Is(err, unix.EEXIST) {
		err = errRetry // the host, or another thread, was quicker
	}
	if err == nil {
		w.recent.add(fd)
	}
	w.mine(t, err)
	w.locks(t, err)
	return fd, err
}

// openExisting opens a file of the host to write. What was judged by name and what
// was opened by name must be the same file: other threads change names meanwhile.
func (w *work) openExisting(t *target, flags int) (int, error) {
	if err := w.ofHost(t); err != nil {
		return -1, err
	}
	if w.irreplaceable(t) {
		return -1, unix.EBUSY
	}
	if err := w.conf.Store.Save(t.tree, t.rel, t.dir, t.name, undo.Write); err != nil {
		return -1, err
	}
	if err := w.part(t); err != nil {
		return -1, err
	}
	if err := w.writes(t); err != nil {
		return -1, err
	}
	fd, err := openFile(t.dir, t.name, flags&^(unix.O_TRUNC|unix.O_CREAT|unix.O_EXCL), 0)
	if err != nil {
		return -1, ignoreAs(err, unix.ELOOP, unix.EAGAIN)
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if err == nil && (st.Dev != t.st.Dev || st.Ino != t.st.Ino || st.Nlink != t.st.Nlink) {
		err = errRetry
	}
	if err == nil && flags&unix.O_TRUNC != 0 {
		err = w.empty(t, fd, flags)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// empty truncates the file that fd is, also where that was opened to read only.
func (w *work) empty(t *target, fd, flags int) error {
	if flags&unix.O_ACCMODE != unix.O_RDONLY {
		return unix.Ftruncate(fd, 0)
	}
	out, err := openFile(t.dir, t.name, unix.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if same, err := sameNode(fd, w.own(out)); err != nil || !same {
		return errRetry
	}
	return unix.Ftruncate(out, 0)
}

// openFile opens a regular file and nothing else: a pipe that came in its place would
// keep the worker waiting, and with it everybody.
func openFile(dir int, name string, flags int, mode uint32) (int, error) {
	fd, err := unix.Openat(dir, name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, mode)
	if err != nil {
		return -1, ignoreAs(err, unix.ENXIO, unix.EAGAIN)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		unix.Close(fd)
		return -1, unix.EAGAIN
	}
	if flags&unix.O_NONBLOCK == 0 {
		have, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err == nil {
			_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, have&^unix.O_NONBLOCK)
		}
		if err != nil {
			unix.Close(fd)
			return -1, err
		}
	}
	return fd, nil
}

// openHeld opens in the layer. A held file that was deleted has a shell there.
func (w *worker) openHeld(t *target, flags int, mode uint32) (int, error) {
	again := t.held.gone(t.rel)
	if again {
		flags = flags&^unix.O_EXCL | unix.O_TRUNC
	}
	fd, err := openFile(t.dir, t.name, flags, w.mode(mode))
	if err == nil && again {
		unix.Fchmod(fd, w.mode(mode))
		t.held.shell.Store(false)
	}
	return fd, err
}

// openUnnamed makes a file without a name in a directory; it gets one by link, or
// never.
func (w *worker) openUnnamed(dirfd int, at uint64, flags int, mode uint32) (int, error) {
	p, err := w.path(at)
	if err != nil {
		return -1, err
	}
	s, err := w.resolve(dirfd, p+"/.", true)
	if err != nil {
		return -1, err
	}
	t, err := w.target(s)
	if err != nil {
		return -1, err
	}
	fd, err := unix.Openat(t.dir, t.name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, w.mode(mode))
	if err == nil {
		w.recent.add(fd)
	}
	return fd, err
}

// truncate changes the size by name.
func (w *worker) truncate(at uint64, size int64) {
	w.answer(w.change(func() error {
		t, err := w.find(unix.AT_FDCWD, at, true)
		if err != nil {
			return err
		}
		if !t.is || t.kind() != unix.S_IFREG {
			return errContinue
		}
		fd, err := w.openTarget(&t, unix.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return unix.Ftruncate(w.own(fd), size)
	}))
}
