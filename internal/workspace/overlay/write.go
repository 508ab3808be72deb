package overlay

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
)

// beforeWrite is called before every call that changes something. Tests die in it,
// and as a kill loses nothing that was written they need not wait for the disk.
var (
	beforeWrite = func() {}
	toDisk      = unix.Fsync
)

// tempPrefix begins the name of every temporary file.
const tempPrefix = ".ringfence-apply-"

func newTemp() string {
	b := make([]byte, 12)
	rand.Read(b)
	return tempPrefix + hex.EncodeToString(b)
}

// isTemp reports whether a name can be one that newTemp made.
func isTemp(name string) bool {
	digits, ok := strings.CutPrefix(name, tempPrefix)
	return ok && len(digits) == 24 && strings.Trim(digits, "0123456789abcdef") == ""
}

func create(dir int, name string) (*os.File, error) {
	beforeWrite()
	fd, err := unix.Openat(dir, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// chmod takes descriptors of all kinds.
func chmod(fd int, mode uint32) error {
	beforeWrite()
	return sys.Chmod(fd, mode)
}

func unlink(dir int, name string, flags int) error {
	beforeWrite()
	return unix.Unlinkat(dir, name, flags)
}

func rename(dir int, from, to string, flags uint) error {
	beforeWrite()
	return unix.Renameat2(dir, from, dir, to, flags)
}

func mkdir(dir int, name string) error {
	beforeWrite()
	return unix.Mkdirat(dir, name, 0o700)
}

func symlink(dir int, name, link string) error {
	beforeWrite()
	return unix.Symlinkat(link, dir, name)
}

// whiteout makes the mark of overlayfs for "gone". It needs no privilege.
func whiteout(dir int, name string) error {
	beforeWrite()
	return unix.Mknodat(dir, name, unix.S_IFCHR, 0)
}

func setxattr(fd int, name, value string) error {
	beforeWrite()
	return unix.Fsetxattr(fd, name, []byte(value), 0)
}

func removexattr(fd int, name string) error {
	beforeWrite()
	if err := unix.Fremovexattr(fd, name); err != unix.ENODATA {
		return err
	}
	return nil
}

func fsync(fd int) error {
	beforeWrite()
	return toDisk(fd)
}

// syncDir makes the names in the directory at path last.
func syncDir(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer d.Close()
	return fsync(int(d.Fd()))
}

// own gives a file to whom it belongs in the layer. Only root can give it to another
// user, and for anyone else it is the caller's anyway; a group that is one of the caller's
// it can have, and where that fails it keeps the one that the directory gave it.
func own(dir int, name string, st *unix.Stat_t, flags int) error {
	beforeWrite()
	if unix.Geteuid() != 0 {
		if int(st.Gid) != unix.Getegid() {
			unix.Fchownat(dir, name, -1, int(st.Gid), flags)
		}
		return nil
	}
	if err := unix.Fchownat(dir, name, int(st.Uid), int(st.Gid), flags); err != nil {
		return fmt.Errorf("chown: %w", err)
	}
	return nil
}

func setTime(dir int, name string, st *unix.Stat_t, flags int) error {
	beforeWrite()
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, st.Mtim}
	return unix.UtimesNanoAt(dir, name, times, flags)
}
