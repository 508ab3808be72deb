package undo

import (
	"errors"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/workspace/change"
)

func openAt(dir int, rel string, flags int) (int, error) { return sys.OpenLong(dir, rel, flags) }
func readLink(dir int, name string) (string, error)      { return sys.ReadLink(dir, name) }

// openDirAt opens a directory for reading, and lets us in where the session took
// that away.
func openDirAt(dir int, name string) (int, error) {
	fd, err := openAt(dir, name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != unix.EACCES {
		return fd, err
	}
	if err := unlock(dir, name, 0o700); err != nil {
		return -1, err
	}
	return openAt(dir, name, unix.O_RDONLY|unix.O_DIRECTORY)
}

// unlock adds permissions of the owner to a file or a directory.
func unlock(dir int, name string, add uint32) error {
	fd, err := openAt(dir, name, unix.O_PATH)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	was, err := look(fd, "")
	if err != nil || was.mode&add == add {
		return err
	}
	return sys.Chmod(fd, was.mode|add)
}

// openFileAt opens a file for reading and nothing but a file.
func openFileAt(dir int, name string) (int, error) {
	fd, _, err := openSized(dir, name)
	return fd, err
}

// openSized says also how long the file is.
func openSized(dir int, name string) (fd int, size int64, err error) {
	return sys.Regular(openAt(dir, name, sys.ReadFile))
}

// openLockedAt does it also where the owner may not read: the file is readable
// for the moment in which it is opened.
func openLockedAt(dir int, name string) (int, error) {
	fd, err := openFileAt(dir, name)
	if err != unix.EACCES {
		return fd, err
	}
	path, err := openAt(dir, name, unix.O_PATH)
	if err != nil {
		return -1, err
	}
	defer unix.Close(path)
	was, err := look(path, "")
	if err != nil {
		return -1, err
	}
	if was.kind != change.File || int(was.uid) != unix.Geteuid() || was.mode&0o400 != 0 {
		return -1, unix.EACCES
	}
	if err := sys.Chmod(path, was.mode|0o400); err != nil {
		return -1, err
	}
	fd, err = openFileAt(dir, name)
	if back := sys.Chmod(path, was.mode); back != nil && err == nil {
		unix.Close(fd)
		return -1, back
	}
	return fd, err
}

// entry is what stands on the disk under a name.
type entry struct {
	image
	dev   uint64
	links uint32
	ctime moment
}

const statxMask = unix.STATX_BASIC_STATS | unix.STATX_BTIME

// look says what name in dir is; an empty name means dir itself. Of a link it
// does not read what it says.
func look(dir int, name string) (entry, error) {
	var st unix.Statx_t
	if err := unix.Statx(dir, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH, statxMask, &st); err != nil {
		return entry{}, err
	}
	e := entry{ctime: moment{st.Ctime.Sec, st.Ctime.Nsec}, links: st.Nlink}
	e.dev, e.ino = unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino
	if st.Mask&unix.STATX_BTIME != 0 {
		e.born = uint64(st.Btime.Sec)*1e9 + uint64(st.Btime.Nsec)
	}
	e.mode, e.uid, e.gid = uint32(st.Mode)&0o7777, st.Uid, st.Gid
	e.mtime = moment{st.Mtime.Sec, st.Mtime.Nsec}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		e.kind, e.size, e.many = change.File, int64(st.Size), st.Nlink > 1
	case unix.S_IFDIR:
		e.kind = change.Directory
	case unix.S_IFLNK:
		e.kind = change.Symlink
	default:
		e.kind = change.Special
	}
	return e, nil
}

// missing reports whether an error says that there is no such entry: also when
// something else than a directory is on the way, or when the file system has no names
// that long: a path as a whole is never too long for one step.
func missing(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) ||
		errors.Is(err, unix.ENAMETOOLONG)
}

// errDeep is about what is deeper than anything is followed.
var errDeep = errors.New("what is in it is too deep")
