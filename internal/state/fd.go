package state

import (
	"fmt"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

// beneath is how everything in a project is looked up: never out of it, never
// over a symlink, never into another filesystem.
const beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV

func openAt(dir int, name string, flags int, mode uint32) (int, error) {
	how := unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC | unix.O_NOFOLLOW), Mode: uint64(mode), Resolve: beneath}
	for {
		fd, err := unix.Openat2(dir, name, &how)
		if err != unix.EINTR && err != unix.EAGAIN {
			return fd, err
		}
	}
}

// openDirAt opens a directory for reading, and lets us in where an agent (or
// Go's module cache) took that away.
func openDirAt(dir int, name string) (int, error) {
	fd, err := openAt(dir, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != unix.EACCES {
		return fd, err
	}
	if err := unlock(dir, name); err != nil {
		return -1, err
	}
	return openAt(dir, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
}

// unlock gives a directory the mode with which its owner can work in it.
func unlock(dir int, name string) error {
	fd, err := openAt(dir, name, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unlockFD(fd)
}

// unlockFD does the same with a descriptor, which may be O_PATH.
func unlockFD(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&0o700 == 0o700 {
		return nil
	}
	return unix.Chmod(fdPath(fd), st.Mode&0o777|0o700)
}

func fdPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// readAll reads a small file in dir.
func readAll(dir int, name string, max int64) ([]byte, error) {
	fd, err := openAt(dir, name, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	return file.ReadAll(f, max)
}

// names returns some of the names in a directory, from its beginning; none
// means that it is empty.
func names(fd int, buf []byte) ([]string, error) {
	if _, err := unix.Seek(fd, 0, io.SeekStart); err != nil {
		return nil, err
	}
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err != nil || n <= 0 {
			return nil, err
		}
		if _, _, found := unix.ParseDirent(buf[:n], -1, nil); len(found) > 0 {
			return found, nil
		}
	}
}
