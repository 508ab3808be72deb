package undo

import (
	"errors"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/workspace/change"
)

// maxStep is how much of a path is looked up at once. A path that is longer than one
// system call takes is walked.
const maxStep = 2000

// openAt opens rel below dir. It never follows a link and never leaves dir.
func openAt(dir int, rel string, flags int) (int, error) {
	for at := dir; ; {
		cut := -1
		if len(rel) > maxStep {
			cut = strings.LastIndexByte(rel[:maxStep], '/')
		}
		part, kind := rel, flags
		if cut > 0 {
			part, rel, kind = rel[:cut], rel[cut+1:], unix.O_PATH|unix.O_DIRECTORY
		}
		next, err := openStep(at, part, kind)
		if at != dir {
			unix.Close(at)
		}
		if err != nil || cut <= 0 {
			return next, err
		}
		at = next
	}
}

func openStep(dir int, rel string, flags int) (int, error) {
	if rel == "" {
		rel = "."
	}
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC | unix.O_NOFOLLOW),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	for {
		fd, err := unix.Openat2(dir, rel, &how)
		if err != unix.EINTR && err != unix.EAGAIN {
			return fd, err
		}
	}
}

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
	return chmod(fd, was.mode|add)
}

// chmod works on a descriptor that may be O_PATH. A link has no mode to set.
func chmod(fd int, mode uint32) error {
	return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), mode)
}

// openFileAt opens a file for reading and nothing but a file.
func openFileAt(dir int, name string) (int, error) {
	fd, _, err := openSized(dir, name)
	return fd, err
}

// openSized says also how long the file is.
func openSized(dir int, name string) (fd int, size int64, err error) {
	fd, err = openAt(dir, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return -1, 0, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = unix.EINVAL
	}
	if err != nil {
		unix.Close(fd)
		return -1, 0, err
	}
	return fd, st.Size, nil
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
	if err := chmod(path, was.mode|0o400); err != nil {
		return -1, err
	}
	fd, err = openFileAt(dir, name)
	if back := chmod(path, was.mode); back != nil && err == nil {
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

// readLink reads what a link says.
func readLink(dir int, name string) (string, error) {
	var buf [maxText]byte
	n, err := unix.Readlinkat(dir, name, buf[:])
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
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
