package repo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/file/sys"
)

// dir is a directory that was opened once; all that is read of it is read
// through its descriptor, so a swapped path cannot mix two directories.
type dir struct {
	fd       int
	path     string // canonical
	dev, ino uint64
	uid      uint32
}

// openDir opens path and asks the kernel for its canonical name.
func openDir(at int, path string, resolve uint64) (*dir, error) {
	fd, err := sys.Open(at, path, unix.O_PATH|unix.O_DIRECTORY, resolve)
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", path, err)
	}
	d := &dir{fd: fd}
	if err := d.identify(); err != nil {
		d.close()
		return nil, fmt.Errorf("open %q: %w", path, err)
	}
	return d, nil
}

func (d *dir) identify() error {
	var st, named unix.Stat_t
	if err := unix.Fstat(d.fd, &st); err != nil {
		return err
	}
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(d.fd))
	if err != nil {
		return err
	}
	// A deleted or unreachable directory has a name that leads elsewhere.
	if err := unix.Lstat(path, &named); err != nil || named.Dev != st.Dev || named.Ino != st.Ino {
		return errors.New("directory has no path of its own any more")
	}
	d.path, d.dev, d.ino, d.uid = path, st.Dev, st.Ino, st.Uid
	return nil
}

func (d *dir) close() { unix.Close(d.fd) }

func (d *dir) same(o *dir) bool { return d.dev == o.dev && d.ino == o.ino }

// resolve opens target as seen from d. The kernel decides, and git asks the same
// kernel; only a ".." next to a symlink is refused, because readers disagree on it.
func (d *dir) resolve(target string) (*dir, error) {
	how := uint64(unix.RESOLVE_NO_MAGICLINKS)
	if slices.Contains(strings.Split(target, "/"), "..") {
		how |= unix.RESOLVE_NO_SYMLINKS
	}
	there, err := openDir(d.fd, target, how)
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("open %q: %w", target, errSymlink)
	}
	return there, err
}

var errSymlink = errors.New("a symlink on the way is not followed")

func (d *dir) lstat(name string) (*unix.Stat_t, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, fmt.Errorf("stat %q: %w", filepath.Join(d.path, name), err)
	}
	return &st, nil
}

func (d *dir) has(name string) bool {
	_, err := d.lstat(name)
	return err == nil
}

func (d *dir) readlink(name string) (string, error) {
	b := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(d.fd, name, b)
	if err != nil {
		return "", fmt.Errorf("readlink %q: %w", filepath.Join(d.path, name), err)
	}
	return string(b[:n]), nil
}

// read returns the regular file name below d, refusing more than max bytes.
// No symlink is followed, and a FIFO cannot make it wait.
func (d *dir) read(name string, max int64) ([]byte, error) {
	path := filepath.Join(d.path, name)
	fd, err := sys.Open(d.fd, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY,
		unix.RESOLVE_BENEATH|unix.RESOLVE_NO_SYMLINKS)
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", path, err)
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	return file.ReadRegular(f, max)
}

// canonical returns the kernel's name for path, or path when it has none yet.
func canonical(path string) string {
	d, err := openDir(unix.AT_FDCWD, path, 0)
	if err != nil {
		return filepath.Clean(path)
	}
	defer d.close()
	return d.path
}

func quote(s string) string { return strconv.Quote(s) }
