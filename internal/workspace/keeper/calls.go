package keeper

import (
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// handlers serve the watched calls that every architecture has; older ones, which
// only some have, are added beside.
var handlers = map[int32]func(*worker){
	unix.SYS_OPENAT:     func(w *worker) { w.open(w.fd(0), w.arg(1), w.flags(2), w.flags(3)) },
	unix.SYS_OPENAT2:    (*worker).openat2,
	unix.SYS_MKDIRAT:    func(w *worker) { w.mkdir(w.fd(0), w.arg(1), w.flags(2)) },
	unix.SYS_MKNODAT:    func(w *worker) { w.mknod(w.fd(0), w.arg(1), w.flags(2)) },
	unix.SYS_RENAMEAT:   func(w *worker) { w.rename(w.fd(0), w.arg(1), w.fd(2), w.arg(3), 0) },
	unix.SYS_RENAMEAT2:  func(w *worker) { w.rename(w.fd(0), w.arg(1), w.fd(2), w.arg(3), w.flags(4)) },
	unix.SYS_LINKAT:     func(w *worker) { w.link(w.fd(0), w.arg(1), w.fd(2), w.arg(3), w.flags(4)) },
	unix.SYS_SYMLINKAT:  func(w *worker) { w.symlink(w.arg(0), w.fd(1), w.arg(2)) },
	unix.SYS_UNLINKAT:   func(w *worker) { w.unlink(w.fd(0), w.arg(1), w.flags(2)) },
	unix.SYS_TRUNCATE:   func(w *worker) { w.truncate(w.arg(0), int64(w.arg(1))) },
	unix.SYS_FCHMOD:     func(w *worker) { w.chmodFD(w.fd(0), w.flags(1)) },
	unix.SYS_FCHMODAT:   func(w *worker) { w.chmod(w.fd(0), w.arg(1), w.flags(2), 0) },
	unix.SYS_FCHMODAT2:  func(w *worker) { w.chmod(w.fd(0), w.arg(1), w.flags(2), w.flags(3)) },
	unix.SYS_FCHOWN:     func(w *worker) { w.chownFD(w.fd(0), w.fd(1), w.fd(2)) },
	unix.SYS_FCHOWNAT:   func(w *worker) { w.chown(w.fd(0), w.arg(1), w.fd(2), w.fd(3), w.flags(4)) },
	unix.SYS_UTIMENSAT:  func(w *worker) { w.utimens(w.fd(0), w.arg(1), w.arg(2), w.flags(3)) },
	unix.SYS_FACCESSAT:  func(w *worker) { w.access(w.fd(0), w.arg(1), w.flags(2), 0) },
	unix.SYS_FACCESSAT2: func(w *worker) { w.access(w.fd(0), w.arg(1), w.flags(2), w.flags(3)) },
	unix.SYS_UMASK:      (*worker).umask,
	unix.SYS_BIND:       (*worker).bind,
}

func (r *request) arg(i int) uint64   { return r.call.Args[i] }
func (r *request) fd(i int) int       { return int(int32(r.call.Args[i])) }
func (r *request) flags(i int) uint32 { return uint32(r.call.Args[i]) }

// path copies a path of the caller.
func (r *request) path(at uint64) (string, error) {
	p, err := r.call.String(at, &r.buf)
	if err != nil || !r.valid() {
		return "", errContinue
	}
	return p, nil
}

// find resolves a path of the caller to what can be changed.
func (r *request) find(dirfd int, at uint64, follow bool) (target, error) {
	p, err := r.path(at)
	if err != nil {
		return target{}, err
	}
	s, err := r.resolve(dirfd, p, follow)
	if err != nil {
		r.missed(dirfd, p)
		return target{}, err
	}
	t, err := r.target(s)
	if errors.Is(err, errContinue) {
		r.left(s)
	}
	if err == nil && s.slash && t.is && !t.isDir() {
		err = unix.ENOTDIR
	}
	return t, err
}

// findFD is find for an open descriptor of the caller.
func (r *request) findFD(fd int) (target, error) {
	p, ok := r.descriptorLink("/proc/self/fd/" + itoa(fd))
	if !ok {
		return target{}, errContinue
	}
	s, err := r.resolve(unix.AT_FDCWD, p, false)
	if err != nil {
		return target{}, err
	}
	t, err := r.target(s)
	if err != nil {
		return t, err
	}
	// The name may have gone to another file since it was opened.
	var st unix.Stat_t
	own, err := unix.Openat(r.proc, itoa(int(r.call.PID))+"/fd/"+itoa(fd), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil || unix.Fstat(r.own(own), &st) != nil || !t.is || st.Dev != t.st.Dev || st.Ino != t.st.Ino {
		return t, errContinue
	}
	return t, nil
}

// change runs do with names shared, holds what it says must be held, and tries
// again: what was resolved before is resolved anew.
func (w *work) change(do func() error) error { return w.try(w.names.RLocker(), do) }

// alone is change for calls that move or remove directories.
func (w *work) alone(do func() error) error { return w.try(&w.names, do) }

func (w *work) try(names sync.Locker, do func() error) error {
	for range 16 {
		names.Lock()
		err := do()
		names.Unlock()
		if errors.Is(err, errRetry) {
			continue
		}
		if errors.Is(err, errRecent) {
			time.Sleep(recentFor / 8)
			continue
		}
		n, ok := err.(*needHold)
		if !ok {
			return err
		}
		if err := w.hold(n); err != nil || n.make != nil {
			return err
		}
	}
	return unix.EBUSY
}
