package keeper

import (
	"encoding/binary"
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/undo"
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
	if w.arg(3) != uint64(len(b)) || w.call.Read(w.arg(2), b[:]) != nil || !w.calls.Valid(&w.call) {
		w.calls.Continue(&w.call)
		return
	}
	how := unix.OpenHow{Flags: binary.NativeEndian.Uint64(b[:]), Mode: binary.NativeEndian.Uint64(b[8:]), Resolve: binary.NativeEndian.Uint64(b[16:])}
	switch {
	case how.Flags&(unix.O_ACCMODE|unix.O_CREAT|unix.O_TRUNC) == 0, how.Flags>>32 != 0, how.Mode > 0o7777, how.Flags&unix.O_TMPFILE == unix.O_TMPFILE && how.Resolve != 0:
		w.calls.Continue(&w.call)
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
func (w *worker) findRuled(resolve uint64) (target, error) {
	p, err := w.path(w.arg(1))
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
	at, err := w.start(w.fd(0), p)
	if err != nil {
		return target{}, err
	}
	fd, err := unix.Openat2(at, dir+".", &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: resolve | unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return target{}, errContinue
	}
	s := spot{parent: w.own(fd), name: name}
	if s.tree, s.dir, err = w.where(fd); err != nil {
		return target{}, err
	}
	return w.target(s)
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
		if w.young.ofHost(t) {
			return -1, unix.EBUSY
		}
		if err = w.conf.Store.Save(t.tree, t.rel, t.dir, t.name, undo.Write); err == nil {
			err = w.part(t)
		}
	} else {
		err = w.created(t, false)
		flags |= unix.O_EXCL
	}
	if err != nil {
		return -1, err
	}
	fd, err = unix.Openat(t.dir, t.name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, w.mode(mode))
	if errors.Is(err, unix.ELOOP) || !t.is && errors.Is(err, unix.EEXIST) {
		err = unix.EAGAIN // the host was quicker
	}
	if err == nil && !t.is {
		w.young.add(fd)
	}
	return fd, err
}

// openHeld opens in the layer. A held file that was deleted has a shell there.
func (w *worker) openHeld(t *target, flags int, mode uint32) (int, error) {
	again := t.held.gone(t.rel)
	if again {
		flags = flags&^unix.O_EXCL | unix.O_TRUNC
	}
	fd, err := unix.Openat(t.dir, t.name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, w.mode(mode))
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
		w.young.add(fd)
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
		if err := w.judge(&t, unix.S_IFREG); err != nil {
			return err
		}
		if t.held == nil {
			if err := w.conf.Store.Save(t.tree, t.rel, t.dir, t.name, undo.Write); err != nil {
				return err
			}
			if err := w.part(&t); err != nil {
				return err
			}
		}
		fd, err := unix.Openat(t.dir, t.name, unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		return unix.Ftruncate(w.own(fd), size)
	}))
}
