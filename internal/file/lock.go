package file

import (
	"os"

	"golang.org/x/sys/unix"
)

// Lock takes a lock of flock(2) and waits out interruptions. A lock belongs to what was
// opened: it ends with the last descriptor of it, also when its process is killed.
func Lock(fd, how int) error {
	for {
		if err := unix.Flock(fd, how); err != unix.EINTR {
			return err
		}
	}
}

// LockFile opens a file that is only there to be locked, makes it if it is missing, and
// takes the lock. Who has it closes the file to let go of it.
func LockFile(path string, how int) (*os.File, error) {
	return lockOpen(path, how, os.O_RDWR|os.O_CREATE)
}

// LockDir does the same with a directory, which must be there.
func LockDir(path string, how int) (*os.File, error) {
	return lockOpen(path, how, os.O_RDONLY|unix.O_DIRECTORY)
}

func lockOpen(path string, how, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := Lock(int(f.Fd()), how); err != nil {
		f.Close()
		return nil, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	return f, nil
}

// Named reports whether name in dir still is the file that fd has open. Who waited for
// the lock of a file that others remove has to ask.
func Named(dir int, name string, fd int) bool {
	var a, b unix.Stat_t
	return unix.Fstat(fd, &a) == nil && unix.Fstatat(dir, name, &b, unix.AT_SYMLINK_NOFOLLOW) == nil &&
		a.Dev == b.Dev && a.Ino == b.Ino
}
