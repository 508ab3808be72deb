package sys

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// What follows is done to trees that somebody else may be writing: by descriptor, beneath
// a directory that is open, and over no link.

// OpenOn is OpenAt that does not cross a mount. A link at the end is not followed either.
func OpenOn(dir int, rel string, flags int) (int, error) {
	if rel == "" {
		rel = "."
	}
	return Open(dir, rel, flags|unix.O_NOFOLLOW, Beneath|unix.RESOLVE_NO_XDEV)
}

// maxStep is how much of a path is looked up at once. A path that is longer than one
// system call takes is walked.
const maxStep = 2000

// OpenLong is OpenAt for a path of any length. A link at the end is not followed either.
func OpenLong(dir int, rel string, flags int) (int, error) {
	for at := dir; ; {
		cut := -1
		if len(rel) > maxStep {
			cut = strings.LastIndexByte(rel[:maxStep], '/')
		}
		part, kind := rel, flags
		if cut > 0 {
			part, rel, kind = rel[:cut], rel[cut+1:], unix.O_PATH|unix.O_DIRECTORY
		}
		next, err := OpenAt(at, part, kind|unix.O_NOFOLLOW)
		if at != dir {
			unix.Close(at)
		}
		if err != nil || cut <= 0 {
			return next, err
		}
		at = next
	}
}

// ReadFile are the flags with which a file is opened to be read: a pipe that was put in
// its place holds nobody up.
const ReadFile = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY

// Regular closes what was opened and is not a regular file. It says how long the file is.
func Regular(fd int, err error) (int, int64, error) {
	if err != nil {
		return -1, 0, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = fmt.Errorf("not a regular file: %w", unix.EINVAL)
	}
	if err != nil {
		unix.Close(fd)
		return -1, 0, err
	}
	return fd, st.Size, nil
}

// Names lists a directory, sorted. It takes the descriptor over.
func Names(fd int) ([]string, error) {
	f := os.NewFile(uintptr(fd), "directory")
	defer f.Close()
	all, err := f.Readdirnames(-1)
	slices.Sort(all)
	return all, err
}

// ReadLink reads what a link says; an empty name means dir itself, opened as O_PATH.
func ReadLink(dir int, name string) (string, error) {
	var buf [unix.PathMax]byte
	n, err := unix.Readlinkat(dir, name, buf[:])
	if err == nil && (n == 0 || n == len(buf)) {
		err = unix.ENAMETOOLONG
	}
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// ByDescriptor is the one path to what a descriptor stands for: calls that take no
// O_PATH descriptor take this.
func ByDescriptor(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// Chmod works on a descriptor that may be O_PATH. A link has no mode to set.
func Chmod(fd int, mode uint32) error { return unix.Chmod(ByDescriptor(fd), mode) }

// CopyData makes the new file dst hold the first size bytes of src, and shares or leaves
// out what it can: the holes of a sparse file stay holes.
func CopyData(dst, src int, size int64) error {
	if size == 0 {
		return nil
	}
	if unix.IoctlFileClone(dst, src) == nil {
		return unix.Ftruncate(dst, size)
	}
	for off := int64(0); off < size; {
		data, err := unix.Seek(src, off, unix.SEEK_DATA)
		if err == unix.ENXIO {
			break
		}
		if err != nil {
			return copyRange(dst, src, off, size)
		}
		hole, err := unix.Seek(src, data, unix.SEEK_HOLE)
		if err != nil {
			return copyRange(dst, src, off, size)
		}
		if off = min(hole, size); data < off {
			if err := copyRange(dst, src, data, off); err != nil {
				return err
			}
		}
	}
	return unix.Ftruncate(dst, size)
}

// copyRange copies what is between two offsets. A file that ends before is no
// error: somebody cut it meanwhile, and the rest reads as zeros.
func copyRange(dst, src int, from, to int64) error {
	for from < to {
		in, out := from, from
		n, err := unix.CopyFileRange(src, &in, dst, &out, int(min(to-from, 1<<30)), 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return copyBytes(dst, src, from, to)
		}
		if n == 0 {
			return nil
		}
		from += int64(n)
	}
	return nil
}

func copyBytes(dst, src int, from, to int64) error {
	buf := make([]byte, min(to-from, 1<<17))
	for from < to {
		n, err := unix.Pread(src, buf[:min(to-from, int64(len(buf)))], from)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return err
		}
		for done := 0; done < n; {
			w, err := unix.Pwrite(dst, buf[done:n], from+int64(done))
			if err != nil && err != unix.EINTR {
				return err
			}
			if w == 0 && err == nil {
				return io.ErrShortWrite
			}
			done += max(w, 0)
		}
		from += int64(n)
	}
	return nil
}
