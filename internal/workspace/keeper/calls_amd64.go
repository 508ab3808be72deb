package keeper

import "golang.org/x/sys/unix"

func init() {
	const cwd = unix.AT_FDCWD
	for nr, do := range map[int32]func(*worker){
		unix.SYS_OPEN:      func(w *worker) { w.open(cwd, w.arg(0), w.flags(1), w.flags(2)) },
		unix.SYS_CREAT:     func(w *worker) { w.open(cwd, w.arg(0), unix.O_CREAT|unix.O_WRONLY|unix.O_TRUNC, w.flags(1)) },
		unix.SYS_MKDIR:     func(w *worker) { w.mkdir(cwd, w.arg(0), w.flags(1)) },
		unix.SYS_MKNOD:     func(w *worker) { w.mknod(cwd, w.arg(0), w.flags(1)) },
		unix.SYS_RENAME:    func(w *worker) { w.rename(cwd, w.arg(0), cwd, w.arg(1), 0) },
		unix.SYS_LINK:      func(w *worker) { w.link(cwd, w.arg(0), cwd, w.arg(1), 0) },
		unix.SYS_SYMLINK:   func(w *worker) { w.symlink(w.arg(0), cwd, w.arg(1)) },
		unix.SYS_UNLINK:    func(w *worker) { w.unlink(cwd, w.arg(0), 0) },
		unix.SYS_RMDIR:     func(w *worker) { w.unlink(cwd, w.arg(0), unix.AT_REMOVEDIR) },
		unix.SYS_CHMOD:     func(w *worker) { w.chmod(cwd, w.arg(0), w.flags(1), 0) },
		unix.SYS_CHOWN:     func(w *worker) { w.chown(cwd, w.arg(0), w.fd(1), w.fd(2), 0) },
		unix.SYS_LCHOWN:    func(w *worker) { w.chown(cwd, w.arg(0), w.fd(1), w.fd(2), unix.AT_SYMLINK_NOFOLLOW) },
		unix.SYS_UTIME:     func(w *worker) { w.utimes(cwd, w.arg(0), w.arg(1), seconds) },
		unix.SYS_UTIMES:    func(w *worker) { w.utimes(cwd, w.arg(0), w.arg(1), microseconds) },
		unix.SYS_FUTIMESAT: func(w *worker) { w.utimes(w.fd(0), w.arg(1), w.arg(2), microseconds) },
		unix.SYS_ACCESS:    func(w *worker) { w.access(cwd, w.arg(0), w.flags(1), 0) },
	} {
		handlers[nr] = do
	}
}
